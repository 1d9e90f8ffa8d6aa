import type { Message, ToolCall } from "./messages.ts";

/** Returns a key of a message. Reasoning, which agents rarely send back, and ids of calls do not count. */
export function keyOf(message: Message): string {
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
