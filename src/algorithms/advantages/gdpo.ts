import { z } from "zod";
import { EnvError } from "../../core/errors.ts";
import { standardDeviation } from "../../core/mean.ts";
import type { Group, Trajectory, TrajectoryId } from "../../core/trajectory.ts";
import { withReturns } from "../step/episodes.ts";
import { defineAdvantage, perTrajectory } from "./advantage.ts";
import type { Advantages } from "./by-group.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";

/**
 * Group reward-decoupled normalisation, GDPO (arXiv:2601.05242; NVlabs/GDPO, its TRL form): each reward is normalised in its group by
 * itself, so that one of small scale is not lost in the deviation of the sum.
 *
 *   Â_k,i = (r_k,i − mean_g r_k) / (std_g r_k + 1e-6)         for every reward k
 *   A_i   = Σ_k w_k Â_k,i / (std over the trajectories of the batch + 1e-4)
 *
 * The published code adds 1e-4 to the group's deviation too, and subtracts the batch's mean, which is 0 here but for rounding.
 * @param weights w_k by the name of the reward
 * @throws EnvError for a reward that is absent or not finite, ShapeError if two trajectories share an id
 */
export function gdpoAdvantages(groups: readonly Group[], weights: Readonly<Record<string, number>>): Advantages {
  const sum = new Map<TrajectoryId, number>();
  for (const [name, weight] of Object.entries(weights)) {
    const scored = withReturns(groups, (trajectory) => rewardOf(trajectory, name));
    for (const [id, advantage] of groupRelativeAdvantages(scored, { std: "group", singletonGroups: "zero" }))
      sum.set(id, (sum.get(id) ?? 0) + weight * advantage);
  }
  const divisor = standardDeviation([...sum.values()]) + 1e-4;
  return new Map([...sum].map(([id, advantage]) => [id, advantage / divisor]));
}

/** The number that `rewards` recorded under a name. */
function rewardOf({ id, scores }: Trajectory, name: string): number {
  const value = scores[`reward:${name}`];
  if (value !== undefined) return value;
  throw new EnvError(`reward "${name}" of trajectory ${id}`, value, { expected: "a number among the trajectory's scores" });
}

export const gdpoKind = defineAdvantage({
  kind: "gdpo",
  formula: "Σ_k w_k · (reward k, group-relative / σ), divided by the batch's deviation: several rewards, normalised separately",
  source: "arXiv:2601.05242",
  comparedWithin: "group",
  settings: {
    /** w_k by the name of a part of `rewards`; "environment" is the environment's own. These replace the weights of `rewards`. */
    weights: z.record(z.string(), z.number()).refine((weights) => Object.keys(weights).length > 0, "at least one reward"),
  },
  unmet: ({ weights }, { rewards, klInReward }) => {
    const unknown = Object.keys(weights).find((name) => !rewards.includes(name));
    if (unknown !== undefined)
      return {
        setting: `weights.${unknown}`,
        value: weights[unknown],
        expected: rewards.length === 0 ? "`rewards` to weigh" : rewards,
      };
    return klInReward
      ? { setting: "kind", value: "gdpo", expected: 'algorithm.klIn "loss": a KL in the reward belongs to no single one' }
      : undefined;
  },
  estimate: ({ groups }, { weights }) => perTrajectory(groups, gdpoAdvantages(groups, weights)),
});
