/** Something did not answer in time. */
export class DeadlineError extends Error {
  constructor(milliseconds: number) {
    super(`no answer within ${milliseconds} ms`);
    this.name = "DeadlineError";
  }
}

/**
 * Runs work that may take too long. Work that answers at once costs no timer, and so never waits for the event loop.
 * @param work is given a signal that is aborted when nobody waits for the answer any more
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
    controller.abort(reason);
    reject(reason);
  };
  const cancel = () => stop(signal?.reason);
  const timer = setTimeout(() => stop(new DeadlineError(milliseconds)), milliseconds);
  signal?.addEventListener("abort", cancel);
  try {
    return await Promise.race([answer, interrupted]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

function withReject(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise;
  });
  return { promise, reject };
}
