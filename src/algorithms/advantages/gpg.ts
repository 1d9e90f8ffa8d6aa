import { mean } from "../../core/mean.ts";
import type { Group } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, perTrajectory, singletonGroups } from "./advantage.ts";
import { type Advantages, byGroup, returnsOf, type SingletonGroups } from "./by-group.ts";

/**
 * Group policy gradient, GPG (arXiv:2504.02546, §3), as in verl.
 *
 *   A_i = α (R_i − mean_g R),   α = B / max(1, number of trajectories with R ≠ 0)         B: trajectories of the batch
 *
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function gpgAdvantages(
  groups: readonly Group[],
  { singletonGroups: singletons }: { readonly singletonGroups: SingletonGroups },
): Advantages {
  const all = groups.flatMap(returnsOf);
  const alpha = all.length / Math.max(1, all.filter((value) => value !== 0).length);
  return byGroup(
    groups,
    singletons,
    (returns) => {
      const baseline = mean(returns);
      return returns.map((value) => alpha * (value - baseline));
    },
    1 / alpha,
  );
}

export const gpgKind = defineAdvantage({
  kind: "gpg",
  formula: "α(R − group's mean), α = trajectories / those with R ≠ 0",
  source: "arXiv:2504.02546",
  comparedWithin: "group",
  settings: { singletonGroups },
  estimate: (evidence, config) => perTrajectory(evidence.groups, gpgAdvantages(penalised(evidence), config)),
});
