import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { DeadlineError, idleLimit, isPromiseLike, pause, signalWithin, withinTime } from "./deadline.ts";

const never = () => new Promise<never>(() => {});

test("an answer in time is given, at once where it is no promise", async () => {
  expect(await withinTime(() => 1, 0)).toBe(1);
  expect(await withinTime(async () => 2, 1000)).toBe(2);
  await expect(withinTime(() => Promise.reject(new Error("its own")), 1000)).rejects.toThrow("its own");
});

test("work without an end is asked to stop, and the deadline is what the caller sees, whatever the work throws then", async () => {
  let heard: unknown;
  const stubborn = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => {
        heard = signal.reason;
        reject(new Error("stopped by the signal"));
      });
    });
  await expect(withinTime(stubborn, 5)).rejects.toThrow(new DeadlineError(5));
  expect(heard).toBeInstanceOf(DeadlineError);
});

test("a caller's signal ends the wait with its reason, before the work begins too", async () => {
  const controller = new AbortController();
  const waiting = withinTime(never, 60_000, controller.signal);
  const pausing = pause(60_000, controller.signal);
  const reason = new Error("not wanted");
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(pausing).rejects.toBe(reason);
  let begun = false;
  await expect(withinTime(() => (begun = true), 1000, controller.signal)).rejects.toBe(reason);
  expect(begun).toBe(false);
  await expect(pause(60_000, controller.signal)).rejects.toBe(reason);
});

test("a signal says whether it was the time that ended it", async () => {
  const late = signalWithin(5);
  await pause(50);
  expect([late.signal.aborted, late.isLate()]).toEqual([true, true]);
  const controller = new AbortController();
  const cancelled = signalWithin(60_000, controller.signal);
  expect(cancelled.signal.aborted).toBe(false);
  controller.abort();
  expect([cancelled.signal.aborted, cancelled.isLate()]).toEqual([true, false]);
});

test("an idle limit counts no time in which this thread was kept: nobody could be heard", async () => {
  const idle = idleLimit(1500);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000); // as a long pass of a model keeps it
  await nextTurn();
  await nextTurn();
  expect(idle.signal.aborted).toBe(false);
  await new Promise((ended) => idle.signal.addEventListener("abort", ended));
  expect(idle.signal.reason).toEqual(new DeadlineError(1500));
});

test("no limit but the signal, and work that aborts its own signal", async () => {
  let given: AbortSignal | undefined;
  const work = (signal: AbortSignal) => {
    given = signal;
    return pause(1).then(() => "done");
  };
  expect(await withinTime(work, Number.POSITIVE_INFINITY)).toBe("done");
  expect(given?.aborted).toBe(false);
  const controller = new AbortController();
  const own = withinTime(
    () => {
      controller.abort(new Error("by the work"));
      return new Promise(() => {});
    },
    1000,
    controller.signal,
  );
  await expect(own).rejects.toThrow("by the work");
  const values: unknown[] = [Promise.resolve(), JSON.parse('{"then": 1}'), {}, null, undefined];
  expect(values.map((each) => isPromiseLike(each))).toEqual([true, false, false, false, false]);
});

test("an idle limit pauses while others wait for us, and begins again once that has succeeded", async () => {
  const idle = idleLimit(40);
  const aborted = new Promise<void>((ended) => idle.signal.addEventListener("abort", () => ended()));
  expect(await idle.pausedFor(() => pause(60).then(() => "ours"))).toBe("ours");
  expect(idle.signal.aborted).toBe(false);
  await expect(idle.pausedFor(() => Promise.reject(new Error("ours broke")))).rejects.toThrow("ours broke");
  await aborted;
  expect(idle.signal.reason).toEqual(new DeadlineError(40));
  const ended = idleLimit(5);
  ended.end();
  await ended.pausedFor(async () => {});
  await pause(20);
  expect(ended.signal.aborted).toBe(false);
});
