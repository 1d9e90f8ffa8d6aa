import type { ConversationRequest } from "../../chat/conversation.ts";
import type { Message } from "../../core/messages.ts";
import type { Captured } from "../../environments/environment.ts";

/** Requests of an episode that continue each other. */
export interface Conversation {
  /** The first request's messages, as keys. */
  readonly messages: ReadonlySet<string>;
  /** Its system messages and tools. */
  readonly voice: string;
  /** True if neither tools nor a form of the answer are asked for. */
  readonly isPlain: boolean;
  /** Its answers: the turn, and the number of requests until then. */
  readonly answers: { readonly turn: number; readonly text: string; readonly after: number }[];
}

/** Counts how an agent by someone else asks for its answers. */
export class Conversations {
  readonly #all: Conversation[] = [];
  readonly #requests: (readonly Message[])[] = [];
  #branches = 0;

  /** @param keys of the messages */
  begin({ messages, form }: ConversationRequest, keys: readonly string[], tools: string): Conversation {
    const isSystem = (i: number) => messages[i]?.role === "system";
    const conversation = {
      messages: new Set(keys.filter((_, i) => !isSystem(i))),
      voice: JSON.stringify([keys.filter((_, i) => isSystem(i)), tools]),
      isPlain: tools === "[]" && form === undefined,
      answers: [],
    };
    this.#all.push(conversation);
    return conversation;
  }

  /** Counts a request. @param isBranch true if another one continued the same message, or asked the same */
  ask({ messages }: ConversationRequest, isBranch: boolean): void {
    this.#requests.push(messages);
    if (isBranch) this.#branches++;
  }

  answer({ answers }: Conversation, turn: number, text: string): void {
    answers.push({ turn, text: text.trim(), after: this.#requests.length });
  }

  /** Looks back at the whole episode. */
  captured(): Captured {
    const answered = this.#all.filter(({ answers }) => answers.length > 0);
    const auxiliary = answered.filter((conversation) => this.#isAuxiliary(conversation, answered));
    const own = answered.filter((conversation) => !auxiliary.includes(conversation));
    let [compactions, subagents] = [0, 0];
    for (const [i, { voice, messages }] of own.entries()) {
      if (i === 0) continue;
      const earlier = own.slice(0, i).filter((other) => other.voice === voice);
      if (earlier.length === 0) subagents++;
      else if (earlier.some((other) => [...messages].some((key) => other.messages.has(key))) || summarises(messages, answered))
        compactions++;
    }
    const counts = { contexts: own.length, branches: this.#branches, compactions, subagents, auxiliary: auxiliary.length };
    return { counts, auxiliary: auxiliary.flatMap(({ answers }) => answers.map(({ turn }) => turn)) };
  }

  /**
   * True for titles and the like: one answer to a request without tools or form, beside conversations with tools, whose text no later request
   * repeats and which is not the episode's last.
   */
  #isAuxiliary({ isPlain, answers: [answer, ...more] }: Conversation, all: readonly Conversation[]): boolean {
    if (answer === undefined || !isPlain || more.length > 0 || all.every((other) => other.isPlain)) return false;
    const isLast = all.every(({ answers }) => answers.every(({ turn }) => turn <= answer.turn));
    const later = this.#requests.slice(answer.after).flat();
    return !isLast && (answer.text === "" || !later.some(({ content }) => content.includes(answer.text)));
  }
}

/** True if a conversation begins with what another one answered to a request without tools: a summary. */
function summarises(messages: ReadonlySet<string>, all: readonly Conversation[]): boolean {
  const summaries = all.filter(({ isPlain }) => isPlain).flatMap(({ answers }) => answers.map(({ text }) => text));
  return summaries.some((text) => text !== "" && [...messages].some((key) => key.includes(JSON.stringify(text).slice(1, -1))));
}
