/** A limiter: runs a limited number of jobs at a time. */
export class Room {
  readonly #places: number;
  #taken = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#places = places;
  }

  /** Runs a job as soon as there is a place: in their order, urgent ones before others. */
  async run<T>(job: () => Promise<T>, { urgent = false } = {}): Promise<T> {
    if (this.#taken < this.#places) this.#taken++;
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
