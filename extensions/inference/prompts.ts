import type { Worker } from "node:worker_threads";
import type { Chat, ChatContext } from "../../src/chat/chat.ts";
import { Context } from "../../src/core/context.ts";
import type { Message } from "../../src/core/messages.ts";
import type { TokenId } from "../../src/core/trajectory.ts";
import { type JsonSchema, parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import { HttpError } from "../http/http-error.ts";
import { startThread } from "../processes/thread.ts";
import { askThread } from "./ask-thread.ts";
import { type Refused, refusedBy } from "./refused.ts";

/** A conversation as a prompt, and the beginning of the answer that continues it. */
export interface Prompt {
  readonly context: ChatContext;
  readonly continued: readonly TokenId[];
}

export interface PromptQuestion {
  readonly messages: readonly Message[];
  readonly tools: readonly { readonly name: string; readonly description: string; readonly parameters: JsonSchema }[];
  readonly continued: string;
}

interface Made extends Pick<Prompt, "continued"> {
  readonly text: string;
  readonly ids: readonly TokenId[];
}

interface Waiting {
  readonly question: PromptQuestion;
  readonly size: number;
  readonly signal: AbortSignal;
  readonly resolve: (made: Made) => void;
  readonly reject: (error: unknown) => void;
}

/** Characters that this thread renders and tokenises itself: some milliseconds, and 50 on a busy machine. A message counts as some, too. */
const shortest = { characters: 4000, message: 20 };
/** Bytes of a body: of a character as an escape in JSON, of a message around its text, and of schemas, which no prompt need show. */
const bytes = { character: 6, message: 64, schemas: 2 ** 20 } as const;
const longestQueue = 64;

/**
 * Makes prompts of conversations without holding up the clients of others: long ones in a thread of its own, one at a time, the shortest first, each
 * within 30 s. What could not fit into the context is refused by its characters, before anything is made of it.
 */
export class Prompts {
  readonly #chat: Chat;
  readonly #maxCharacters: number;
  /** The model's folder. Without one everything is made in this thread: for clients that are known. */
  readonly #folder: string | undefined;
  readonly #queue: Waiting[] = [];
  #thread: Worker | undefined;
  #running = false;
  readonly #start: typeof startThread;

  constructor(chat: Chat, maxLength: number, folder?: string, start = startThread) {
    this.#chat = chat;
    this.#start = start;
    this.#folder = folder;
    this.#maxCharacters = maxCharacters(chat, maxLength);
  }

  /** @throws HttpError for what cannot fit, or takes too long; ModelError if the template refuses the messages */
  async open(messages: readonly Message[], tools: readonly Tool[], continued: string, signal: AbortSignal): Promise<Prompt> {
    if (tools.length > 0) this.#chat.calls();
    const shown = tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: parametersAsJsonSchema(tool),
    }));
    const characters =
      messages.reduce((sum, { content }) => sum + content.length, continued.length) +
      (shown.length === 0 || this.#chat.toolsIn === "none" ? 0 : JSON.stringify(shown).length);
    if (characters > this.#maxCharacters)
      throw new HttpError(400, "messages", `${characters} characters`, {
        expected: `at most ${this.#maxCharacters}, the most that its context can hold`,
        code: "context_length_exceeded",
      });
    const size = characters + shortest.message * messages.length;
    if (size <= shortest.characters || this.#folder === undefined)
      return { context: this.#chat.open(messages, tools), continued: this.#chat.tokenizer.encode(continued) };
    if (this.#queue.length >= longestQueue)
      throw new HttpError(429, "long prompts", this.#queue.length, { expected: "fewer at a time", retryAfter: 1 });
    const made = await new Promise<Made>((resolve, reject) => {
      this.#queue.push({ question: { messages: [...messages], tools: shown, continued }, size, signal, resolve, reject });
      void this.#next();
    });
    const { text, ids } = made;
    return { context: { tools, ids: Context.of(ids, messages), text, rewritten: false }, continued: made.continued };
  }

  async #next(): Promise<void> {
    if (this.#running) return;
    const [first, ...rest] = this.#queue;
    if (first === undefined) return;
    const next = rest.reduce((best, each) => (each.size < best.size ? each : best), first);
    this.#queue.splice(this.#queue.indexOf(next), 1);
    this.#running = true;
    try {
      next.resolve(await this.#ask(next));
    } catch (error) {
      next.reject(error);
    }
    this.#running = false;
    void this.#next();
  }

  #ask({ question, signal }: Waiting): Promise<Made> {
    signal.throwIfAborted();
    const thread = (this.#thread ??= this.#start(import.meta.url, "prompt-thread", this.#folder));
    const names = ["the thread of long prompts", "messages", "no prompt"] as const;
    const drop = () => {
      this.#thread = undefined;
      void thread.terminate();
    };
    return askThread<Made>(thread, question, { names, expected: "a conversation that is shorter", signal, drop });
  }
}

/** Makes a prompt in the thread of `Prompts`. */
export function promptAnswer(chat: Chat, { messages, tools, continued }: PromptQuestion): Made | { readonly refused: Refused } {
  const shown = tools.map((tool) => ({ ...tool, execute: () => "" }));
  try {
    const { ids, text } = chat.open(messages, shown);
    return { text, ids: [...ids], continued: chat.tokenizer.encode(continued) };
  } catch (error) {
    return { refused: refusedBy(error, "a prompt") };
  }
}

/** Characters that a context can hold. */
function maxCharacters({ tokenizer }: Chat, maxLength: number): number {
  let longest = 1;
  for (const token of tokenizer.vocabulary.tokens.values()) longest = Math.max(longest, token.length);
  return maxLength * longest;
}

/** Bytes of the largest request whose conversation a context can hold. */
export function maxBytes(chat: Chat, maxLength: number): number {
  return bytes.character * maxCharacters(chat, maxLength) + bytes.message * maxLength + bytes.schemas;
}
