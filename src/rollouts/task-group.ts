import { host } from "../core/host.ts";
import { Semaphore } from "../core/semaphore.ts";

/** Jobs, a limited number at a time. The first that fails aborts the signal of all. */
export class TaskGroup {
  /** Aborted from outside, or by a failure. */
  readonly signal: AbortSignal;
  readonly #failure = new AbortController();
  readonly #semaphore: Semaphore;

  constructor(limit: number, signal?: AbortSignal) {
    this.#semaphore = new Semaphore(limit);
    this.signal = signal === undefined ? this.#failure.signal : AbortSignal.any([signal, this.#failure.signal]);
    // Every running job listens: that is no leak.
    host.expectListeners(this.signal);
  }

  /** Runs a job as soon as one may start: in their order, urgent ones before others. */
  run<T>(job: () => Promise<T>, options?: { readonly urgent?: boolean }): Promise<T> {
    const watched = async () => {
      try {
        return await job();
      } catch (error) {
        this.#failure.abort(error);
        throw error;
      }
    };
    return this.#semaphore.run(watched, options);
  }
}

/** The results of all, once all have ended. @throws the first failure in their order */
export async function allSettled<T>(jobs: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(jobs);
  const failed = settled.find((job) => job.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((job) => (job.status === "fulfilled" ? [job.value] : []));
}
