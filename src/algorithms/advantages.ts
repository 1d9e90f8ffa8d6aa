import { EnvError, ShapeError } from "../core/errors.ts";
import type { Group, TrajectoryId } from "../core/trajectory.ts";
import { clamp } from "./objectives.ts";

/** One advantage per trajectory, by its id. */
export type Advantages = ReadonlyMap<TrajectoryId, number>;

export interface GroupRelativeOptions {
  /** Divides by the group's standard deviation (n − 1) plus 1e-6: GRPO. */
  readonly divideByStd: boolean;
  /** What a group of one gets: 0, since there is nothing to compare with, or its bare return, as in verl. */
  readonly singletonGroups: "zero" | "raw";
}

/**
 * Group-relative advantages (arXiv:2402.03300, §4.1.2): the group's mean return is the baseline.
 *
 *   A_i = R_i − mean_g R          divideByStd: A_i = (R_i − mean_g R) / (std_g R + 1e-6)
 *
 * A group whose returns are all equal gives exact zeros.
 * @throws EnvError for a return that is not finite, ShapeError if two trajectories share an id
 */
export function groupRelativeAdvantages(
  groups: readonly Group[],
  { divideByStd, singletonGroups }: GroupRelativeOptions,
): Advantages {
  const advantages = new Map<TrajectoryId, number>();
  for (const group of groups) {
    const returns = returnsOf(group);
    const raw = returns.length === 1 && singletonGroups === "raw";
    const baseline = raw ? 0 : mean(returns);
    const deviation = raw ? 1 : standardDeviation(returns);
    const silent = !raw && !hasSignal(returns);
    for (const { id, reward } of group.trajectories) {
      if (advantages.has(id)) throw new ShapeError("trajectory id", id, { expected: "an id of its own for every trajectory" });
      const centred = silent ? 0 : reward - baseline;
      advantages.set(id, divideByStd ? centred / (deviation + 1e-6) : centred);
    }
  }
  return advantages;
}

/** The number of groups that teach nothing: all returns equal, or a single one. */
export function groupsWithoutSignal(groups: readonly Group[]): number {
  return groups.filter((group) => !hasSignal(returnsOf(group))).length;
}

/**
 * (A − mean_B A) / std_B A over the whole batch. Not divided where std_B ≤ 1e-6, as in SeeUPO's code.
 * @param centred whether every group's mean was removed before. mean_B is then 0, and is left alone: subtracting its rounding
 *   error would give groups without signal a gradient
 */
export function batchNormalised(advantages: Advantages, centred: boolean): Advantages {
  const values = [...advantages.values()];
  const deviation = standardDeviation(values);
  const divisor = deviation > 1e-6 ? deviation : 1;
  const shift = centred ? 0 : mean(values);
  return mapped(advantages, (advantage) => (advantage - shift) / divisor);
}

/** Each advantage limited to [−bound, bound]. */
export function clippedAdvantages(advantages: Advantages, bound: number): Advantages {
  return mapped(advantages, (advantage) => clamp(advantage, -bound, bound));
}

function mapped(advantages: Advantages, change: (advantage: number) => number): Advantages {
  return new Map([...advantages].map(([id, advantage]) => [id, change(advantage)]));
}

function returnsOf(group: Group): number[] {
  return group.trajectories.map(({ id, reward }) => {
    if (!Number.isFinite(reward))
      throw new EnvError(`reward of trajectory ${id}`, reward, {
        expected: "a finite number",
        hint: "A rollout that failed has reward 0 and a stop reason.",
      });
    return reward;
  });
}

function hasSignal(returns: readonly number[]): boolean {
  return returns.some((value) => value !== returns[0]);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** With divisor n − 1; 0 for fewer than two values. */
function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}
