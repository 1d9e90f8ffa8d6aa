import { type Random, randomStream } from "../../src/core/random.ts";
import { advantagesOf, type Batch, exactBatch, groupBatch, unitsOf } from "./batch.ts";
import { type Cell, idOf, singleTurn } from "./cell.ts";
import type { LabRules } from "./config.ts";
import { mutated, plainExamples, plainStarts, simpleExample, unitOf } from "./draw-examples.ts";
import type { Example, Worked } from "./example.ts";
import { reachTolerance } from "./experiment.ts";
import { optimum } from "./optimum.ts";
import { expectedReturn, type Layout, layoutOf, type Policy, uniformPolicy } from "./policy.ts";
import type { Problem, Size } from "./problem.ts";
import { update } from "./update.ts";

/** Smaller falls of J are not counted in the search: what is printed should be seen in a few digits. */
const visible = 1e-6;
const stallTrials = 60;
const stallUpdates = 150;
/** The search for a drop: random examples, then changes of the one that comes nearest to a drop, started afresh several times. */
const restarts = 2;
const randomTrials = 20;
const mutations = 60;

/** Fewest turns first, then fewest actions, contexts and tokens. */
const singleTurnSizes: readonly Size[] = [
  { turns: 1, tokens: 1, vocabulary: 2, contexts: 1 },
  { turns: 1, tokens: 1, vocabulary: 2, contexts: 2 },
  { turns: 1, tokens: 1, vocabulary: 3, contexts: 1 },
  { turns: 1, tokens: 1, vocabulary: 3, contexts: 2 },
  { turns: 1, tokens: 2, vocabulary: 2, contexts: 1 },
];
const severalTurnSizes: readonly Size[] = [
  { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 },
  { turns: 2, tokens: 1, vocabulary: 2, contexts: 2 },
  { turns: 2, tokens: 1, vocabulary: 3, contexts: 1 },
  { turns: 2, tokens: 2, vocabulary: 2, contexts: 1 },
  { turns: 3, tokens: 1, vocabulary: 2, contexts: 1 },
];

/**
 * Looks for the smallest problem with small whole rewards and simple probabilities where an update lowers J ("drop"), or where updates come to
 * rest short of J* ("stall"); then makes its numbers as simple as they can be while it still holds. Random, from a stream of the cell's id.
 * @param effort how many times as long to search as by default
 */
export function hunt(
  asker: Cell,
  rules: LabRules,
  seed: number,
  kind: Worked["kind"],
  turns: "one" | "several",
  effort = 1,
): Worked | undefined {
  const cell = huntedAs(asker);
  for (const size of turns === "one" ? singleTurnSizes : severalTurnSizes) {
    const reduced = size.turns === 1 ? singleTurn(cell) : cell;
    const layout = layoutOf(size, cell.sees);
    const random = randomStream(seed, "lab", "hunt", kind, idOf(reduced), ...Object.values(size));
    const found = kind === "drop" ? dropsOf(reduced, layout, rules, effort, random) : stallsOf(reduced, layout, rules, random);
    const [simplest] = found.sort((a, b) => complexity(reduced, a) - complexity(reduced, b));
    if (simplest === undefined) continue;
    const simplified = simplify(reduced, rules, simplest);
    return { ...simplified, best: simplified.best, trajectories: simplified.trajectories };
  }
  return undefined;
}

/** The environment says nothing in the searched problems, so that a turn that sees the last answer sees its index. */
export function huntedAs(cell: Cell): Cell {
  return cell.sees === "last-answer" ? { ...cell, sees: "index" } : cell;
}

function dropsOf(cell: Cell, layout: Layout, rules: LabRules, effort: number, random: Random): Worked[] {
  const found = plainExamples(cell, layout, rules, random)
    .map((example) => work(cell, rules, "drop", example))
    .filter(isShown);
  if (found.length > 0) return found;
  for (let restart = 0; restart < restarts * effort; restart++) {
    let lowest: Worked | undefined;
    const consider = (example: Example) => {
      const worked = work(cell, rules, "drop", example);
      if (isShown(worked)) found.push(worked);
      if (lowest === undefined || rise(worked) < rise(lowest)) lowest = worked;
    };
    for (let trial = 0; trial < randomTrials; trial++) consider(simpleExample(cell, layout, rules, restart + trial, random));
    for (let trial = 0; trial < mutations && lowest !== undefined; trial++)
      consider(mutated(cell, layout, rules, lowest, random));
  }
  return found;
}

/** How far from a drop, in units of the largest reward. What does not move at all leads nowhere. */
function rise({ before, after, rewards, policy, policyAfter }: Worked): number {
  const moved = policy.some((p, i) => Math.abs(p - policyAfter[i]) > 1e-9);
  return moved ? (after - before) / Math.max(0.1, ...rewards) : Infinity;
}

function stallsOf(cell: Cell, layout: Layout, rules: LabRules, random: Random): Worked[] {
  const stalls = (examples: readonly Example[]) =>
    examples.map((example) => holds(cell, rules, "stall", example)).filter((worked) => worked !== undefined);
  const plain = stalls(plainStarts(cell, layout, rules, random));
  if (plain.length > 0) return plain;
  return stalls(Array.from({ length: stallTrials }, (_, trial) => simpleExample(cell, layout, rules, trial, random)));
}

/** The example with its numbers if it shows what it should. */
export function holds(cell: Cell, rules: LabRules, kind: Worked["kind"], example: Example): Worked | undefined {
  const worked = work(cell, rules, kind, example);
  return isShown(worked) ? worked : undefined;
}

function isShown(worked: Worked): boolean {
  const { kind, before, after, updates, rewards } = worked;
  if (kind === "drop") return before - after > visible;
  return updates > 0 && updates < stallUpdates && worked.best - after > 5 * reachTolerance * Math.max(...rewards);
}

/** Makes the update of an example, or for a stall updates until nothing moves. */
export function work(cell: Cell, rules: LabRules, kind: Worked["kind"], example: Example): Worked {
  const { size, turnUpdates, group } = example;
  const layout = layoutOf(size, cell.sees);
  const problem: Problem = {
    size,
    means: Float64Array.from(example.rewards),
    spreads: new Float64Array(example.rewards.length),
  };
  const start = Float64Array.from(example.policy);
  const batchOf = (policy: Policy): Batch =>
    group === undefined ? exactBatch(problem, layout, policy) : groupBatch(problem, layout, group.length / size.contexts, group);
  const first = batchOf(start);
  let policy = start;
  let updates = 0;
  const most = kind === "drop" ? 1 : stallUpdates;
  while (updates < most) {
    const next = update(cell, problem, layout, policy, batchOf(policy), turnUpdates, rules);
    const rest = policy.every((p, i) => Math.abs(p - next[i]) < 1e-13);
    if (rest) break;
    policy = next;
    updates++;
  }
  let best: number | undefined;
  return {
    ...example,
    kind,
    before: expectedReturn(problem, layout, start),
    after: expectedReturn(problem, layout, policy),
    // Only when asked: both take longer than the update, and the search makes thousands.
    get best() {
      best ??= optimum(problem, cell.sees);
      return best;
    },
    get trajectories() {
      return trajectoriesOf(cell, problem, layout, start, first);
    },
    policyAfter: [...policy],
    updates,
  };
}

function trajectoriesOf(cell: Cell, problem: Problem, layout: Layout, start: Policy, batch: Batch): Worked["trajectories"] {
  const advantages = advantagesOf(cell, problem, layout, start, batch);
  const units = unitsOf(cell.level, layout);
  return Array.from({ length: batch.count }, (_, i) => ({
    context: batch.contexts[i],
    leaf: batch.leaves[i],
    weight: batch.weights[i],
    reward: batch.rewards[i],
    advantages: [...advantages.subarray(i * units, (i + 1) * units)],
  }));
}

/** How much a person has to read: sizes of rewards, tables that are not uniform, members of groups; a fall that is hard to see counts too. */
function complexity(cell: Cell, { rewards, policy, size, group, before, after, kind }: Worked): number {
  let tables = 0;
  for (let i = 0; i < policy.length; i += size.vocabulary)
    if (policy.slice(i, i + size.vocabulary).some((p) => Math.abs(p - 1 / size.vocabulary) > 1e-9)) tables++;
  const unseen = kind === "drop" && before - after < 0.01 * unitOf(cell) ? 10 : 0;
  return rewards.reduce((sum, reward) => sum + Math.abs(reward), 0) / unitOf(cell) + 2 * tables + (group?.length ?? 0) + unseen;
}

/** Tries every single simplification, again and again, until none leaves the example standing. */
function simplify(cell: Cell, rules: LabRules, worked: Worked): Worked {
  let current = worked;
  for (let round = 0; round < 20; round++) {
    const simpler = simplifications(current, cell)
      .map((candidate) => holds(cell, rules, worked.kind, candidate))
      .find((candidate) => candidate !== undefined && complexity(cell, candidate) < complexity(cell, current));
    if (simpler === undefined) return current;
    current = simpler;
  }
  return current;
}

function simplifications({ size, rewards, policy, turnUpdates, group }: Worked, cell: Cell): Example[] {
  const base = { size, rewards, policy, turnUpdates, group };
  const fewerRewards = rewards.flatMap((reward, i) =>
    [0, 1, reward - 1]
      .filter((value) => Math.abs(value) < Math.abs(reward))
      .map((value) => ({ ...base, rewards: rewards.with(i, value) })),
  );
  const uniform = [...uniformPolicy(layoutOf(size, cell.sees))];
  const simplerTables = policy.flatMap((_, i) =>
    i % size.vocabulary === 0
      ? [
          {
            ...base,
            policy: policy.map((p, j) => (j >= i && j < i + size.vocabulary ? uniform[j] : p)),
          },
        ]
      : [],
  );
  return [...fewerRewards, ...simplerTables];
}
