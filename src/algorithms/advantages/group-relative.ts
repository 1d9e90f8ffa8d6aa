import { mean, standardDeviation } from "../../core/mean.ts";
import type { Group } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, perTrajectory, singletonGroups, std } from "./advantage.ts";
import { type Advantages, byGroup, type SingletonGroups } from "./by-group.ts";

export interface GroupRelativeOptions {
  /** "group" divides by the group's standard deviation (n − 1) plus 1e-6: GRPO. */
  readonly std: "group" | "none";
  readonly singletonGroups: SingletonGroups;
}

/**
 * Group-relative advantages (arXiv:2402.03300, §4.1.2): the group's mean return is the baseline.
 *
 *   A_i = R_i − mean_g R          std "group": A_i = (R_i − mean_g R) / (std_g R + 1e-6)
 *
 * A group whose returns are all equal gives exact zeros.
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 * @example
 * groupRelativeAdvantages(groups, { std: "group", singletonGroups: "zero" }).get("step-1/0/3");
 */
export function groupRelativeAdvantages(
  groups: readonly Group[],
  { std: divisorOf, singletonGroups: singletons }: GroupRelativeOptions,
): Advantages {
  return byGroup(
    groups,
    singletons,
    (returns) => {
      const baseline = mean(returns);
      const divisor = divisorOf === "group" ? standardDeviation(returns) + 1e-6 : 1;
      return returns.map((value) => (value - baseline) / divisor);
    },
    divisorOf === "group" ? 1 + 1e-6 : 1,
  );
}

export const groupRelativeKind = defineAdvantage({
  kind: "group-relative",
  formula: 'R − group\'s mean; `std: "group"` divides by its deviation + 1e-6',
  source: "arXiv:2402.03300",
  comparedWithin: "group",
  settings: { std, singletonGroups },
  estimate: (evidence, config) => perTrajectory(evidence.groups, groupRelativeAdvantages(penalised(evidence), config)),
});
