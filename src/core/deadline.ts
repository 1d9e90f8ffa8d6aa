import { host } from "./host.ts";

/** Something did not answer in time. */
export class DeadlineError extends Error {
  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`);
    this.name = "DeadlineError";
  }
}

/**
 * Runs work that may take too long. Work that answers at once costs no timer, and so never waits for the event loop.
 * @param work is given a signal that is aborted when the answer is no longer awaited
 * @param milliseconds Infinity for no limit but the signal
 * @throws DeadlineError when the time is over, the signal's reason when it is aborted, and what `work` throws
 */
export async function withinTime<T>(
  work: (signal: AbortSignal) => T | PromiseLike<T>,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const answer = work(controller.signal);
  if (!isPromiseLike(answer)) return answer;

  const { promise: interrupted, reject } = withReject();
  const stop = (reason: unknown) => {
    reject(reason); // before the work hears of it, so that an error of its own does not come first
    controller.abort(reason);
  };
  const cancel = () => stop(signal?.reason);
  const timer =
    milliseconds === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => stop(new DeadlineError(milliseconds)), milliseconds);
  if (signal !== undefined) host.expectListeners(signal); // many calls may wait at a time: that is no leak
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted) cancel(); // by the work itself
  try {
    return await Promise.race([answer, interrupted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}

export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function withReject(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise;
  });
  return { promise, reject };
}

/** A time limit on another party. It pauses while that party waits for us. */
export interface IdleLimit {
  /** Aborted with a DeadlineError when the time is over. */
  readonly signal: AbortSignal;
  /** Does work of ours, which costs no time. Once it has succeeded the whole time is there again. */
  pausedFor<T>(work: () => Promise<T>): Promise<T>;
  end(): void;
}

/** The longest part of the time that is counted at once, in milliseconds. */
const longestPart = 1000;

/**
 * A limit that counts in parts. While a computation keeps this thread, or the machine sleeps, nobody could be heard, so a part that ends late counts
 * no more than itself.
 */
export function idleLimit(milliseconds: number): IdleLimit {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [left, since, part, paused, ended] = [milliseconds, 0, 0, 0, false];
  const count = () => {
    since = performance.now();
    part = Math.min(left, longestPart);
    timer = setTimeout(() => {
      left -= part;
      if (left > 0) count();
      else controller.abort(new DeadlineError(milliseconds));
    }, part);
  };
  count();
  return {
    signal: controller.signal,
    pausedFor: async (work) => {
      clearTimeout(timer);
      if (paused++ === 0) left -= Math.min(performance.now() - since, part);
      try {
        const result = await work();
        left = milliseconds;
        return result;
      } finally {
        if (--paused === 0 && !ended && !controller.signal.aborted) count();
      }
    },
    end: () => {
      ended = true;
      clearTimeout(timer);
    },
  };
}

/**
 * A signal that is aborted after a time, or with another signal.
 * @returns the signal, and whether the time was over: why it was aborted
 */
export function signalWithin(milliseconds: number, signal?: AbortSignal): { readonly signal: AbortSignal; isLate(): boolean } {
  const limit = AbortSignal.timeout(milliseconds);
  return { signal: signal === undefined ? limit : AbortSignal.any([signal, limit]), isLate: () => limit.aborted };
}

/** Waits. @throws the signal's reason when it is aborted */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
