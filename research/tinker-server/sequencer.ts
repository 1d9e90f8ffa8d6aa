import { HttpError } from "../../extensions/http/http-error.ts";

/** The fate of a number: accepted with the id of its result, or refused before it was accepted. */
type Numbered =
  | { readonly kind: "accepted"; readonly fingerprint: string; readonly requestId: string; readonly start: () => void }
  | { readonly kind: "refused"; readonly skipped: () => void };

/** Numbers that may be missing behind the last request that ran. */
const furthestAhead = 10_000;
/** Requests that are remembered, so that a repeat finds its result. */
const remembered = 2_000;

/**
 * The requests of one model by number. They run in the order of the numbers, whatever the order of arrival. A repeat with the same content
 * gets the id of the first, one with other content is refused. A request waits for missing numbers before its own.
 *
 * The number of a refused request may be used again. If the next number arrives first, the refused one is skipped.
 */
export class Sequencer {
  readonly #numbers = new Map<number, Numbered>();
  #next = 1;
  #last = 0;
  #tail: Promise<unknown> = Promise.resolve();

  /** Whether nothing was accepted yet. */
  get fresh(): boolean {
    return this.#last === 0;
  }

  /** The number of a request that has none: it goes behind all that were seen. */
  numberOf(seqId: number | null | undefined): number {
    return seqId === undefined || seqId === null || seqId === 0 ? this.#last + 1 : seqId;
  }

  /** The id of a request that was accepted before. @throws HttpError if the number was used for another one */
  repeated(seqId: number, fingerprint: string): string | undefined {
    const known = this.#numbers.get(seqId);
    if (known?.kind === "accepted") {
      if (known.fingerprint === fingerprint) return known.requestId;
      throw new HttpError(409, "seq_id", seqId, { expected: "a number that no other request of the model has used" });
    }
    if (seqId < this.#next) {
      throw new HttpError(409, "seq_id", seqId, {
        expected: `${this.#next} or more`,
        hint: "The requests before it were executed already.",
      });
    }
    if (!Number.isInteger(seqId) || seqId > this.#next + furthestAhead)
      throw new HttpError(422, "seq_id", seqId, { expected: `${this.#next}, the next number` });
    return undefined;
  }

  /**
   * Accepts a request.
   * @param run called once all numbers before it have run
   * @param register makes the future of the result, and returns its id
   */
  accept<T>(seqId: number, fingerprint: string, run: () => Promise<T>, register: (result: Promise<T>) => string): string {
    let start = () => {};
    const turn = new Promise<void>((resolve) => {
      start = resolve;
    });
    const result = turn.then(run);
    const requestId = register(result);
    const begin = () => {
      const before = this.#tail;
      this.#tail = before.then(start).then(() => result.catch(() => {}));
    };
    this.#numbers.set(seqId, { kind: "accepted", fingerprint, requestId, start: begin });
    this.#last = Math.max(this.#last, seqId);
    this.#advance();
    return requestId;
  }

  /** Remembers that a request was refused. @param skipped called if a later request runs instead of another with this number */
  refuse(seqId: number, skipped: () => void): void {
    if (seqId < this.#next || this.#numbers.get(seqId)?.kind === "accepted") return;
    this.#numbers.set(seqId, { kind: "refused", skipped });
    this.#advance();
  }

  /** Resolves once everything that was accepted in order has run. */
  async settled(): Promise<void> {
    await this.#tail;
  }

  #advance(): void {
    for (;;) {
      const entry = this.#numbers.get(this.#next);
      if (entry === undefined) break;
      if (entry.kind === "refused") {
        if (this.#last <= this.#next) break; // nothing waits behind it: another request may take the number
        const { skipped } = entry;
        this.#tail = this.#tail.then(skipped);
      } else entry.start();
      this.#numbers.delete(this.#next - remembered);
      this.#next++;
    }
  }
}
