/** A limiter: runs a limited number of jobs at a time. */
export class Semaphore {
  readonly #limit: number;
  #taken = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a job as soon as one may start: in their order, urgent ones before others. */
  async run<T>(job: () => Promise<T>, { urgent = false } = {}): Promise<T> {
    if (this.#taken < this.#limit) this.#taken++;
    else await new Promise<void>((resolve) => (urgent ? this.#urgent : this.#waiting).push(resolve));
    try {
      return await job();
    } finally {
      const next = this.#urgent.shift() ?? this.#waiting.shift();
      if (next === undefined) this.#taken--;
      else next();
    }
  }
}
