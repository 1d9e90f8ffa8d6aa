/** A path that would branch. */
interface Entry<ForkRequest> {
  readonly path: number;
  readonly turn: number;
  readonly request: ForkRequest;
}

/** The answer to a request: the paths that are forked for it, none where no leaves are left. */
export interface Grant<ForkRequest> {
  readonly request: ForkRequest;
  readonly forks: readonly number[];
}

/**
 * Shares the leaves of one task's tree out. A path of the tree is a leaf in the making; paths are numbered as they are begun.
 *
 * Requests are granted turn by turn, and within a turn in the order of the paths: turn t is granted once every path has passed it or has
 * ended, those that were forked before included. So the tree is that of a rollout in lock-step, whatever answers first; but no path
 * waits for another: only forks do.
 */
export class LeafLedger<ForkRequest> {
  readonly #budget: number;
  readonly #beam: number;
  /** For each path the next turn at which it may branch; Infinity once it has ended. */
  readonly #next: number[];
  #requests: Entry<ForkRequest>[] = [];
  #paused: boolean;

  /**
   * @param firstRollouts the paths that there are to begin with, at most the budget
   * @param paused nothing is granted before `begin`
   */
  constructor({
    budget,
    firstRollouts,
    beam,
    paused = false,
  }: { budget: number; firstRollouts: number; beam: number; paused?: boolean }) {
    this.#budget = budget;
    this.#beam = beam;
    this.#paused = paused;
    this.#next = new Array<number>(firstRollouts).fill(0);
  }

  /** True once no request can be granted any more. */
  get full(): boolean {
    return this.#next.length >= this.#budget;
  }

  /** Returns the paths that begin beside those that there are, `paths` in all, and grants from now on. */
  begin(paths: number): number[] {
    this.#paused = false;
    const begun = Array.from({ length: paths - this.#next.length }, (_, i) => this.#next.length + i);
    for (const path of begun) this.#next[path] = 0;
    return begun;
  }

  /** Records that a path continues from a turn, and may ask for others beside it. */
  passed(path: number, turn: number, request?: ForkRequest): void {
    this.#next[path] = turn + 1;
    if (request !== undefined) this.#requests.push({ path, turn, request });
  }

  ended(path: number): void {
    this.#next[path] = Number.POSITIVE_INFINITY;
  }

  /** Grants what can be granted by now, and returns it in its order. */
  grant(): Grant<ForkRequest>[] {
    const granted: Grant<ForkRequest>[] = [];
    if (this.#paused) return granted;
    this.#requests.sort((a, b) => a.turn - b.turn || a.path - b.path);
    for (;;) {
      const [first] = this.#requests;
      if (first === undefined || (!this.full && Math.min(...this.#next) <= first.turn)) return granted;
      this.#requests.shift();
      const forks = Array.from(
        { length: Math.min(this.#beam - 1, this.#budget - this.#next.length) },
        (_, i) => this.#next.length + i,
      );
      // A fork repeats the turn: it does not branch there again.
      for (const fork of forks) this.#next[fork] = first.turn + 1;
      granted.push({ request: first.request, forks });
    }
  }

  /** The rest of the budget, to be rolled out from the root: once every path has ended and every request is granted. */
  refill(): number[] {
    if (this.#paused || this.full || this.#requests.length > 0 || this.#next.some(Number.isFinite)) return [];
    return this.begin(this.#budget);
  }
}
