import type { Message, ToolMessage } from "./messages.ts";
import { present } from "./present.ts";

/**
 * A conversation whose results of tools are in the order of the calls that they answer. Results of parallel calls come in the order in which they were
 * ready, and a template without ids shows them by position. A result belongs to the call with its id, or, without ids, to the one call of its
 * name; one of neither keeps its place.
 */
export function inCallOrder(messages: readonly Message[]): readonly Message[] {
  const ordered = [...messages];
  let calls: readonly { readonly id?: string; readonly name: string }[] = [];
  let places: number[] = [];
  const settle = () => {
    const known = places.flatMap((place) => {
      const at = placeOf(ordered[place] as ToolMessage, calls);
      return at === -1 ? [] : [{ place, at, message: ordered[place] as ToolMessage }];
    });
    const sorted = [...known].sort((a, b) => a.at - b.at);
    for (const [i, { place }] of known.entries()) ordered[place] = present(sorted[i], "a result").message;
    places = [];
  };
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") places.push(i);
    else if (message.role === "assistant") {
      const isAnswered = places.length > 0;
      settle();
      // Some clients write each of parallel calls as a message of its own.
      calls = [...(isAnswered ? [] : calls), ...(message.toolCalls ?? [])];
    }
  }
  settle();
  return ordered;
}

function placeOf({ callId, name }: ToolMessage, calls: readonly { readonly id?: string; readonly name: string }[]): number {
  const byId = callId === undefined ? -1 : calls.findIndex(({ id }) => id === callId);
  if (byId !== -1) return byId;
  const [first, ...more] = calls.flatMap((call, i) => (call.name === name ? [i] : []));
  return first === undefined || more.length > 0 ? -1 : first;
}

/** The text of a tool's result that is marked as failed, as the model reads it: the mark itself is in no chat template. */
export function failedResult(text: string): string {
  if (/^\s*\W*(?:error|exception|failed|failure|traceback)\b/i.test(text)) return text;
  return text.trim() === "" ? "Error" : `Error: ${text}`;
}
