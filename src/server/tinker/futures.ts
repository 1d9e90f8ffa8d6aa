import { randomUUID } from "node:crypto";
import { reasonOf } from "../../core/errors.ts";
import { isUserError } from "../http/refusal.ts";

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
/** Bytes of results that wait: beyond it, delivered ones go first, and then the oldest. */
const mostBytes = 512 * 2 ** 20;

/** Results of requests that were acknowledged, until they are fetched, and for a while after: an answer may be lost on its way. */
export class Futures {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Requests that are not done yet. */
  get pending(): number {
    return [...this.#entries.values()].filter(({ outcome }) => outcome === undefined).length;
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
    };
    this.#entries.set(id, entry);
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

  #forget(): void {
    const now = this.#now();
    for (const [id, { settledAt, deliveredAt }] of this.#entries) {
      if (settledAt === undefined) continue;
      const until = deliveredAt === undefined ? settledAt + keptUndeliveredMs : deliveredAt + keptAfterDeliveryMs;
      if (now > until) this.#entries.delete(id);
    }
    const settled = [...this.#entries].filter(([, { outcome }]) => outcome !== undefined);
    let bytes = settled.reduce((sum, [, { outcome }]) => sum + bytesOf(outcome), 0);
    const order = [
      ...settled.filter(([, e]) => e.deliveredAt !== undefined),
      ...settled.filter(([, e]) => e.deliveredAt === undefined),
    ];
    for (const [id, { outcome }] of order) {
      if (bytes <= mostBytes) return;
      bytes -= bytesOf(outcome);
      this.#entries.delete(id);
    }
  }
}

function bytesOf(outcome: Outcome | undefined): number {
  return outcome !== undefined && "protobuf" in outcome ? outcome.protobuf.length : 200;
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}
