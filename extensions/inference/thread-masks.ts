import type { Worker } from "node:worker_threads";
import { type Formed, type GrammarMask, type Grammars, isFree } from "../../src/chat/grammar.ts";
import { ModelError } from "../../src/core/errors.ts";
import { present } from "../../src/core/present.ts";
import { parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import { HttpError } from "../http/http-error.ts";
import { startThread } from "../processes/thread.ts";
import { askThread } from "./ask-thread.ts";
import type { Refused } from "./refused.ts";

/** A form that can be sent to a thread. */
interface SentForm extends Omit<Formed, "tools"> {
  readonly tools?: readonly Omit<Tool, "execute">[];
}

export type MaskQuestion =
  | { readonly ask: "compile"; readonly formed: SentForm; readonly mask: number }
  | { readonly ask: "next" | "restart" | "close"; readonly mask: number }
  | { readonly ask: "allows" | "accept"; readonly mask: number; readonly token: number };

/** The answer to "compile". Those to "next" and "allows" are words in shared memory; the others have none. */
export type MaskAnswer = Compiled | { readonly refused: Refused };

interface Compiled {
  readonly loose: readonly string[];
}

export interface MaskSettings {
  readonly folder: string;
  /** Shared memory: whether there is an answer (1; 2 for an error), how many words it has, and these. */
  readonly words: Int32Array;
}

/** Words before those of an answer. */
export const headWords = 2;
/** Forms that are compiled or sampled under at a time, each in a thread. */
const most = 4;
/** An answer takes less than a millisecond, and some on a busy machine. */
const answerMs = 5000;

interface Place {
  readonly thread: Worker;
  readonly words: Int32Array;
  form: string;
  /** The newest mask that is made in it. */
  made: Promise<unknown>;
  /** Requests that wait for its grammar or sample under it. */
  users: number;
  gone?: true;
}

/**
 * Masks whose grammars are compiled in threads: one of a large schema takes seconds. A compiled grammar cannot leave its thread, so its masks are
 * asked for there, while this thread waits: a thread has one form at a time, and so nothing to do but answer.
 */
export class ThreadMasks implements Pick<Grammars, "mask"> {
  readonly #folder: string;
  readonly #words: number;
  readonly #places = new Set<Place>();
  readonly #start: typeof startThread;
  #masks = 0;

  /** @param folder of the model */
  constructor(folder: string, vocabularySize: number, start = startThread) {
    this.#folder = folder;
    this.#start = start;
    this.#words = headWords + Math.ceil(vocabularySize / 32);
  }

  /** @throws as `Grammars.mask`; HttpError if too many other forms are in use, or for one that takes too long */
  async mask({ tools, toolChoice, parallelCalls, strictTools, form }: Formed): Promise<GrammarMask | undefined> {
    if (isFree({ tools, toolChoice, parallelCalls, strictTools, form })) return undefined;
    const sent = tools?.map((tool) => ({ name: tool.name, description: "", parameters: parametersAsJsonSchema(tool) }));
    const formed = { tools: sent, toolChoice, parallelCalls, strictTools, form };
    const place = this.#placeFor(JSON.stringify(formed));
    place.users++;
    const mask = ++this.#masks;
    const compile = () => this.#compile(place, { ask: "compile", formed, mask });
    const making = place.made.then(compile, compile);
    place.made = making;
    try {
      return this.#maskOf(place, mask, await making);
    } catch (error) {
      place.users--;
      throw error;
    }
  }

  /** A thread with this form, or one that is free for it. */
  #placeFor(form: string): Place {
    const places = [...this.#places];
    const same = places.find((place) => place.form === form);
    if (same !== undefined) return same;
    if (places.length < most) {
      const words = new Int32Array(new SharedArrayBuffer(4 * this.#words));
      const settings: MaskSettings = { folder: this.#folder, words };
      const thread = this.#start(import.meta.url, "mask-thread", settings);
      const place = { thread, words, form, made: Promise.resolve(), users: 0 };
      this.#places.add(place);
      return place;
    }
    const free = places.find(({ users }) => users === 0);
    if (free === undefined)
      throw new HttpError(429, "forms of answers", most, { expected: "fewer different ones at a time", retryAfter: 1 });
    free.form = form;
    this.#places.delete(free); // the one that was not used for longest comes first
    this.#places.add(free);
    return free;
  }

  async #compile(place: Place, question: MaskQuestion): Promise<readonly string[]> {
    const names = ["the thread of a grammar", "schema", "no grammar"] as const;
    const asking = { names, expected: "a schema that is smaller", drop: () => this.#drop(place) };
    return (await askThread<Compiled>(place.thread, question, asking)).loose;
  }

  #maskOf(place: Place, mask: number, loose: readonly string[]): GrammarMask {
    const { thread, words } = place;
    const answer = (question: MaskQuestion): Int32Array => {
      Atomics.store(words, 0, 0);
      if (place.gone === undefined) thread.postMessage(question);
      // A thread that was interrupted before its notification wakes the wait for the next answer, too.
      while (place.gone === undefined && Atomics.load(words, 0) === 0)
        if (Atomics.wait(words, 0, 0, answerMs) === "timed-out") this.#drop(place);
      if (Atomics.load(words, 0) !== 1)
        throw new ModelError("grammar", "no answer", { expected: "a token that its mask allows" });
      return words.slice(headWords, headWords + present(words[1], "a count"));
    };
    let isOpen = true;
    return {
      loose,
      next: () => answer({ ask: "next", mask }),
      allows: (token) => answer({ ask: "allows", mask, token })[0] === 1,
      accept: (token) => thread.postMessage({ ask: "accept", mask, token } satisfies MaskQuestion),
      restart: () => thread.postMessage({ ask: "restart", mask } satisfies MaskQuestion),
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        place.users--;
        thread.postMessage({ ask: "close", mask } satisfies MaskQuestion);
      },
    };
  }

  #drop(place: Place): void {
    place.gone = true;
    this.#places.delete(place);
    void place.thread.terminate();
  }
}
