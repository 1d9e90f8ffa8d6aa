import type { Chat } from "../../src/chat/chat.ts";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import type { Engine } from "../../src/engines/engine.ts";
import type { Episode, Performance } from "../../src/environments/environment.ts";
import { encodeDemonstration } from "../../src/rollouts/demonstration.ts";

/** How well a model copies in one place of what it writes. */
export interface Copying {
  /** "pay.id", or "words" for what is said to the user. */
  readonly place: string;
  readonly values: number;
  /** Share of the values that the model writes at temperature 0, given the expert's text before each. */
  readonly copied: number;
}

interface CopiedValue {
  readonly place: string;
  /** Its first and last but one character in the action's text. */
  readonly start: number;
  readonly end: number;
}

/**
 * Measures copying in the expert's episodes: a value that occurs earlier in the conversation counts as copied where the model gives all of its tokens
 * together more than one half.
 * @param performances of the expert, each with what its episode begins with
 */
export async function measureCopying(
  engine: Pick<Engine, "logprobs">,
  chat: Chat,
  performances: readonly (Performance & Pick<Episode, "tools"> & { readonly opening: Episode["messages"] })[],
): Promise<Copying[]> {
  const places = new Map<string, { values: number; copied: number }>();
  for (const [i, { messages: own, protocol, tools, opening }] of performances.entries()) {
    const messages = own[0]?.role === "assistant" ? [...opening, ...own] : own; // an expert may leave out what it was asked
    const samples = encodeDemonstration(chat, String(i), messages, tools, protocol);
    const logprobs = await engine.logprobs(samples, { temperature: 1 });
    const indices = messages.flatMap(({ role }, at) => (role === "assistant" ? [at] : []));
    for (const [turn, at] of indices.entries()) {
      const [sample, sampled] = [samples[turn], logprobs[turn]];
      if (sample === undefined || sampled === undefined) break;
      const ends = tokenEnds(chat, sample);
      const text = chat.tokenizer.decode(sample.action);
      for (const { place, start, end } of copiedValues(messages, at, text)) {
        const isWithin = (t: number) => (ends[t] ?? 0) > start && (ends[t - 1] ?? 0) < end;
        const total = sampled.reduce((sum, logprob, t) => (isWithin(t) ? sum + logprob : sum), 0);
        const count = places.get(place) ?? { values: 0, copied: 0 };
        places.set(place, { values: count.values + 1, copied: count.copied + Number(Math.exp(total) > 0.5) });
      }
    }
  }
  return [...places]
    .map(([place, { values, copied }]) => ({ place, values, copied: copied / values }))
    .sort((a, b) => a.place.localeCompare(b.place, "en"));
}

/** For each token the number of characters up to its end. */
function tokenEnds({ tokenizer }: Chat, { action }: ActionInContext): number[] {
  return action.map((_, t) => tokenizer.decode(action.slice(0, t + 1)).length);
}

function copiedValues(messages: readonly Message[], at: number, text: string): CopiedValue[] {
  const before = messages
    .slice(0, at)
    .map(({ content }) => content)
    .join("\n");
  const { content, toolCalls = [] } = messages[at] as AssistantMessage;
  const found: CopiedValue[] = [];
  const add = (place: string, value: string, from: number) => {
    const start = text.indexOf(value, from);
    if (start >= 0 && occurs(before, value)) found.push({ place, start, end: start + value.length });
  };
  for (const { name, arguments: args } of toolCalls) {
    for (const [key, value] of Object.entries(args)) {
      const quoted = Math.max(0, text.indexOf(`"${key}":`));
      if (typeof value === "string" || typeof value === "number") add(`${name}.${key}`, String(value), quoted + key.length + 3);
    }
  }
  if (toolCalls.length > 0) return found;
  for (const { 0: value, index } of content.matchAll(/[A-Z][a-z]+(?: [A-Z][a-z]+)*|\d[\d:]+/g)) add("words", value, index);
  return found;
}

function occurs(text: string, value: string): boolean {
  return (
    value.length > 1 && new RegExp(`(?<![A-Za-z0-9])${value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![A-Za-z0-9])`).test(text)
  );
}
