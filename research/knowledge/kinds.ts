import type { Random } from "../../src/core/random.ts";
import { evaluate } from "./calculator.ts";
import { answer, calculate, follow, guess, type Plan, type Scene } from "./expert.ts";
import {
  type Entity,
  type Fact,
  factOf,
  inSentence,
  nameOf,
  type Relation,
  relationNames,
  relations,
  type Value,
  type World,
} from "./world.ts";

/** A question in all its details. */
export interface Draft {
  readonly text: string;
  /** The facts that its answer needs, in the order in which they are looked up. */
  readonly needs: readonly Fact[];
  readonly answer: Value;
  solve(scene: Scene): Plan;
}

/** One kind of question. */
export interface Kind {
  readonly domain: "knowledge" | "calculation" | "mixed";
  /** Relations that follow each other. */
  readonly hops: number;
  /** How often it is asked, beside the others. Default 1. */
  readonly weight?: number;
  /** Draws one; undefined where the dice fell so that there is none. */
  draw(world: World, random: Random): Draft | undefined;
}

/** Every kind of question, by name. */
export const kinds = {
  fact: chainKind(1),
  two_hops: chainKind(2),
  three_hops: chainKind(3),
  calculate: { domain: "calculation", hops: 0, draw: (world, random) => drawStory(world, random, oneStep) },
  steps: { domain: "calculation", hops: 0, weight: 2, draw: (world, random) => drawStory(world, random, twoSteps) },
  more: { domain: "mixed", hops: 1, weight: 1.6, draw: (world, random) => drawMore(world, random, 1) },
  total: { domain: "mixed", hops: 1, draw: drawTotal },
  times: { domain: "mixed", hops: 1, draw: (world, random) => drawTimes(world, random, 1) },
  // The default world ends here.
  four_hops: chainKind(4),
  chained_more: { domain: "mixed", hops: 2, draw: (world, random) => drawMore(world, random, 2) },
  chained_times: { domain: "mixed", hops: 2, draw: (world, random) => drawTimes(world, random, 2) },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as [KindName, ...KindName[]];
export const kindOf = (name: KindName): Kind => kinds[name];

/** Draws a kind, each as often as its weight says. */
export function drawKind(random: Random, names: readonly KindName[]): KindName {
  const weight = (name: KindName) => kindOf(name).weight ?? 1;
  let left = random.uniform() * names.reduce((sum, name) => sum + weight(name), 0);
  return names.find((name) => (left -= weight(name)) < 0) ?? (names[0] as KindName);
}

/**
 * Pairs that are kept for the challenge split: there, every question looks one of them up right after the other; elsewhere none does.
 * Every relation is the first and the second of some other pair outside of it.
 */
const heldOut: { readonly [R in Relation]?: Relation } = {
  home: "population",
  capital: "mayor",
  seat: "area",
  employer: "product",
  maker: "boss",
  boss: "age",
  mayor: "employer",
};

function isHeldOut(facts: readonly Fact[]): boolean {
  return facts.some(({ relation, value }, i) => facts[i + 1]?.subject === value && heldOut[relation] === facts[i + 1]?.relation);
}

/** True if a question of this kind can be one of the challenge split. */
export function canBeHeldOut(name: KindName): boolean {
  return kindOf(name).hops > 1;
}

/** Draws a question of the kind, one with a held out pair or without. */
export function drawQuestion(name: KindName, world: World, random: Random, unseen: boolean): Draft | undefined {
  const draft = kindOf(name).draw(world, random);
  return draft !== undefined && isHeldOut(draft.needs) === unseen ? draft : undefined;
}

function chainKind(hops: number): Kind {
  return {
    domain: "knowledge",
    hops,
    draw(world, random) {
      const chain = drawChain(world, random, hops);
      const value = chain?.facts.at(-1)?.value;
      if (chain === undefined || value === undefined) return undefined;
      const ask = random.pick([
        typeof value !== "number" && value.sort === "person" ? "Who is" : "What is",
        "Tell me",
        "Find out",
      ]);
      return {
        text: `${ask} ${chain.words}${ask.endsWith("is") ? "?" : "."}`,
        needs: chain.facts,
        answer: value,
        *solve(scene) {
          return answer(yield* follow(scene, chain.relations, chain.root, { last: true }));
        },
      };
    },
  };
}

interface Chain {
  readonly root: Entity;
  readonly relations: readonly Relation[];
  readonly facts: readonly Fact[];
  /** "the mayor of the capital of Orvia" */
  readonly words: string;
}

/** A way through the world that comes to nobody and nothing twice. @param to what it must end with */
function drawChain(world: World, random: Random, hops: number, to: readonly Relation[] = relationNames): Chain | undefined {
  const root = random.pick(world.entities);
  const path: Fact[] = [];
  const seen: Value[] = [root];
  while (path.length < hops) {
    const at = seen[seen.length - 1];
    if (at === undefined || typeof at === "number") return undefined;
    const isLast = path.length === hops - 1;
    const ways = relationNames.filter(
      (relation) =>
        relations[relation].of === at.sort && (isLast ? to.includes(relation) : relations[relation].gives !== "number"),
    );
    if (ways.length === 0) return undefined;
    const fact = factOf(world, random.pick(ways), at);
    if (seen.includes(fact.value)) return undefined;
    path.push(fact);
    seen.push(fact.value);
  }
  const names = path.map(({ relation }) => relation);
  const words = names.reduce((inner, relation) => `the ${relation} of ${inner}`, inSentence(root));
  return { root, relations: names, facts: path, words };
}

const numeric = relationNames.filter((relation) => relations[relation].gives === "number");

/** Two chains that end with the same kind of number, in any order. */
function drawPair(world: World, random: Random, hops: number): [Chain, Chain] | undefined {
  const relation = random.pick(numeric);
  const [a, b] = [drawChain(world, random, hops, [relation]), drawChain(world, random, hops, [relation])];
  if (a === undefined || b === undefined) return undefined;
  return numberOf(a) === numberOf(b) ? undefined : [a, b];
}

function numberOf({ facts }: Chain): number {
  return Number(facts.at(-1)?.value);
}

function drawMore(world: World, random: Random, hops: number): Draft | undefined {
  const pair = drawPair(world, random, hops);
  if (pair === undefined) return undefined;
  // As often below zero as above: "larger minus smaller" is no rule.
  const [more, less] = pair;
  return {
    text: random
      .pick(["How much more is {a} than {b}?", "By how much is {a} above {b}?", "How far is {a} above {b}?"])
      .replace("{a}", more.words)
      .replace("{b}", less.words),
    needs: [...more.facts, ...less.facts],
    answer: numberOf(more) - numberOf(less),
    *solve(scene) {
      const a = nameOf(yield* follow(scene, more.relations, more.root));
      const b = nameOf(yield* follow(scene, less.relations, less.root, { thought: a, last: true }));
      guess(scene, b);
      return answer(yield* calculate(scene.choices.slips("swap") ? `${b} - ${a}` : `${a} - ${b}`, b));
    },
  };
}

function drawTotal(world: World, random: Random): Draft | undefined {
  const pair = drawPair(world, random, 1);
  if (pair === undefined) return undefined;
  const [one, other] = pair;
  return {
    text: random
      .pick(["What are {a} and {b} together?", "Add {a} to {b}.", "What is the sum of {a} and {b}?"])
      .replace("{a}", one.words)
      .replace("{b}", other.words),
    needs: [...one.facts, ...other.facts],
    answer: numberOf(one) + numberOf(other),
    *solve(scene) {
      const a = nameOf(yield* follow(scene, one.relations, one.root));
      const b = nameOf(yield* follow(scene, other.relations, other.root, { thought: a, last: true }));
      guess(scene, b);
      return answer(yield* calculate(`${a} + ${b}`, b));
    },
  };
}

function drawTimes(world: World, random: Random, hops: number): Draft | undefined {
  const chain = drawChain(world, random, hops, ["price", "age"]);
  if (chain === undefined) return undefined;
  const count = 11 + random.integer(89);
  return {
    text: random
      .pick(["What is {n} times {a}?", "Multiply {a} by {n}.", "How much is {n} times {a}?"])
      .replace("{a}", chain.words)
      .replace("{n}", String(count)),
    needs: chain.facts,
    answer: count * numberOf(chain),
    *solve(scene) {
      const number = nameOf(yield* follow(scene, chain.relations, chain.root, { last: true }));
      guess(scene, number);
      return answer(yield* calculate(`${count} * ${number}`, number));
    },
  };
}

/** A story with numbers: what is calculated, the last step with the result `{half}` of the one before it. */
interface Story {
  readonly text: string;
  readonly steps: readonly string[];
  /** From, and up to. */
  readonly numbers: Readonly<Record<string, readonly [number, number]>>;
}

const two = [11, 99] as const;

const oneStep: readonly Story[] = [
  { text: "How many coins has {who} with {a} coins and {b} more?", steps: ["{a} + {b}"], numbers: { a: two, b: two } },
  { text: "How many of {a} coins are left when {who} spends {b}?", steps: ["{a} - {b}"], numbers: { a: [1000, 9999], b: two } },
  { text: "How much does {who} pay for {a} cups at {b} coins each?", steps: ["{a} * {b}"], numbers: { a: two, b: two } },
  { text: "How many cups are in {a} boxes that hold {b} each?", steps: ["{a} * {b}"], numbers: { a: two, b: two } },
];

const twoSteps: readonly Story[] = [
  {
    text: "How many of {c} coins are left when {who} buys {a} cups at {b} coins each?",
    steps: ["{a} * {b}", "{c} - {half}"],
    numbers: { a: two, b: two, c: [9900, 9999] },
  },
  {
    text: "How many coins has {who} with {c} coins who sells {a} cups at {b} coins each?",
    steps: ["{a} * {b}", "{half} + {c}"],
    numbers: { a: two, b: two, c: two },
  },
  {
    text: "How much is left when {a} people pay {b} coins each and {who} takes {c} of it?",
    steps: ["{a} * {b}", "{half} - {c}"],
    numbers: { a: two, b: two, c: two },
  },
];

function drawStory({ entities }: World, random: Random, stories: readonly Story[]): Draft {
  const { text, steps, numbers } = random.pick(stories);
  const { name: who } = random.pick(entities.filter(({ sort }) => sort === "person"));
  const drawn = Object.entries(numbers).map(([key, [from, to]]) => [key, String(from + random.integer(to - from + 1))] as const);
  const words = new Map([...drawn, ["who", who] as const]);
  const fill = (template: string, half = "") => template.replace(/\{(\w+)\}/g, (_, key: string) => words.get(key) ?? half);
  return {
    text: fill(text),
    needs: [],
    answer: Number(steps.reduce((half, step) => evaluate(fill(step, half)), "")),
    *solve(scene) {
      guess(scene, words.get("a") ?? "");
      let half = "";
      for (const [i, step] of steps.entries()) {
        if (i > 0 && scene.choices.slips("half")) break;
        half = yield* calculate(fill(step, half), i === 0 ? "calculate" : half);
      }
      return answer(half);
    },
  };
}
