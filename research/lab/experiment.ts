import { randomStream } from "../../src/core/random.ts";
import { exactBatch, sampledBatch } from "./batch.ts";
import { type Cell, idOf } from "./cell.ts";
import type { LabSettings } from "./config.ts";
import { optimum } from "./optimum.ts";
import { chancesFor, expectedReturn, type Layout, layoutOf, leafProbabilities, type Policy, randomPolicy } from "./policy.ts";
import { answersOf, drawProblem, type Problem, type Size } from "./problem.ts";
import { turnUpdatesOf, update } from "./update.ts";

/** J may fall by this without being called a drop: rewards are at most 1.5, and sums of at most some thousand terms are rounded. */
const dropTolerance = 1e-9;
/** J* counts as reached when what is missing is at most this share of J* − the worst trajectory's reward. */
const reachTolerance = 0.01;
/** Updates in a row without any movement, after which a policy that is updated in random order counts as at rest. */
const stillAtRandom = 4;

/** One problem, updated again and again. */
export interface Course {
  /** J before the first update and after each; a policy that has stopped moving is not updated further. */
  readonly returns: readonly number[];
  /** J*. */
  readonly best: number;
  /** The largest fall of J by one update, above rounding; 0 if there was none. */
  readonly worstDrop: number;
  /** Whether J ended within 1 % of J*. */
  readonly reached: boolean;
  /** Updates until J first came within 1 % of J*; Infinity if it never did. */
  readonly reachedAt: number;
}

/** The findings on a cell, over all problems. */
export interface Verdict {
  readonly id: string;
  /** Shares of problems in which an update lowered J, and which ended within 1 % of J*. */
  readonly fell: number;
  readonly reached: number;
  /** Updates until J came within 1 % of J*, the lower median over problems; null if fewer than half of them came there. */
  readonly updatesToReach: number | null;
  readonly worstDrop: number;
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
export function caseOf({ seed }: Pick<LabSettings, "seed">, size: Size, index: number, sees: Cell["sees"]): Case {
  const names = [size.turns, size.tokens, size.vocabulary, size.contexts, answersOf(size), index];
  const problem = drawProblem(size, index, randomStream(seed, "lab", "problem", ...names));
  const layout = layoutOf(size, sees);
  const start = randomPolicy(layout, randomStream(seed, "lab", "start", sees, ...names));
  return { problem, layout, start, best: optimum(problem, sees), worst: worstReturn(problem) };
}

function worstReturn({ means, size }: Problem): number {
  const leaves = means.length / size.contexts;
  let sum = 0;
  for (let x = 0; x < size.contexts; x++) sum += Math.min(...means.subarray(x * leaves, (x + 1) * leaves));
  return sum / size.contexts;
}

/**
 * Judges one cell. Its random numbers come from streams of the seed, the cell's id, the size and the problem, so the result is the same alone and
 * among all cells.
 */
export function judge(cell: Cell, settings: LabSettings): Verdict {
  const courses = settings.sizes.flatMap((size) =>
    Array.from({ length: settings.problems }, (_, index) =>
      follow(cell, caseOf(settings, size, index, cell.sees), settings, [size.turns, size.contexts, index]),
    ),
  );
  const share = (of: (course: Course) => boolean) => courses.filter(of).length / courses.length;
  const updates = courses.map(({ reachedAt }) => reachedAt).sort((a, b) => a - b);
  const middle = updates[Math.ceil(updates.length / 2) - 1];
  return {
    id: idOf(cell),
    fell: share(({ worstDrop }) => worstDrop > 0),
    reached: share(({ reached }) => reached),
    updatesToReach: middle === Infinity ? null : middle,
    worstDrop: Math.max(...courses.map(({ worstDrop }) => worstDrop)),
  };
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
  const returns: number[] = [];
  let [policy, worstDrop, still] = [start, 0, 0];
  for (let u = 0; ; u++) {
    const probabilities = leafProbabilities(layout, policy, chancesFor(problem));
    returns.push(expectedReturn(problem, layout, policy, probabilities));
    if (u > 0 && returns[u - 1] - returns[u] > dropTolerance) worstDrop = Math.max(worstDrop, returns[u - 1] - returns[u]);
    if (u === updates || still === (cell.order === "random" ? stillAtRandom : 1)) break;
    const batch = sampled
      ? sampledBatch(problem, layout, probabilities, rules.groupSize, random)
      : exactBatch(problem, layout, policy, probabilities);
    const next = update(cell, problem, layout, policy, batch, turnUpdatesOf(cell.order, problem.size.turns, random), rules);
    still = !sampled && isStill(policy, next) ? still + 1 : 0;
    policy = next;
  }
  const isThere = (value: number) => best - value <= reachTolerance * Math.max(best - worst, 1e-12);
  const reachedAt = returns.findIndex(isThere);
  return {
    returns,
    best,
    worstDrop,
    reached: isThere(returns[returns.length - 1]),
    reachedAt: reachedAt < 0 ? Infinity : reachedAt,
  };
}

function isStill(policy: Policy, next: Policy): boolean {
  for (let i = 0; i < policy.length; i++) if (!(Math.abs(policy[i] - next[i]) < 1e-14)) return false;
  return true;
}
