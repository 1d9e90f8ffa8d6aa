import { randomUUID } from "node:crypto";
import { isUserError } from "../../extensions/http/http-error.ts";
import { DeadlineError, withinTime } from "../../src/core/deadline.ts";
import { reasonOf } from "../../src/core/errors.ts";

/** The outcome of a request. */
export type Outcome =
  | { readonly json: object }
  | { readonly protobuf: Uint8Array }
  | { readonly error: string; readonly category: "user" | "server" };

interface Entry {
  outcome: Outcome | undefined;
  readonly settled: Promise<void>;
  deliveredAt: number | undefined;
  settledAt: number | undefined;
}

/** How long results are kept: as SkyRL keeps forwarded samples. */
const keptAfterDeliveryMs = 300_000;
const keptUndeliveredMs = 600_000;
/** Bytes of results that wait, if no others are given: beyond it, delivered ones go first, and then the oldest. */
export const defaultResultBytes = 512 * 2 ** 20;
/** The results that are kept are looked through no more often than this. */
const sweepMs = 1_000;

/** Results of requests that were acknowledged, until they are fetched, and for a while after: an answer may be lost on its way. */
export class Futures {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;
  #pending = 0;
  /** Bytes of the results that are kept. */
  #bytes = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  readonly #maxBytes: number;

  constructor(maxBytes: number = defaultResultBytes, now: () => number = Date.now) {
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  /** Requests that are not done yet. */
  get pending(): number {
    return this.#pending;
  }

  /** @returns the id under which the result can be fetched */
  add(work: Promise<Outcome>): string {
    this.#forget();
    const id = randomUUID();
    const entry: Entry = {
      outcome: undefined,
      deliveredAt: undefined,
      settledAt: undefined,
      settled: work.then(
        (outcome) => settle(outcome),
        (error: unknown) => settle({ error: reasonOf(error), category: isUserError(error) ? "user" : "server" }),
      ),
    };
    const settle = (outcome: Outcome) => {
      entry.outcome = outcome;
      entry.settledAt = this.#now();
      this.#pending--;
      this.#bytes += bytesOf(outcome);
    };
    this.#entries.set(id, entry);
    this.#pending++;
    return id;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  /** Waits at most so long. @returns undefined if there is no such future, "pending" if it is not done yet */
  async retrieve(id: string, waitMs: number): Promise<Outcome | "pending" | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    if (entry.outcome === undefined) await within(entry.settled, waitMs);
    if (entry.outcome === undefined) return "pending";
    entry.deliveredAt = this.#now();
    return entry.outcome;
  }

  /** Looks through all results at most once a second, unless they are too large: with thousands of samples a second it would cost more than they do. */
  #forget(): void {
    const now = this.#now();
    if (now - this.#sweptAt < sweepMs && this.#bytes <= this.#maxBytes) return;
    this.#sweptAt = now;
    for (const [id, { settledAt, deliveredAt }] of this.#entries) {
      if (settledAt === undefined) continue;
      const until = deliveredAt === undefined ? settledAt + keptUndeliveredMs : deliveredAt + keptAfterDeliveryMs;
      if (now > until) this.#drop(id);
    }
    const settled = [...this.#entries].filter(([, { outcome }]) => outcome !== undefined);
    const delivered = (entry: Entry) => entry.deliveredAt !== undefined;
    for (const [id] of [...settled.filter(([, e]) => delivered(e)), ...settled.filter(([, e]) => !delivered(e))]) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(id);
    }
  }

  /** Forgets a result that is there. */
  #drop(id: string): void {
    this.#bytes -= bytesOf(this.#entries.get(id)?.outcome);
    this.#entries.delete(id);
  }
}

function bytesOf(outcome: Outcome | undefined): number {
  if (outcome === undefined) return 0;
  return "protobuf" in outcome ? outcome.protobuf.length : 200;
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  await withinTime(() => work, ms).catch((error: unknown) => {
    if (!(error instanceof DeadlineError)) throw error;
  });
}
