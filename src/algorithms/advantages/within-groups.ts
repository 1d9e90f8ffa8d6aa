import { mean, standardDeviation } from "../../core/mean.ts";
import type { Group } from "../../core/trajectory.ts";
import { type Advantages, byGroup, returnsOf, type SingletonGroups } from "./group-relative.ts";

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
  { singletonGroups }: { readonly singletonGroups: SingletonGroups },
): Advantages {
  return byGroup(groups, singletonGroups, (returns, { trajectories }) => {
    const lengths = trajectories.map(({ turns }) => turns.reduce((sum, { action }) => sum + action.length, 0));
    const tokens = lengths.reduce((sum, length) => sum + length, 0);
    if (tokens === 0) return returns.map(() => 0);
    const baseline = returns.reduce((sum, value, i) => sum + lengths[i] * value, 0) / tokens;
    return returns.map((value) => value - baseline);
  });
}

/**
 * Pass@k training as in verl: only the best trajectory of a group is pushed, by how far it leads.
 *
 *   A_best = R_best − R_second,  divided by (std_g R + 1e-6) with std "group";  all others 0
 *
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function bestOfGroupAdvantages(groups: readonly Group[], { std }: { readonly std: "group" | "none" }): Advantages {
  return byGroup(groups, "zero", (returns) => {
    const [first, second] = returns.toSorted((a, b) => b - a);
    const best = returns.indexOf(first);
    const lead = (first - second) / (std === "group" ? standardDeviation(returns) + 1e-6 : 1);
    return returns.map((_, i) => (i === best ? lead : 0));
  });
}

/**
 * Group policy gradient, GPG (arXiv:2504.02546, §3), as in verl.
 *
 *   A_i = α (R_i − mean_g R),   α = B / max(1, number of trajectories with R ≠ 0)         B: trajectories of the batch
 *
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function gpgAdvantages(
  groups: readonly Group[],
  { singletonGroups }: { readonly singletonGroups: SingletonGroups },
): Advantages {
  const all = groups.flatMap(returnsOf);
  const alpha = all.length / Math.max(1, all.filter((value) => value !== 0).length);
  return byGroup(
    groups,
    singletonGroups,
    (returns) => {
      const baseline = mean(returns);
      return returns.map((value) => alpha * (value - baseline));
    },
    1 / alpha,
  );
}
