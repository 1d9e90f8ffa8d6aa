import type { Layout } from "./policy.ts";
import { actionsOf, answersOf, leavesFrom, leavesOf, type Problem } from "./problem.ts";

/** Returns J of the best policy that sees the full history, by backward induction over turns: the best action, then the mean over answers. */
export function bestOfHistories({ size, means, answerProbabilities }: Problem): number {
  const [actions, answers] = [actionsOf(size), answersOf(size)];
  let values = means;
  for (let turn = size.turns - 1; turn >= 0; turn--) {
    const best = new Float64Array((size.contexts * leavesOf(size)) / leavesFrom(size, turn));
    for (let i = 0; i < best.length; i++) best[i] = Math.max(...values.subarray(i * actions, (i + 1) * actions));
    const chances = answerProbabilities?.[turn - 1];
    if (turn === 0 || chances === undefined) values = best;
    else {
      values = new Float64Array(best.length / answers);
      for (let i = 0; i < best.length; i++) values[Math.floor(i / answers)] += chances[i] * best[i];
    }
  }
  return values.reduce((sum, value) => sum + value, 0) / size.contexts;
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
