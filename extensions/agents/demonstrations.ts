import { keyOf } from "../../src/core/message-key.ts";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { present } from "../../src/core/present.ts";
import { withoutSecrets } from "../../src/core/secrets.ts";
import type { Tool } from "../../src/tools/tool.ts";
import { parametersAsJsonSchema } from "../../src/tools/tool.ts";

/** A request of an agent, and what the model said. */
export interface Exchange {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
  readonly answer: AssistantMessage;
  /** True if a limit of tokens ended it. */
  readonly isCut: boolean;
}

type Json = Record<string, unknown>;

/** A conversation in the OpenAI chat format, as `sft --data` reads it. */
export interface DemonstrationRow {
  readonly messages: Json[];
  readonly tools: Json[];
}

/**
 * The conversations of an episode: each that no later request continues with the same tools, whole. An answer is learned once, in the first
 * conversation that has it and shows its tools; one that a limit cut off is not learned, and neither is what the agent puts into the assistant's mouth.
 *
 *   requests      s u | s u a r | s u' | t v          (a, …: answers; the second continues the first)
 *   conversations s u a r b,  s u' c,  t v d
 */
export function conversationsOf(exchanges: readonly Exchange[]): DemonstrationRow[] {
  const said = new Map<string, Exchange>();
  const answers = new Map<string, AssistantMessage>();
  const continued = new Set<string>();
  const shown = ({ tools }: Exchange) => JSON.stringify(tools.map(toolOf));
  const keysOf = ({ messages, answer }: Exchange) => {
    let key = "";
    return [...messages, answer].map((message) => (key = `${key}\n${keyOf(message)}`));
  };
  for (const exchange of exchanges) {
    const spoken = keysOf(exchange);
    const tools = shown(exchange);
    const keys = spoken.map((key) => tools + key);
    const last = exchange.messages.length;
    for (const key of keys.slice(0, last)) continued.add(key);
    answers.set(present(spoken[last], "a key"), exchange.answer);
    said.set(present(keys[last], "a key"), exchange);
  }
  const learned = new Set<string>();
  return [...said].flatMap(([end, last]) => {
    if (continued.has(end)) return [];
    const keys = keysOf(last);
    const tools = shown(last);
    const messages = [...last.messages, last.answer].map((message, i): Json => {
      if (message.role !== "assistant") return wireOf(message);
      const key = tools + keys[i];
      const isLearned = said.get(key)?.isCut === false && !learned.has(key);
      learned.add(key);
      const { reasoning } = answers.get(present(keys[i], "a key")) ?? message;
      return { ...assistantOf(message, reasoning), ...(isLearned ? {} : { weight: 0 }) };
    });
    return [{ messages, tools: last.tools.map(toolOf) }];
  });
}

/** True if a conversation teaches anything. */
export function teaches({ messages }: DemonstrationRow): boolean {
  return messages.some((message) => "role" in message && message.role === "assistant" && !("weight" in message));
}

function wireOf(message: Exclude<Message, AssistantMessage>): Json {
  if (message.role !== "tool") return { role: message.role, content: message.content };
  const { role, name, callId, content } = message;
  return { role, name, tool_call_id: callId, content };
}

function assistantOf({ role, content, toolCalls = [] }: AssistantMessage, reasoning: string | undefined): Json {
  return {
    ...{ role, content, reasoning_content: reasoning },
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls.map(callOf) }),
  };
}

function callOf({ id, name, arguments: args, argumentsText }: ToolCall): Json {
  const called = { name, arguments: argumentsText ?? JSON.stringify(args) };
  return { id, type: "function", function: called };
}

function toolOf(tool: Tool): Json {
  const { name, description } = tool;
  return { type: "function", function: { name, description, parameters: parametersAsJsonSchema(tool) } };
}

/** Shorter ones are words that a text may have by itself. */
const shortestKey = 8;

/** A row in which no text has a password or a key of an address, or one of the keys. */
export function masked<T>(value: T, keys: readonly string[]): T {
  const text = (given: string) =>
    keys.filter((key) => key.length >= shortestKey).reduce((rest, key) => rest.replaceAll(key, "[key]"), withoutSecrets(given));
  const inside = (each: unknown): unknown => {
    if (typeof each === "string") return text(each);
    if (Array.isArray(each)) return each.map(inside);
    if (typeof each !== "object" || each === null) return each;
    return Object.fromEntries(Object.entries(each).map(([name, inner]) => [name, inside(inner)]));
  };
  return inside(value) as T;
}
