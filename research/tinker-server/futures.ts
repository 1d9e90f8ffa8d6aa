import { randomUUID } from "node:crypto";
import { isUserError } from "../../extensions/http/http-error.ts";
import { DeadlineError, withinTime } from "../../src/core/deadline.ts";
import { reasonOf } from "../../src/core/errors.ts";

/** The outcome of a request. */
export type Outcome =
  | { readonly json: object }
  | { readonly protobuf: Uint8Array }
  | { readonly error: string; readonly category: "user" | "server" };

/** Results that are kept, delivered or not: the oldest go. An answer may be lost on its way, so a result can be fetched again. */
const kept = 4096;

/** Results of requests that were acknowledged. */
export class Futures {
  readonly #results = new Map<string, Promise<Outcome>>();

  /** @returns the id under which the result can be fetched */
  add(work: Promise<Outcome>): string {
    const id = randomUUID();
    const failed = (error: unknown): Outcome => ({ error: reasonOf(error), category: isUserError(error) ? "user" : "server" });
    this.#results.set(id, work.catch(failed));
    const [oldest = id] = this.#results.keys();
    if (this.#results.size > kept) this.#results.delete(oldest);
    return id;
  }

  /** @param waitMs longest wait @returns undefined if there is no such future, "pending" if it is not done yet */
  async retrieve(id: string, waitMs: number): Promise<Outcome | "pending" | undefined> {
    const result = this.#results.get(id);
    if (result === undefined) return undefined;
    return withinTime(() => result, waitMs).catch((error: unknown) => {
      if (error instanceof DeadlineError) return "pending";
      throw error;
    });
  }
}
