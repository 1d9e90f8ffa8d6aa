import { EnvError } from "../../core/errors.ts";
import { mean } from "../../core/mean.ts";
import type { Group } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, perTrajectory } from "./advantage.ts";
import { type Advantages, byGroup } from "./by-group.ts";

/**
 * Maximum-likelihood RL, MaxRL (arXiv:2602.02710; `compute_maxrl_outcome_advantage` of tajwarfahim/maxrl): the group's mean return is
 * baseline and divisor.
 *
 *   A_i = (R_i − mean_g R) / (mean_g R + 1e-6)
 *
 * With returns of 0 and 1 and p the share of successes, a success has (1 − p)/p and a failure −1. The gradient is that of log p truncated
 * at order G, the group's size. Rare successes weigh like 1/p.
 * @throws EnvError for a return that is negative or not finite, ShapeError if two trajectories share an id
 */
export function maxrlAdvantages(groups: readonly Group[]): Advantages {
  return byGroup(groups, "zero", (returns, { trajectories }) => {
    const negative = returns.findIndex((value) => value < 0);
    if (negative >= 0)
      throw new EnvError(`reward of trajectory ${trajectories[negative]?.id}`, returns[negative], {
        expected: "at least 0: MaxRL divides by the group's mean",
        hint: 'Add a constant to the reward, or take the advantage "group-relative".',
      });
    const average = mean(returns);
    return returns.map((value) => (value - average) / (average + 1e-6));
  });
}

export const maxrlKind = defineAdvantage({
  kind: "maxrl",
  formula: "(R − group's mean) / (group's mean + 1e-6): rare successes are weighted like 1/p",
  source: "arXiv:2602.02710",
  comparedWithin: "group",
  settings: {},
  estimate: (evidence) => perTrajectory(evidence.groups, maxrlAdvantages(penalised(evidence))),
});
