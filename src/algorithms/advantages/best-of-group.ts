import { standardDeviation } from "../../core/mean.ts";
import type { Group } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, perTrajectory, std } from "./advantage.ts";
import { type Advantages, byGroup } from "./by-group.ts";

/**
 * Pass@k training as in verl: only the best trajectory of a group is pushed, by how far it leads.
 *
 *   A_best = R_best − R_second,  divided by (std_g R + 1e-6) with std "group";  all others 0
 *
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function bestOfGroupAdvantages(
  groups: readonly Group[],
  { std: divisor }: { readonly std: "group" | "none" },
): Advantages {
  return byGroup(groups, "zero", (returns) => {
    const [first, second] = returns.toSorted((a, b) => b - a);
    const best = returns.indexOf(first);
    const lead = (first - second) / (divisor === "group" ? standardDeviation(returns) + 1e-6 : 1);
    return returns.map((_, i) => (i === best ? lead : 0));
  });
}

export const bestOfGroupKind = defineAdvantage({
  kind: "best-of-group",
  formula: 'only the best of a group: its lead over the second; `std: "group"` divides by the deviation + 1e-6: Pass@k training',
  source: "verl",
  comparedWithin: "group",
  settings: { std },
  estimate: (evidence, config) => perTrajectory(evidence.groups, bestOfGroupAdvantages(penalised(evidence), config)),
});
