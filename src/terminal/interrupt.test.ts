import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type InterruptOptions, interruptible, listenForInterrupt } from "./interrupt.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Listens while `use` runs: nothing of it ends this process, or is heard after it. */
async function listening(
  options: InterruptOptions,
  use: (given: {
    readonly kill: ReturnType<typeof vi.fn>;
    readonly exit: ReturnType<typeof vi.fn>;
    readonly asked: ReturnType<typeof vi.fn>;
    readonly signal: AbortSignal;
    readonly release: () => void;
  }) => void | Promise<void>,
): Promise<void> {
  const [kill, exit, asked] = [vi.fn(() => true), vi.fn(), vi.fn()];
  const spies = [
    vi.spyOn(process, "kill").mockImplementation(kill as never),
    vi.spyOn(process, "exit").mockImplementation(exit as never),
  ];
  const { signal, release } = listenForInterrupt(asked, options);
  try {
    await use({ kill, exit, asked, signal, release });
  } finally {
    release();
    for (const spy of spies) spy.mockRestore();
  }
}

test("the first Ctrl-C asks for a clean end, its echo from npm is ignored, a second one ends at once", async () => {
  await listening({ env: { npm_lifecycle_event: "start" } }, ({ kill, exit, asked, signal }) => {
    process.emit("SIGINT", "SIGINT");
    process.emit("SIGINT", "SIGINT");
    expect(signal.aborted).toBe(true);
    expect(asked).toHaveBeenCalledOnce();
    expect(kill).not.toHaveBeenCalled();

    vi.advanceTimersByTime(600);
    process.emit("SIGINT", "SIGINT");
    expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
    expect(process.listenerCount("SIGINT")).toBe(0); // so that the signal ends the process
    vi.advanceTimersByTime(600);
    expect(exit).toHaveBeenCalledWith(130); // where it did not
  });
});

test.each(["SIGTERM", "SIGHUP"] as const)("%s asks for a clean end too", async (name) => {
  await listening({}, ({ signal, release }) => {
    process.emit(name, name);
    expect(signal.aborted).toBe(true);
    release();
    expect(process.listenerCount(name)).toBe(0);
  });
});

test("without npm there is no echo: after the first Ctrl-C the next one is the system's", async () => {
  await listening({ env: {} }, async ({ kill }) => {
    process.emit("SIGINT", "SIGINT");
    expect(kill).not.toHaveBeenCalled();
    await new Promise((resolve) => setImmediate(resolve));
    expect(process.listenerCount("SIGINT")).toBe(0);
  });
});

test("two Ctrl-C under npm that came during one native computation are not taken for one with its echo", async () => {
  await listening({ env: { npm_command: "exec" } }, ({ kill }) => {
    for (let i = 0; i < 3; i++) process.emit("SIGINT", "SIGINT");
    expect(kill).toHaveBeenCalledWith(process.pid, "SIGINT");
    vi.advanceTimersByTime(600);
  });
});

test("a clean end has a second and a half, and as long as work is saved; then the process is ended", async () => {
  const emit = process.emit.bind(process) as (name: string, value: unknown) => boolean;
  const exits: unknown[] = [];
  const spy = vi
    .spyOn(process, "emit")
    .mockImplementation(((name: string, value: unknown) =>
      name === "exit" ? exits.push(value) > 0 : emit(name, value)) as never);
  let saving = true;
  const onLeave = vi.fn();
  await listening({ env: {}, isSaving: () => saving, onLeave }, ({ kill, exit }) => {
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
  }).finally(() => spy.mockRestore());
});

test("what has ended cleanly is not ended once more", async () => {
  await listening({ env: {} }, ({ kill, release }) => {
    process.emit("SIGHUP", "SIGHUP");
    release();
    vi.advanceTimersByTime(10_000);
    expect(kill).not.toHaveBeenCalled();
  });
});

test.each([
  [0, 0],
  [500, 0],
  [501, 1],
])("a second SIGTERM %i ms after the first is its echo up to half a second: %i ends", async (milliseconds, ends) => {
  await listening({ env: {} }, ({ kill }) => {
    process.emit("SIGTERM", "SIGTERM");
    vi.advanceTimersByTime(milliseconds);
    process.emit("SIGTERM", "SIGTERM");
    expect(kill).toHaveBeenCalledTimes(ends);
  });
});

test("work that ends with its signal has no result where it was interrupted; other errors and results pass", async () => {
  await listening({ env: {} }, async () => {
    const before = process.listenerCount("SIGTERM");
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
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });
});
