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
  const interrupt = listenForInterrupt(asked);
  process.emit("SIGINT");
  process.emit("SIGINT");
  expect(interrupt.signal.aborted).toBe(true);
  expect(asked).toHaveBeenCalledOnce();
  expect(kill).not.toHaveBeenCalled();

  await sleep(600);
  process.emit("SIGINT");
  expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
  expect(process.listenerCount("SIGINT")).toBe(0); // so that the signal ends the process
  await sleep(600);
  expect(exit).toHaveBeenCalledWith(130); // where it did not
  interrupt.release();
});

test.each(["SIGTERM", "SIGHUP"] as const)("%s asks for a clean end too", (signal) => {
  const interrupt = listenForInterrupt(() => {});
  process.emit(signal);
  expect(interrupt.signal.aborted).toBe(true);
  interrupt.release();
  expect(process.listenerCount(signal)).toBe(0);
});
