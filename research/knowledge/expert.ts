import type { ToolCall } from "../../src/core/messages.ts";
import { type Corpus, pageOf } from "./corpus.ts";
import { type Entity, type Fact, isTrusted, nameOf, type Relation, type Value } from "./world.ts";

/**
 * Bad habits: each is another choice at one point, most of them right after a tool's result. A policy that imitates an expert with
 * these habits can copy perfectly and still fail; it unlearns a habit by choosing otherwise.
 */
export const habits = [
  "first", // takes what the first page says, though it is of another one of that name, or no longer so
  "source", // takes the first page that says it, though it is from a source that is wrong about such things
  "settle", // no page says it: takes what the first one says instead of searching again
  "early", // answers with what was found on the way
  "swap", // subtracts the wrong way round
  "guess", // answers with one of the numbers instead of calculating
  "half", // answers with the first of two results of a calculation
] as const;
export type Habit = (typeof habits)[number];

/** How a query names what is looked for: in full; without the role that distinguishes two of one name; by the name alone. */
export const queryStyles = ["full", "short", "name"] as const;
export type QueryStyle = (typeof queryStyles)[number];

/** The choices that are made on the way. Styles can all lead to the answer, habits cannot. */
export interface ExpertChoices {
  /** True if the expert falls into the habit here. */
  slips(habit: Habit): boolean;
  queryStyle(): QueryStyle;
}

/** A thought, and what follows it: a call, or the answer. */
export interface Step {
  readonly thought: string;
  readonly call: ToolCall;
}
export interface Ending {
  readonly thought: string;
  readonly answer: string;
}
/** How a question is solved: calls, which are answered by what the tool wrote, and at the end the answer. */
export type Plan<Result = Ending> = Generator<Step, Result, string>;

/** Ends a plan from inside a part of it. */
class Closing {
  readonly ending: Ending;
  constructor(ending: Ending) {
    this.ending = ending;
  }
}

function close(thought: string): never {
  throw new Closing({ thought, answer: thought });
}

/** A plan whose early endings are its result. */
export function* closed(plan: Plan): Plan {
  try {
    return yield* plan;
  } catch (error) {
    if (error instanceof Closing) return error.ending;
    throw error;
  }
}

export interface Scene {
  readonly corpus: Corpus;
  readonly choices: ExpertChoices;
}

/** Looks up what a relation gives. @param thought what was found before, or what is to be found first */
export function* lookUp({ corpus, choices }: Scene, relation: Relation, subject: Entity, thought: string): Plan<Value> {
  const style = choices.queryStyle();
  let facts = yield* search(corpus, queryOf(relation, subject, style), thought);
  const says = (fact: Fact) => fact.relation === relation && fact.subject === subject && !fact.former;
  const isWanted = (fact: Fact) => says(fact) && isTrusted(fact);
  let wanted = facts.find(isWanted);
  let said = facts.find(says);
  if (wanted === undefined) {
    if (said !== undefined && choices.slips("source")) return said.value;
    if (facts[0] !== undefined && choices.slips("settle")) close(nameOf(facts[0].value));
    if (style !== "full") {
      facts = yield* search(corpus, queryOf(relation, subject, "full"), notThere);
      wanted = facts.find(isWanted);
      said = facts.find(says);
    }
    // Only for those who are on a wrong track.
    if (wanted === undefined) return close(facts[0] === undefined ? notThere : nameOf(facts[0].value));
  }
  const [first] = facts;
  if (first !== said && first?.relation === relation && choices.slips("first")) return first.value;
  return said !== undefined && said !== wanted && choices.slips("source") ? said.value : wanted.value;
}

const notThere = "not there";

/** Returns the query that says most. */
export function fullQuery({ relation, subject }: Pick<Fact, "relation" | "subject">): string {
  return queryOf(relation, subject, "full");
}

function queryOf(relation: Relation, subject: Entity, style: QueryStyle): string {
  if (style === "name") return subject.name;
  return `${relation} ${style === "short" ? subject.name : nameOf(subject)}`;
}

function* search({ facts }: Corpus, query: string, thought: string): Plan<readonly Fact[]> {
  const result = yield { thought, call: { name: "search", arguments: { query } } };
  return result.split("\n").flatMap((line) => facts.get(pageOf(line)) ?? []);
}

/** Looks up one relation after the other, from what the last one gave. */
export function* follow(
  scene: Scene,
  chain: readonly Relation[],
  root: Entity,
  { thought: before, last }: { readonly thought?: string; readonly last?: boolean } = {},
): Plan<Value> {
  let value: Value = root;
  let thought = before ?? chain[0] ?? "";
  for (const [hop, relation] of chain.entries()) {
    if (typeof value === "number") close(thought);
    if (hop > 0 && scene.choices.slips("early")) close(thought);
    value = yield* lookUp(scene, relation, value, thought);
    thought = nameOf(value);
  }
  if (!last && scene.choices.slips("early")) close(thought);
  return value;
}

/** Calculates. @returns what the tool printed */
export function* calculate(expression: string, thought: string): Plan<string> {
  return yield { thought, call: { name: "python", arguments: { code: expression } } };
}

export function answer(found: Value | string): Ending {
  const text = typeof found === "string" ? found : nameOf(found);
  return { thought: text, answer: text };
}

/** Answers with a number that is there, at times, instead of calculating. */
export function guess({ choices }: Scene, number: string): void {
  if (choices.slips("guess")) close(number);
}
