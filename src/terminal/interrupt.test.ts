import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { listenForInterrupt } from "./interrupt.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("the first Ctrl-C asks for a clean end, its echo from npm is ignored, a second one ends at once", async () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const asked = vi.fn();
  const interrupt = listenForInterrupt(asked, { env: { npm_lifecycle_event: "start" } });
  process.emit("SIGINT", "SIGINT");
  process.emit("SIGINT", "SIGINT");
  expect(interrupt.signal.aborted).toBe(true);
  expect(asked).toHaveBeenCalledOnce();
  expect(kill).not.toHaveBeenCalled();

  await sleep(600);
  process.emit("SIGINT", "SIGINT");
  expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
  expect(process.listenerCount("SIGINT")).toBe(0); // so that the signal ends the process
  await sleep(600);
  expect(exit).toHaveBeenCalledWith(130); // where it did not
  interrupt.release();
});

test.each(["SIGTERM", "SIGHUP"] as const)("%s asks for a clean end too", (signal) => {
  const interrupt = listenForInterrupt(() => {});
  process.emit(signal, signal);
  expect(interrupt.signal.aborted).toBe(true);
  interrupt.release();
  expect(process.listenerCount(signal)).toBe(0);
});

test("without npm there is no echo: after the first Ctrl-C the next one is the system's", async () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  const interrupt = listenForInterrupt(() => {}, { env: {} });
  process.emit("SIGINT", "SIGINT");
  expect(kill).not.toHaveBeenCalled();
  await sleep(10);
  expect(process.listenerCount("SIGINT")).toBe(0);
  interrupt.release();
});

test("two Ctrl-C under npm that came during one native computation are not taken for one with its echo", async () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const interrupt = listenForInterrupt(() => {}, { env: { npm_command: "exec" } });
  for (let i = 0; i < 3; i++) process.emit("SIGINT", "SIGINT");
  expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
  await sleep(600);
  interrupt.release();
});
