import { host } from "../core/host.ts";
import { Room } from "../core/room.ts";

/** Jobs, a limited number at a time. The first that fails aborts the signal of all. */
export class Flight {
  /** Aborted from outside, or by a failure. */
  readonly signal: AbortSignal;
  readonly #failure = new AbortController();
  readonly #room: Room;

  constructor(limit: number, signal?: AbortSignal) {
    this.#room = new Room(limit);
    this.signal = signal === undefined ? this.#failure.signal : AbortSignal.any([signal, this.#failure.signal]);
    // Every job in flight listens: that is no leak.
    host.expectListeners(this.signal);
  }

  /** Runs a job as soon as there is room: in their order, urgent ones before others. */
  run<T>(job: () => Promise<T>, options?: { readonly urgent?: boolean }): Promise<T> {
    const watched = async () => {
      try {
        return await job();
      } catch (error) {
        this.#failure.abort(error);
        throw error;
      }
    };
    return this.#room.run(watched, options);
  }
}

/** The results of all, once none is in flight any more. @throws the first failure in their order */
export async function allLanded<T>(jobs: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(jobs);
  const failed = settled.find((job) => job.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return settled.flatMap((job) => (job.status === "fulfilled" ? [job.value] : []));
}
