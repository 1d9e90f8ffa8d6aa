import type { Layout, Policy } from "./policy.ts";
import { actionsOf, answersOf, leavesFrom, leavesOf, type Problem, type Size } from "./problem.ts";

/** Expected returns along trajectories. Arrays have an entry for every context and every beginning of a trajectory, as digits. */
export interface Values {
  /** Before token k is drawn, k = 0 … decisions − 1; the answer to the turn before is known. */
  readonly before: readonly Float64Array[];
  /** After k tokens, k = 1 … decisions; the answer to the turn is not known yet. */
  readonly after: readonly Float64Array[];
}

/** Leaves below a beginning that ends before token k: its index in `before[k]` is that of any of them, context · leaves + leaf, over this. */
export function spanBefore(size: Size, k: number): number {
  return leavesFrom(size, Math.floor(k / size.tokens)) / size.vocabulary ** (k % size.tokens);
}

/** Leaves below a beginning of k tokens, whose answer is not known yet: for indices in `after[k]`. */
export function spanAfter(size: Size, k: number): number {
  if (k === size.turns * size.tokens) return 1;
  return k % size.tokens === 0 ? answersOf(size) * leavesFrom(size, k / size.tokens) : spanBefore(size, k);
}

/**
 * Computes expected returns from the end to the start. At turn ends answers are averaged by their probabilities.
 * @param choose the value of an entry before token k, from those after each token: `vocabulary` numbers of `later`, from one on
 */
function backedUp(
  { size, means, answerProbabilities }: Problem,
  choose: (k: number, index: number, later: Float64Array, from: number) => number,
): Values {
  const decisions = size.turns * size.tokens;
  const answers = answersOf(size);
  const count = size.contexts * leavesOf(size);
  const before: Float64Array[] = [];
  const after: Float64Array[] = [];
  after[decisions] = means;
  for (let k = decisions - 1; k >= 0; k--) {
    const later = after[k + 1];
    const values = new Float64Array(count / spanBefore(size, k));
    for (let index = 0; index < values.length; index++) values[index] = choose(k, index, later, index * size.vocabulary);
    before[k] = values;
    if (k === 0) break;
    const probabilities = k % size.tokens === 0 ? answerProbabilities?.[k / size.tokens - 1] : undefined;
    if (probabilities === undefined) after[k] = before[k];
    else {
      after[k] = new Float64Array(before[k].length / answers);
      for (let i = 0; i < before[k].length; i++) after[k][Math.floor(i / answers)] += probabilities[i] * before[k][i];
    }
  }
  return { before, after };
}

/** Returns the values under a policy. */
export function valuesOf(problem: Problem, { rowOf, decisions }: Layout, policy: Policy): Values {
  const { size } = problem;
  const spans = Array.from({ length: decisions }, (_, k) => spanBefore(size, k));
  return backedUp(problem, (k, index, later, from) => {
    const row = rowOf[index * spans[k] * decisions + k] * size.vocabulary;
    let sum = 0;
    for (let token = 0; token < size.vocabulary; token++) sum += policy[row + token] * later[from + token];
    return sum;
  });
}

/** Returns J of the best policy that sees the full history, by backward induction. */
export function bestOfHistories(problem: Problem): number {
  const { before } = backedUp(problem, (_, __, later, from) => Math.max(...later.subarray(from, from + problem.size.vocabulary)));
  return before[0].reduce((sum, value) => sum + value, 0) / problem.size.contexts;
}

/** Returns the mean reward of every sequence of actions, over contexts and answers. */
export function meansOfActions({ size, means }: Problem, { actionOf }: Layout, chances?: Float64Array): number[] {
  const [actions, leaves] = [actionsOf(size), leavesOf(size)];
  const result = new Array<number>(actions ** size.turns).fill(0);
  for (let i = 0; i < means.length; i++) {
    let sequence = 0;
    for (let t = 0; t < size.turns; t++) sequence = sequence * actions + actionOf[(i % leaves) * size.turns + t];
    result[sequence] += (means[i] * (chances === undefined ? 1 : chances[i])) / size.contexts;
  }
  return result;
}
