import type { Group } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, perTrajectory, singletonGroups } from "./advantage.ts";
import { type Advantages, byGroup, type SingletonGroups } from "./by-group.ts";

/**
 * On-policy optimal baseline, OPO (arXiv:2505.23585, §3): the group's mean return weighted by length.
 *
 *   A_i = R_i − Σ_j n_j R_j / Σ_j n_j            n: action tokens of a trajectory
 *
 * A group without any tokens gets zeros.
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function lengthWeightedAdvantages(
  groups: readonly Group[],
  { singletonGroups: singletons }: { readonly singletonGroups: SingletonGroups },
): Advantages {
  return byGroup(groups, singletons, (returns, { trajectories }) => {
    const lengths = trajectories.map(({ turns }) => turns.reduce((sum, { action }) => sum + action.length, 0));
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    if (tokens === 0) return returns.map(() => 0);
    const baseline = returns.reduce((sum, value, i) => sum + lengths[i] * value, 0) / tokens;
    return returns.map((value) => value - baseline);
  });
}

export const lengthWeightedKind = defineAdvantage({
  kind: "length-weighted",
  formula: "R − Σ n R / Σ n over the group, n the tokens of a trajectory: OPO",
  source: "arXiv:2505.23585",
  comparedWithin: "group",
  settings: { singletonGroups },
  estimate: (evidence, config) => perTrajectory(evidence.groups, lengthWeightedAdvantages(penalised(evidence), config)),
});
