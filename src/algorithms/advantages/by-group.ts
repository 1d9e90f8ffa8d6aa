import { EnvError, ShapeError } from "../../core/errors.ts";
import { mean, standardDeviation } from "../../core/mean.ts";
import type { Group, TrajectoryId } from "../../core/trajectory.ts";
import { clamp } from "../objectives/objective.ts";
import { differ } from "./statistics.ts";

export type Advantages = ReadonlyMap<TrajectoryId, number>;

/** The advantage that a group of one gets: 0, since there is nothing to compare with, or its bare return, as in verl. */
export type SingletonGroups = "zero" | "raw";

/**
 * One advantage per trajectory from the returns of its group. Groups whose returns are all equal get exact zeros.
 * @param of from the returns of a group, at least two of which differ, to its advantages
 * @param singletonDivisor of the bare return of a group of one, where it is wanted
 */
export function byGroup(
  groups: readonly Group[],
  singletonGroups: SingletonGroups,
  of: (returns: readonly number[], group: Group) => readonly number[],
  singletonDivisor = 1,
): Advantages {
  const advantages = new Map<TrajectoryId, number>();
  for (const group of groups) {
    const returns = returnsOf(group);
    const raw = returns.length === 1 && singletonGroups === "raw";
    const values = raw ? [returns[0] / singletonDivisor] : differ(returns) ? of(returns, group) : returns.map(() => 0);
    for (const [i, { id }] of group.trajectories.entries()) {
      if (advantages.has(id)) throw new ShapeError("trajectory id", id, { expected: "an id of its own for every trajectory" });
      advantages.set(id, values[i]);
    }
  }
  return advantages;
}

/** The number of groups that teach nothing: all returns equal, or a single one. */
export function groupsWithoutSignal(groups: readonly Group[]): number {
  return groups.filter((group) => !differ(returnsOf(group))).length;
}

/**
 * (A − mean_B A) / std_B A over the whole batch. Not divided where std_B ≤ 1e-6, as in SeeUPO's code.
 * @param centred whether every group's mean was removed before. mean_B is then 0, and is left alone: subtracting its rounding
 *   error would give groups without signal a gradient
 */
export function batchNormalised(advantages: Advantages, centred: boolean): Advantages {
  const { shift, divisor } = batchScale(advantages, centred);
  return mapped(advantages, (advantage) => (advantage - shift) / divisor);
}

/** Returns the number that `batchNormalised` subtracts, and the one that it divides by. */
export function batchScale(advantages: Advantages, centred: boolean): { readonly shift: number; readonly divisor: number } {
  const values = [...advantages.values()];
  const deviation = standardDeviation(values);
  return { shift: centred ? 0 : mean(values), divisor: deviation > 1e-6 ? deviation : 1 };
}

/** Each advantage limited to [−bound, bound]. */
export function clippedAdvantages(advantages: Advantages, bound: number): Advantages {
  return mapped(advantages, (advantage) => clamp(advantage, -bound, bound));
}

function mapped(advantages: Advantages, change: (advantage: number) => number): Advantages {
  return new Map([...advantages].map(([id, advantage]) => [id, change(advantage)]));
}

/** @throws EnvError for a return that is not finite */
export function returnsOf(group: Group): number[] {
  return group.trajectories.map(({ id, reward }) => {
    if (!Number.isFinite(reward))
      throw new EnvError(`reward of trajectory ${id}`, reward, {
        expected: "a finite number",
        hint: "A rollout that failed has reward 0 and a stop reason.",
      });
    return reward;
  });
}
