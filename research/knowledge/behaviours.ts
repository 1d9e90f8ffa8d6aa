import type { Message } from "../../src/core/messages.ts";
import type { BehaviourCount } from "../../src/core/trajectory.ts";
import { pageOf } from "./corpus.ts";
import type { Habit } from "./expert.ts";
import type { KnowledgeTask } from "./task.ts";
import { type Fact, isTrusted, nameOf } from "./world.ts";

/** Each behaviour that this world asks for, with the bad habit that leaves it out. */
export const behaviours = {
  "finds the page about the right one": "first",
  "goes by the source that is right": "source",
  "searches until a page says it": "settle",
  "follows the chain to its end": "early",
  "calculates with the tool": "guess",
  "takes the second step": "half",
  "subtracts the right way round": "swap",
} as const satisfies Record<string, Habit>;
export type Behaviour = keyof typeof behaviours;

/** How often each behaviour was called for, judged by what the assistant had seen, and how often it was done. */
export function countBehaviours(
  task: KnowledgeTask,
  conversation: readonly Message[],
): Partial<Record<Behaviour, BehaviourCount>> {
  const counts: Partial<Record<Behaviour, BehaviourCount>> = {};
  for (const [behaviour, isDone] of [...afterSearches(task, conversation), ...ofTheWhole(task, conversation)]) {
    const { done, called } = counts[behaviour] ?? { done: 0, called: 0 };
    counts[behaviour] = { done: done + Number(isDone), called: called + 1 };
  }
  return counts;
}

/** The choices after results of searches. A thought says what was taken from a result. */
function afterSearches({ needs, corpus }: KnowledgeTask, conversation: readonly Message[]): [Behaviour, boolean][] {
  const all: [Behaviour, boolean][] = [];
  const known = new Set<Fact>();
  for (const [i, message] of conversation.entries()) {
    if (message.role !== "tool" || message.name !== "search") continue;
    const query = textIn(conversation[i - 1], "search");
    const need = needs.find(
      (fact) =>
        !known.has(fact) && query.includes(fact.subject.name) && (query.includes(fact.relation) || !/ [a-z]+|^[a-z]/.test(query)),
    );
    const next = conversation[i + 1];
    if (need === undefined || next === undefined) continue;
    const thought = textIn(next, "think");
    const isTaken = thought === nameOf(need.value);
    if (isTaken) known.add(need);
    const facts = message.content.split("\n").flatMap((line) => corpus.facts.get(pageOf(line)) ?? []);
    const says = (fact: Fact) => fact.relation === need.relation && fact.subject === need.subject && !fact.former;
    if (!facts.some((fact) => says(fact) && isTrusted(fact))) {
      all.push(["searches until a page says it", textIn(next, "search") !== ""]);
      continue;
    }
    const [first] = facts;
    if (first?.relation === need.relation && !says(first)) all.push(["finds the page about the right one", isTaken]);
    if (facts.some((fact) => says(fact) && !isTrusted(fact))) all.push(["goes by the source that is right", isTaken]);
  }
  return all;
}

function ofTheWhole({ kind, needs }: KnowledgeTask, conversation: readonly Message[]): [Behaviour, boolean][] {
  const all: [Behaviour, boolean][] = [];
  const queries = conversation.map((message) => textIn(message, "search")).filter((query) => query !== "");
  const expressions = conversation.map((message) => textIn(message, "python")).filter((expression) => expression !== "");
  if (needs.length > 1) {
    const searched = needs.filter(({ subject }) => queries.some((query) => query.includes(subject.name)));
    all.push(["follows the chain to its end", searched.length === needs.length]);
  }
  if (!/hops|fact/.test(kind)) all.push(["calculates with the tool", expressions.length > 0]);
  if (kind === "steps" && expressions.length > 0) all.push(["takes the second step", expressions.length > 1]);
  const difference = expressions.map((expression) => /^(\d+) - (\d+)$/.exec(expression)).findLast((match) => match !== null);
  if (kind.endsWith("more") && difference)
    all.push(["subtracts the right way round", Number(difference[1]) === needs[needs.length / 2 - 1]?.value]);
  return all;
}

/** The text between a pair of tags of an assistant's message; "" where it has none. */
export function textIn(message: Message | undefined, tag: "think" | "search" | "python"): string {
  if (message?.role !== "assistant") return "";
  return new RegExp(`<${tag}> ?(.*?) ?</${tag}>`, "s").exec(message.content)?.[1] ?? "";
}
