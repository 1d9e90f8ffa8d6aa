import { randomUUID } from "node:crypto";
import { reasonOf } from "../../../src/core/errors.ts";

import type { Reply } from "../../http/server.ts";

/** How long an answer is kept for a client whose connection broke. */
const lingerMs = 60_000;
/** Time between two comments, which keep the connection open while an answer is computed. */
const heartbeatMs = 10_000;
/** Characters of one event, as ORS's own server sends them. */
const chunkSize = 4096;

/** Answers to calls, which a client may ask for again by their id. */
export class OrsCalls {
  readonly #answers = new Map<string, Promise<string>>();

  /**
   * The reply of a call: server-sent events with its id, then the text in chunks, the last of which is the end.
   * @param id of an answer that was begun earlier
   * @param work computes the answer, where no id is given
   */
  reply(id: string | undefined, work: () => Promise<string>): Reply {
    const begun = id === undefined ? this.#begin(work) : { id, answer: this.#answers.get(id) };
    return {
      events: async (write) => {
        if (begun.answer === undefined) return write(eventText("error", "unknown task_id"));
        write(eventText("task_id", begun.id));
        const heart = setInterval(() => write(": ping\r\n\r\n"), heartbeatMs);
        try {
          const chunks = chunksOf(await begun.answer);
          write(chunks.map((chunk, i) => eventText(i === chunks.length - 1 ? "end" : "chunk", chunk)).join(""));
        } catch (error) {
          write(eventText("error", reasonOf(error)));
        } finally {
          clearInterval(heart);
        }
      },
    };
  }

  #begin(work: () => Promise<string>): { readonly id: string; readonly answer: Promise<string> } {
    const id = randomUUID().replaceAll("-", "");
    const answer = work();
    this.#answers.set(id, answer);
    const forget = () => setTimeout(() => this.#answers.delete(id), lingerMs).unref();
    answer.then(forget, forget);
    return { id, answer };
  }
}

/** Cuts a text. No chunk begins with white space, which ors-sdk's client takes off. */
function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + chunkSize, text.length);
    while (to < text.length && /\s/.test(text.charAt(to))) to++;
    chunks.push(text.slice(from, to));
    from = to;
  }
  return chunks;
}

/** One event. A text of several lines has a field for each. */
export function eventText(event: string, data: string): string {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\r\n`);
  return `event: ${event}\r\n${lines.join("")}\r\n`;
}
