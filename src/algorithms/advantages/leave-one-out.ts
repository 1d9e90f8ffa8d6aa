import { mean } from "../../core/mean.ts";
import type { Group } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, perTrajectory, singletonGroups } from "./advantage.ts";
import { type Advantages, byGroup, type SingletonGroups } from "./by-group.ts";

/**
 * Leave-one-out advantages, RLOO (arXiv:2402.14740, §2.2): the mean return of the others is the baseline.
 *
 *   A_i = R_i − mean_{j≠i} R_j = G/(G−1) · (R_i − mean_g R)
 *
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function leaveOneOutAdvantages(
  groups: readonly Group[],
  { singletonGroups: singletons }: { readonly singletonGroups: SingletonGroups },
): Advantages {
  return byGroup(groups, singletons, (returns) => {
    const baseline = mean(returns);
    return returns.map((value) => ((value - baseline) * returns.length) / (returns.length - 1));
  });
}

export const leaveOneOutKind = defineAdvantage({
  kind: "leave-one-out",
  formula: "R − mean of the others",
  source: "arXiv:2402.14740",
  comparedWithin: "group",
  settings: { singletonGroups },
  estimate: (evidence, config) => perTrajectory(evidence.groups, leaveOneOutAdvantages(penalised(evidence), config)),
});
