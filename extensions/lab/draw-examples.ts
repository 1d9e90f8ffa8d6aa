import { isDeepStrictEqual } from "node:util";
import type { Random } from "../../src/core/random.ts";
import { sampledBatch } from "./batch.ts";
import type { Cell } from "./cell.ts";
import type { LabRules } from "./config.ts";
import type { Example } from "./example.ts";
import { knownExamples } from "./known-examples.ts";
import { type Layout, normalise, uniformPolicy } from "./policy.ts";
import { leavesOf, type Problem } from "./problem.ts";
import { turnUpdatesOf } from "./update.ts";

/** Before the search, all rewards of 0, 1 and 10 with uniform tables, where they are at most this many. */
const enumerable = 100;

/** Every problem with rewards of 0, 1 and 10 from uniform tables, where they are not too many; and the known examples of this size. */
export function plainExamples(cell: Cell, layout: Layout, rules: LabRules, random: Random): Example[] {
  const { size } = layout;
  const places = size.contexts * leavesOf(size);
  const unit = unitOf(cell);
  const policy = [...uniformPolicy(layout)];
  const codes = 3 ** places > enumerable ? 0 : 3 ** places;
  const plain = Array.from({ length: codes }, (_, code) => ({
    rewards: Array.from({ length: places }, (_, i) => [0, 1, 10][Math.floor(code / 3 ** i) % 3] * unit),
    policy,
  }));
  const known = knownExamples
    .filter((example) => example.sees === cell.sees && isDeepStrictEqual(example.size, size))
    .map(({ rewards, policy }) => ({ rewards: rewards.map((reward) => reward * unit), policy }));
  const orders = cell.order === "random" ? permutations(size.turns) : [turnUpdatesOf(cell.order, size.turns, random)];
  return [...plain, ...known].flatMap((example) =>
    orders.map((turnUpdates) => withGroup(cell, layout, rules, { size, ...example, turnUpdates, group: undefined }, random)),
  );
}

/** Every problem with rewards of 0, 1 and 2 from tables of which the first leans to one side: what comes to rest is not a saddle. */
export function plainStarts(cell: Cell, layout: Layout, rules: LabRules, random: Random): Example[] {
  const { size } = layout;
  const places = size.contexts * leavesOf(size);
  if (3 ** places > enumerable || size.vocabulary !== 2) return [];
  const policy = [...uniformPolicy(layout)].with(0, 0.25).with(1, 0.75);
  const turnUpdates = turnUpdatesOf(cell.order, size.turns, random);
  return Array.from({ length: 3 ** places }, (_, code) => {
    const rewards = Array.from({ length: places }, (_, i) => Math.floor(code / 3 ** i) % 3);
    return withGroup(cell, layout, rules, { size, rewards, policy, turnUpdates, group: undefined }, random);
  });
}

/** Every order of single turn updates. */
function permutations(turns: number): number[][][] {
  const of = (left: readonly number[]): number[][] =>
    left.length === 0 ? [[]] : left.flatMap((t) => of(left.filter((other) => other !== t)).map((rest) => [t, ...rest]));
  return of(Array.from({ length: turns }, (_, t) => t)).map((order) => order.map((t) => [t]));
}

const simpleRows: Readonly<Record<number, readonly (readonly number[])[]>> = {
  2: [
    [0.5, 0.5],
    [0.75, 0.25],
    [0.25, 0.75],
    [0.9, 0.1],
    [0.1, 0.9],
  ],
  3: [
    [1 / 3, 1 / 3, 1 / 3],
    [0.5, 0.25, 0.25],
    [0.25, 0.5, 0.25],
    [0.25, 0.25, 0.5],
    [0.8, 0.1, 0.1],
    [0.1, 0.8, 0.1],
    [0.1, 0.1, 0.8],
  ],
};

const simpleRewards: readonly (readonly number[])[] = [
  [0, 1],
  [0, 1, 2, 3],
  [0, 1, 10],
];

/** Small whole rewards and simple tables, at random. */
export function simpleExample(cell: Cell, layout: Layout, rules: LabRules, trial: number, random: Random): Example {
  const { size } = layout;
  const rows = simpleRows[size.vocabulary];
  const values = simpleRewards[trial % simpleRewards.length];
  const rewards = Array.from({ length: size.contexts * leavesOf(size) }, () => random.pick(values) * unitOf(cell));
  const policy = Array.from({ length: layout.rows }, () => (random.chance(0.3) ? rows[0] : random.pick(rows))).flat();
  const turnUpdates = turnUpdatesOf(cell.order, size.turns, random);
  return withGroup(cell, layout, rules, { size, rewards, policy, turnUpdates, group: undefined }, random);
}

/** Draws the example's group from its policy, of two members or of as many as the rules say. */
function withGroup(cell: Cell, layout: Layout, rules: LabRules, example: Example, random: Random): Example {
  if (cell.knows === "exact") return example;
  const { size, rewards } = example;
  const problem: Problem = { size, means: Float64Array.from(rewards), spreads: new Float64Array(rewards.length) };
  const policy = normalise(Float64Array.from(example.policy), size.vocabulary);
  const members = random.chance(0.5) ? 2 : rules.groupSize;
  return { ...example, group: [...sampledBatch(problem, layout, policy, members, random).leaves] };
}

/** Returns the example with one or two of its rewards or tables drawn again. */
export function mutated(
  cell: Cell,
  layout: Layout,
  rules: LabRules,
  { size, rewards, policy, turnUpdates }: Example,
  random: Random,
): Example {
  const rows = simpleRows[size.vocabulary];
  const next = { rewards: [...rewards], policy: [...policy] };
  for (let change = random.integer(2); change >= 0; change--) {
    if (random.chance(0.5)) next.rewards[random.integer(rewards.length)] = random.pick(mutationRewards) * unitOf(cell);
    else next.policy.splice(random.integer(layout.rows) * size.vocabulary, size.vocabulary, ...random.pick(rows));
  }
  return withGroup(cell, layout, rules, { size, ...next, turnUpdates, group: undefined }, random);
}

const mutationRewards = [0, 1, 2, 3, 5, 9, 10];

/** The maximiser does not care for the scale of rewards; gradient steps do, so theirs stay within 1, as in the random problems. */
export function unitOf({ optimise }: Cell): number {
  return optimise === "maximise" ? 1 : 0.1;
}
