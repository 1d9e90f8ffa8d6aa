import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { interruptible, listenForInterrupt } from "./interrupt.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("the first Ctrl-C asks for a clean end, its echo from npm is ignored, a second one ends at once", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const asked = vi.fn();
  const interrupt = listenForInterrupt(asked, { env: { npm_lifecycle_event: "start" } });
  process.emit("SIGINT", "SIGINT");
  process.emit("SIGINT", "SIGINT");
  expect(interrupt.signal.aborted).toBe(true);
  expect(asked).toHaveBeenCalledOnce();
  expect(kill).not.toHaveBeenCalled();

  vi.advanceTimersByTime(600);
  process.emit("SIGINT", "SIGINT");
  expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
  expect(process.listenerCount("SIGINT")).toBe(0); // so that the signal ends the process
  vi.advanceTimersByTime(600);
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
  await new Promise((resolve) => setImmediate(resolve));
  expect(process.listenerCount("SIGINT")).toBe(0);
  interrupt.release();
});

test("two Ctrl-C under npm that came during one native computation are not taken for one with its echo", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const interrupt = listenForInterrupt(() => {}, { env: { npm_command: "exec" } });
  for (let i = 0; i < 3; i++) process.emit("SIGINT", "SIGINT");
  expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
  vi.advanceTimersByTime(600);
  interrupt.release();
});

test("a clean end has a second and a half, and as long as work is saved; then the process is ended", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const emit = process.emit.bind(process) as (name: string, value: unknown) => boolean;
  const exits: unknown[] = [];
  vi.spyOn(process, "emit").mockImplementation(((name: string, value: unknown) =>
    name === "exit" ? exits.push(value) > 0 : emit(name, value)) as never);
  let saving = true;
  const onLeave = vi.fn();
  const interrupt = listenForInterrupt(() => {}, { env: {}, isSaving: () => saving, onLeave });
  process.emit("SIGTERM", "SIGTERM");
  vi.advanceTimersByTime(1500);
  saving = false;
  vi.advanceTimersByTime(99);
  expect([onLeave.mock.calls.length, exits]).toEqual([0, []]);
  vi.advanceTimersByTime(1);
  expect([onLeave.mock.calls.length, exits]).toEqual([1, [130]]);
  expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
  expect(exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(500);
  expect(exit).toHaveBeenCalledWith(130);
  interrupt.release();
});

test("what has ended cleanly is not ended once more", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  const interrupt = listenForInterrupt(() => {}, { env: {} });
  process.emit("SIGHUP", "SIGHUP");
  interrupt.release();
  vi.advanceTimersByTime(10_000);
  expect(kill).not.toHaveBeenCalled();
});

test("a second SIGTERM that is no echo ends at once, the echo of one does not", () => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => true);
  vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const twice = (milliseconds: number) => {
    const interrupt = listenForInterrupt(() => {}, { env: {} });
    process.emit("SIGTERM", "SIGTERM");
    vi.advanceTimersByTime(milliseconds);
    process.emit("SIGTERM", "SIGTERM");
    interrupt.release();
    const { length } = kill.mock.calls;
    kill.mockClear();
    return length;
  };
  expect([twice(0), twice(500), twice(501)]).toEqual([0, 0, 1]);
});

test("work that ends with its signal has no result where it was interrupted; other errors and results pass", async () => {
  const listening = process.listenerCount("SIGTERM");
  const say = vi.fn();
  expect(await interruptible(say, async (signal) => signal.aborted)).toBe(false);
  await expect(interruptible(say, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(say).not.toHaveBeenCalled();
  const interrupted = interruptible(
    say,
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  process.emit("SIGTERM", "SIGTERM");
  expect(await interrupted).toBeUndefined();
  expect(say).toHaveBeenCalledOnce();
  expect(process.listenerCount("SIGTERM")).toBe(listening);
});
