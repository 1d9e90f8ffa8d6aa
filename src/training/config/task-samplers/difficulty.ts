import { z } from "zod";
import { randomStream } from "../../../core/random.ts";
import { defineTaskSampler } from "./sampler.ts";

/**
 * A curriculum over recorded success: `DifficultyPoolSampler` of PrimeIntellect-ai/prime-rl. A task is hard, normal or easy by the mean
 * reward of its newest group, and is drawn with that pool's weight, with replacement. A task that was not played yet is normal.
 *
 *   p(task) ∝ hardWeight where r̄ ≤ hardUpTo,  easyWeight where r̄ > easyFrom,  else 1
 *
 * Bias: the gradient is no longer that of the mean reward over the split, but of one weighted towards tasks that are solved now and then.
 * A task that is given up is seldom played again, so its r̄ stays what it was when the policy was weaker. Compare evaluations, which
 * take every task alike, and not the rewards of steps.
 */
export const difficultySampler = defineTaskSampler({
  kind: "difficulty",
  formula: "by the mean reward of a task's newest group: tasks that are always or never solved are drawn less often",
  source: "PrimeIntellect-ai/prime-rl",
  needsOutcomes: true,
  settings: {
    /** The largest r̄ of a hard task, and the r̄ above which one is easy. 0.25, 0.75: prime-rl's. */
    hardUpTo: z.number().default(0.25),
    easyFrom: z.number().default(0.75),
    /** Weights beside a normal task's 1. 0.2: prime-rl's. */
    hardWeight: z.number().min(0).default(0.2),
    easyWeight: z.number().min(0).default(0.2),
  },
  indices: ({ size, position, count, seed, outcomes }, { hardUpTo, easyFrom, hardWeight, easyWeight }) => {
    const weights = Array.from({ length: size }, (_, index) => {
      const reward = outcomes.get(index);
      if (reward === undefined) return 1;
      return reward <= hardUpTo ? hardWeight : reward > easyFrom ? easyWeight : 1;
    });
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    // With every weight at 0 nothing is left to prefer.
    const drawn = total > 0 ? weights : weights.map(() => 1);
    return Array.from({ length: count }, (_, i) => at(drawn, randomStream(seed, "difficulty", position + i).uniform()));
  },
});

/** The index at a share of the weights' sum. */
function at(weights: readonly number[], share: number): number {
  let left = share * weights.reduce((sum, weight) => sum + weight, 0);
  const index = weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
  return index >= 0 ? index : weights.findLastIndex((weight) => weight > 0);
}
