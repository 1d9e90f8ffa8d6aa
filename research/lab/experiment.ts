import { type Random, randomStream } from "../../src/core/random.ts";
import { type Batch, exactBatch, sampledBatch } from "./batch.ts";
import { type Cell, idOf, singleTurn } from "./cell.ts";
import type { LabSettings } from "./config.ts";
import { optimum } from "./optimum.ts";
import { chancesFor, expectedReturn, type Layout, layoutOf, leafProbabilities, type Policy, randomPolicy } from "./policy.ts";
import { answersOf, drawProblem, type Problem, type Size } from "./problem.ts";
import { turnUpdatesOf, update } from "./update.ts";

/** J may fall by this without being called a drop: rewards are at most 1.5, and sums of at most some thousand terms are rounded. */
export const dropTolerance = 1e-9;
/** J* counts as reached when what is missing is at most this share of J* − the worst trajectory's reward. */
export const reachTolerance = 0.01;
/** Draws of a group at a problem's first policy, from which the expected change of J is estimated. */
const expectationDraws = 32;
/** Updates in a row without any movement, after which a policy that is updated in random order counts as at rest. */
const stillAtRandom = 4;

/**
 * Where a problem ended: within 1 % of J*; rising still; at rest, since the policy stopped moving; or on a plateau, where it moves and J hardly
 * does.
 */
export type Reach = "reached" | "rising" | "resting" | "plateau";

/** One problem, updated again and again. */
export interface Course {
  /** J before the first update and after each; a policy that has stopped moving is not updated further. */
  readonly returns: readonly number[];
  readonly best: number;
  readonly drops: number;
  readonly worstDrop: number;
  readonly worstUpdate: number;
  readonly reach: Reach;
  /** Updates until J first came within 1 % of J*; undefined if it never did. */
  readonly reachedAt: number | undefined;
  /** (J* − J) / (J* − the worst trajectory's reward) at the end. */
  readonly gap: number;
  /** Groups: the change of J by one update from the first policy, mean and standard error over several groups. */
  readonly expected: { readonly mean: number; readonly error: number } | undefined;
}

/** The findings on a cell at one number of turns and of contexts. */
export interface Finding {
  readonly turns: number;
  readonly contexts: number;
  readonly problems: number;
  /** Made in all problems together. */
  readonly updates: number;
  /** Updates after which J was lower. */
  readonly drops: number;
  readonly worstDrop: number;
  /** The problem and the update with the worst drop, both from 0. */
  readonly worstAt: { readonly problem: number; readonly update: number } | undefined;
  readonly reached: number;
  readonly rising: number;
  readonly resting: number;
  readonly plateau: number;
  /** Problems in which an update lowered J. */
  readonly fell: number;
  /** Updates until J came within 1 % of J*, for each problem; null where it never did. */
  readonly reachedAt: readonly (number | null)[];
  readonly worstGap: number;
  /** Groups: problems where the expected change of J lies below 0 by more than four standard errors. */
  readonly fallsInExpectation: number | undefined;
  /** Groups: the mean of the expected changes. */
  readonly expectedChange: number | undefined;
}

/** A problem with what does not depend on the cell, and the policy that every cell of this sight starts from. */
export interface Case {
  readonly problem: Problem;
  readonly layout: Layout;
  readonly start: Policy;
  readonly best: number;
  readonly worst: number;
}

/** Problems depend on the seed, the size and their number only, so that cells are compared on the same ones. */
export function caseOf(settings: Pick<LabSettings, "seed">, size: Size, index: number, sees: Cell["sees"]): Case {
  const names = [size.turns, size.tokens, size.vocabulary, size.contexts, answersOf(size), index];
  const problem = drawProblem(size, index, randomStream(settings.seed, "lab", "problem", ...names));
  const layout = layoutOf(size, sees);
  const start = randomPolicy(layout, randomStream(settings.seed, "lab", "start", sees, ...names));
  return { problem, layout, start, best: optimum(problem, sees), worst: worstReturn(problem) };
}

function worstReturn({ means, size }: Problem): number {
  const leaves = means.length / size.contexts;
  let sum = 0;
  for (let x = 0; x < size.contexts; x++) sum += Math.min(...means.subarray(x * leaves, (x + 1) * leaves));
  return sum / size.contexts;
}

/** Makes cases once for all cells of a run. */
export function caseStore(settings: Pick<LabSettings, "seed">) {
  const cases = new Map<string, Case>();
  return (size: Size, index: number, sees: Cell["sees"]): Case => {
    const key = [size.turns, size.tokens, size.vocabulary, size.contexts, answersOf(size), index, sees].join("/");
    const known = cases.get(key) ?? caseOf(settings, size, index, sees);
    cases.set(key, known);
    return known;
  };
}
export type CaseOf = ReturnType<typeof caseStore>;

/** Sizes of a run, fewest turns first. */
export function sizesOf({ turns, contexts, tokens, actions, answers }: LabSettings): Size[] {
  const vocabulary = Math.round(actions ** (1 / tokens));
  return turns.flatMap((t) => contexts.map((x) => ({ turns: t, tokens, vocabulary, contexts: x, answers: t > 1 ? answers : 1 })));
}

/**
 * One cell at one size. Its random numbers come from streams of the seed, the cell's id, the size and the problem, so the result is the same
 * alone and in the whole grid.
 */
export function examine(cell: Cell, size: Size, settings: LabSettings, caseFor: CaseOf): Finding {
  const reduced = size.turns === 1 ? singleTurn(cell) : cell;
  const courses = Array.from({ length: settings.problems }, (_, index) =>
    follow(reduced, caseFor(size, index, reduced.sees), settings, [size.turns, size.contexts, index]),
  );
  return summary(courses, size, settings);
}

/** Follows J over the updates of one problem. */
export function follow(
  cell: Cell,
  { problem, layout, start, best, worst }: Case,
  { seed, updates, rules }: Pick<LabSettings, "seed" | "updates" | "rules">,
  names: readonly number[],
): Course {
  const random = randomStream(seed, "lab", idOf(cell), ...names);
  const sampled = cell.knows === "groups";
  const probabilitiesOf = (policy: Policy) => leafProbabilities(layout, policy, chancesFor(problem));
  const batchOf = (policy: Policy, probabilities: Float64Array, from: Random): Batch =>
    sampled
      ? sampledBatch(problem, layout, probabilities, rules.groupSize, from)
      : exactBatch(problem, layout, policy, probabilities);
  const stepFrom = (policy: Policy, probabilities: Float64Array, from = random) => {
    const batch = batchOf(policy, probabilities, from);
    return update(cell, problem, layout, policy, batch, turnUpdatesOf(cell.order, problem.size.turns, from), rules);
  };

  const atStart = probabilitiesOf(start);
  const returns = [expectedReturn(problem, layout, start, atStart)];
  let policy = start;
  let probabilities = atStart;
  let [drops, worstDrop, worstUpdate, still] = [0, 0, -1, 0];
  for (let u = 0; u < updates; u++) {
    const next = stepFrom(policy, probabilities);
    probabilities = probabilitiesOf(next);
    const [before, after] = [returns[u], expectedReturn(problem, layout, next, probabilities)];
    returns.push(after);
    if (before - after > dropTolerance) drops++;
    if (before - after > worstDrop) [worstDrop, worstUpdate] = [before - after, u];
    still = !sampled && isStill(policy, next) ? still + 1 : 0;
    policy = next;
    if (still === (cell.order === "random" ? stillAtRandom : 1)) break;
  }
  const last = returns[returns.length - 1];
  const range = Math.max(best - worst, 1e-12);
  const gapOf = (value: number) => (best - value) / range;
  const [gap, reachedAt] = [gapOf(last), returns.findIndex((value) => gapOf(value) <= reachTolerance)];
  const unreached = isRising(returns, best, updates) ? "rising" : still > 0 ? "resting" : "plateau";
  return {
    returns,
    best,
    drops,
    worstDrop,
    worstUpdate,
    gap,
    reach: gap <= reachTolerance ? "reached" : unreached,
    reachedAt: reachedAt === -1 ? undefined : reachedAt,
    expected: sampled ? expectedChange(start, returns[0]) : undefined,
  };

  function expectedChange(from: Policy, before: number) {
    const draws = randomStream(seed, "lab", idOf(cell), "expectation", ...names);
    let [sum, squares] = [0, 0];
    for (let i = 0; i < expectationDraws; i++) {
      const change = expectedReturn(problem, layout, stepFrom(from, atStart, draws)) - before;
      sum += change;
      squares += change ** 2;
    }
    const mean = sum / expectationDraws;
    const variance = Math.max(0, squares / expectationDraws - mean ** 2) / (expectationDraws - 1);
    return { mean, error: Math.sqrt(variance) };
  }
}

function isStill(policy: Policy, next: Policy): boolean {
  for (let i = 0; i < policy.length; i++) if (!(Math.abs(policy[i] - next[i]) < 1e-14)) return false;
  return true;
}

/** True if the last fifth of the updates took at least a hundredth off what was missing before it. */
function isRising(returns: readonly number[], best: number, updates: number): boolean {
  if (returns.length <= updates) return false;
  const earlier = returns[Math.floor(updates * 0.8)];
  return returns[returns.length - 1] - earlier > 0.01 * (best - earlier);
}

function summary(courses: readonly Course[], { turns, contexts }: Size, { problems }: LabSettings): Finding {
  const total = (of: (course: Course) => number) => courses.reduce((sum, course) => sum + of(course), 0);
  const worst = courses.reduce((most, course) => (course.worstDrop > most.worstDrop ? course : most), courses[0]);
  const sampled = courses[0].expected !== undefined;
  const has = (reach: Reach) => courses.filter((course) => course.reach === reach).length;
  return {
    turns,
    contexts,
    problems,
    updates: total(({ returns }) => returns.length - 1),
    drops: total(({ drops }) => drops),
    worstDrop: worst.worstDrop,
    worstAt: worst.drops === 0 ? undefined : { problem: courses.indexOf(worst), update: worst.worstUpdate },
    reached: has("reached"),
    rising: has("rising"),
    resting: has("resting"),
    plateau: has("plateau"),
    fell: courses.filter(({ drops }) => drops > 0).length,
    reachedAt: courses.map(({ reachedAt }) => reachedAt ?? null),
    worstGap: Math.max(...courses.map(({ gap }) => gap)),
    fallsInExpectation: sampled
      ? courses.filter(({ expected }) => expected !== undefined && expected.mean + 4 * expected.error < -dropTolerance).length
      : undefined,
    expectedChange: sampled ? total(({ expected }) => expected?.mean ?? 0) / problems : undefined,
  };
}
