import { withinTime } from "../../src/core/deadline.ts";
import type { Outcome } from "./futures.ts";

type Completion =
  | { readonly state: "finished"; readonly request_id: string; readonly response_payload_uncompressed_size: number | null }
  | { readonly state: "failed"; readonly request_id: string };

interface Queue {
  events: { readonly cursor: number; readonly completion: Completion }[];
  cursor: number;
  readonly waiting: Set<() => void>;
}

/** Finished requests of each sampling session, in the order in which they finished: one poll of a client hears of all of them. */
export class Completions {
  readonly #queues = new Map<string, Queue>();

  /** @param key of the sampling session and its clone @param done settles with the outcome and never fails */
  async expect(key: string, request_id: string, done: Promise<Outcome>): Promise<void> {
    const outcome = await done;
    const size = "protobuf" in outcome ? outcome.protobuf.length : null;
    const completion: Completion =
      "error" in outcome
        ? { state: "failed", request_id }
        : { state: "finished", request_id, response_payload_uncompressed_size: size };
    const queue = this.#queue(key);
    queue.events.push({ cursor: ++queue.cursor, completion });
    for (const wake of queue.waiting) wake();
  }

  /** Waits at most so long for completions behind a cursor. Those up to it are forgotten. */
  async poll(key: string, after: number, waitMs: number): Promise<{ completions: Completion[]; cursor: number }> {
    const queue = this.#queue(key);
    queue.events = queue.events.filter(({ cursor }) => cursor > after);
    if (queue.events.length === 0 && waitMs > 0) {
      let wake = () => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      queue.waiting.add(wake);
      await withinTime(() => woken, waitMs).catch(() => undefined);
      queue.waiting.delete(wake);
    }
    const completions = queue.events.map(({ completion }) => completion);
    return { completions, cursor: queue.events.at(-1)?.cursor ?? after };
  }

  /** Forgets what a session sampled. */
  forget(session: string): void {
    for (const key of this.#queues.keys()) if (key.startsWith(`${session}:`)) this.#queues.delete(key);
  }

  #queue(key: string): Queue {
    const queue = this.#queues.get(key) ?? { events: [], cursor: 0, waiting: new Set() };
    this.#queues.set(key, queue);
    return queue;
  }
}
