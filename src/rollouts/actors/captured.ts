import type { Chat, ChatContext } from "../../chat/chat.ts";
import type { ConversationRequest } from "../../chat/conversation.ts";
import { shownTools } from "../../chat/reply.ts";
import { commonPrefix } from "../../core/context.ts";
import { keyOf } from "../../core/message-key.ts";
import type { AssistantMessage, Message } from "../../core/messages.ts";
import { present } from "../../core/present.ts";
import type { TokenId } from "../../core/trajectory.ts";
import type { Captured } from "../../environments/environment.ts";
import type { Tool } from "../../tools/tool.ts";
import { type Conversation, Conversations } from "./conversations.ts";

/** A sampled message with the context that it was sampled in. */
interface Said {
  readonly context: ChatContext;
  readonly action: readonly TokenId[];
  readonly message: AssistantMessage;
}

/** A request for the next message of a conversation. */
export interface CapturedContext {
  readonly context: ChatContext;
  readonly conversation: Conversation;
  /** The key of its messages. */
  readonly key: string;
}

/**
 * The conversations of one episode of an agent by someone else, as one tree of contexts. The agent sends messages; a conversation that
 * begins with a sampled message's is continued behind the very ids that were sampled. What it forks, compacts or begins is a branch
 * from where its ids part.
 */
export class CapturedHistories {
  readonly #chat: Chat;
  readonly #prompts = new Map<string, CapturedContext>();
  readonly #said = new Map<string, Said & { readonly conversation: Conversation; isContinued: boolean }>();
  readonly #conversations = new Conversations();

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** Finds the context of the next message. @throws ModelError if the chat template refuses the messages */
  contextOf(request: ConversationRequest): CapturedContext {
    const { messages } = request;
    const tools = shownTools(request);
    const own = messages.map(keyOf);
    let key = "";
    const keys = [key, ...own.map((next) => (key = `${key}\n${next}`))];
    const shown = toolsKey(tools);
    const known = this.#prompts.get(`${key}\n${shown}`);
    if (known !== undefined) {
      this.#conversations.ask(request, true);
      return known;
    }
    const saidUpTo = (n: number) => this.#said.get(present(keys[n], "a key"));
    const count = longest(messages.length - 1, (n) => saidUpTo(n) !== undefined);
    const said = saidUpTo(count);
    const answers = messages.slice(count).map((answer) => (said === undefined ? answer : withoutMadeId(answer, said.message)));
    const context =
      said === undefined
        ? this.#opened(messages, tools)
        : this.#chat.extend(said.context, said.action, said.message, answers, tools);
    this.#conversations.ask(request, said?.isContinued === true);
    if (said !== undefined) said.isContinued = true;
    const found = { key, context, conversation: said?.conversation ?? this.#conversations.begin(request, own, shown) };
    this.#prompts.set(`${key}\n${shown}`, found);
    return found;
  }

  /** Keeps what was sampled, as the agent was given it. @param turn of the episode */
  keep({ context, conversation, key }: CapturedContext, said: Pick<Said, "action" | "message">, turn: number): void {
    this.#said.set(`${key}\n${keyOf(said.message)}`, { ...said, context, conversation, isContinued: false });
    this.#conversations.answer(conversation, turn, said.message.content);
  }

  /** Looks back at the whole episode. */
  captured(): Captured {
    return this.#conversations.captured();
  }

  /** Renders a conversation that continues no sampled message, as a branch of the one that begins most like it. */
  #opened(messages: readonly Message[], tools: readonly Tool[]): ChatContext {
    const opened = this.#chat.open(messages, tools);
    const branches = [...this.#said.values()].map(({ context, action }) => context.ids.extend(action));
    const shared = branches.map((branch) => commonPrefix(branch, opened.ids));
    const nearest = branches[shared.indexOf(Math.max(...shared))];
    return nearest === undefined ? opened : { ...opened, ids: nearest.branch(opened.ids.slice(), messages) };
  }
}

/** Ids of calls that the model did not write are made for the agent; the chat template makes its own. */
function withoutMadeId(answer: Message, { toolCalls = [] }: AssistantMessage): Message {
  if (answer.role !== "tool" || toolCalls.some(({ id }) => id !== undefined)) return answer;
  const { callId: _, ...rest } = answer;
  return rest;
}

/** Returns the largest number up to `most` of which something holds; 0 if there is none. */
function longest(most: number, holds: (count: number) => boolean): number {
  for (let count = most; count > 0; count--) if (holds(count)) return count;
  return 0;
}

function toolsKey(tools: readonly Tool[]): string {
  return JSON.stringify(tools.map(({ name, description, parameters }) => [name, description, parameters]));
}
