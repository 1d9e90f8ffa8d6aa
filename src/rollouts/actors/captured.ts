import type { Chat, ChatContext } from "../../chat/chat.ts";
import { commonPrefix } from "../../core/context.ts";
import type { AssistantMessage, Message, ToolCall } from "../../core/messages.ts";
import type { TokenId } from "../../core/trajectory.ts";
import type { Tool } from "../../tools/tool.ts";

/** A sampled message with the context that it was sampled in. */
interface Said {
  readonly context: ChatContext;
  readonly action: readonly TokenId[];
  readonly message: AssistantMessage;
}

/**
 * The conversations of one episode of an agent that somebody else wrote, as one tree of contexts. The agent sends messages; a conversation that
 * begins with a sampled message's is continued behind the very ids that were sampled. What it forks, compacts or begins is a branch
 * from where its ids part.
 */
export class CapturedHistories {
  readonly #chat: Chat;
  readonly #prompts = new Map<string, ChatContext>();
  readonly #said = new Map<string, Said>();

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** Returns the context of the next message. @throws ModelError if the chat template refuses the messages */
  contextOf(messages: readonly Message[], tools: readonly Tool[]): ChatContext {
    const keys = keysOf(messages);
    const prompt = promptKey(keys[messages.length], tools);
    const known = this.#prompts.get(prompt);
    if (known !== undefined) return known;
    const context = this.#continued(messages, keys, tools) ?? this.#opened(messages, tools);
    this.#prompts.set(prompt, context);
    return context;
  }

  /** Keeps what was sampled behind the messages, as the agent was given it. */
  keep(messages: readonly Message[], said: Said): void {
    this.#said.set(keysOf([...messages, said.message])[messages.length + 1], said);
  }

  /** Continues the longest conversation that ended in a sampled message; undefined if there is none. */
  #continued(messages: readonly Message[], keys: readonly string[], tools: readonly Tool[]): ChatContext | undefined {
    for (let count = messages.length - 1; count > 0; count--) {
      const said = this.#said.get(keys[count]);
      if (said === undefined) continue;
      const answers = messages.slice(count).map((answer) => withoutMadeId(answer, said.message));
      return this.#chat.extend(said.context, said.action, said.message, answers, tools);
    }
    return undefined;
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

/** Returns a key of the first n messages, for every n. Reasoning, which agents rarely send back, and ids of calls do not count. */
function keysOf(messages: readonly Message[]): string[] {
  const keys = [""];
  for (const message of messages) keys.push(`${keys[keys.length - 1]}\n${keyOf(message)}`);
  return keys;
}

function keyOf(message: Message): string {
  if (message.role === "tool") return JSON.stringify([message.role, message.name, message.content]);
  const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
  return JSON.stringify([message.role, message.content, ...calls.map((call) => [call.name, argumentsKey(call)])]);
}

/** Arguments by their values; those that could not be read by their text. */
function argumentsKey({ arguments: args, argumentsText: text = "" }: ToolCall): unknown {
  return Object.keys(args).length > 0 || /^\s*(?:\{\s*\})?\s*$/.test(text) ? sorted(args) : text.trim();
}

/** The value with the fields of objects in one order: agents may write them in another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function promptKey(key: string, tools: readonly Tool[]): string {
  return `${key}\n${JSON.stringify(tools.map(({ name, description, parameters }) => [name, description, parameters]))}`;
}
