/** Places for jobs, a limited number at a time. */
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

const rooms = new WeakMap<object, Room>();

/**
 * Plays an episode within the environment's own limit of open episodes, which all rollouts of the process share. No job waits for another
 * while it has a place. A copy that waits to become a branch takes none.
 */
export function withinLimit<T>(environment: { readonly concurrency?: number }, play: () => Promise<T>): Promise<T> {
  if (environment.concurrency === undefined) return play();
  const room = rooms.get(environment) ?? new Room(environment.concurrency);
  rooms.set(environment, room);
  return room.run(play);
}
