import { setMaxListeners } from "node:events";

/** Jobs, so many at a time. The first that fails aborts the signal of all. */
export class Flight {
  /** Aborted from outside, or by a failure. */
  readonly signal: AbortSignal;
  readonly #failure = new AbortController();
  readonly #limit: number;
  #running = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number, signal?: AbortSignal) {
    this.#limit = limit;
    this.signal = signal === undefined ? this.#failure.signal : AbortSignal.any([signal, this.#failure.signal]);
    // Every job in flight listens: that is no leak.
    setMaxListeners(0, this.signal);
  }

  /** Runs a job as soon as there is room: in their order, urgent ones before others. */
  async run<T>(job: () => Promise<T>, { urgent = false } = {}): Promise<T> {
    if (this.#running < this.#limit) this.#running++;
    else await new Promise<void>((resolve) => (urgent ? this.#urgent : this.#waiting).push(resolve));
    try {
      return await job();
    } catch (error) {
      this.#failure.abort(error);
      throw error;
    } finally {
      const next = this.#urgent.shift() ?? this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

/** The results of all, once none is in flight any more. @throws the first failure in their order */
export async function allLanded<T>(jobs: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(jobs);
  const failed = settled.find((job) => job.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((job) => (job.status === "fulfilled" ? [job.value] : []));
}
