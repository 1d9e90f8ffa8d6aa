import { isBefore, sharedEnd } from "../../algorithms/advantages/tree.ts";
import { isBroken } from "../../core/outcome.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";

export interface Masked {
  /** Without the failed episodes; groups that lose all of theirs are left out. */
  readonly groups: readonly Group[];
  /** Number of episodes that were taken out. */
  readonly masked: number;
}

/**
 * Takes episodes that failed by the environment's fault out of groups. Their reward of 0 says nothing of what the model did, and as part
 * of a group's baseline it would praise the others. In a tree, the branch that shares most with a failed episode takes its place.
 */
export function withoutFailures(groups: readonly Group[]): Masked {
  const kept = groups.map((group) => {
    const broken = group.trajectories.filter(isBroken);
    return broken.length === 0 ? group : { ...group, trajectories: broken.reduce(without, group.trajectories) };
  });
  const count = (of: readonly Group[]) => of.reduce((sum, { trajectories }) => sum + trajectories.length, 0);
  return { groups: kept.filter(({ trajectories }) => trajectories.length > 0), masked: count(groups) - count(kept) };
}

function without(trajectories: readonly Trajectory[], gone: Trajectory): readonly Trajectory[] {
  const rest = trajectories.filter(({ id }) => id !== gone.id);
  const children = rest.filter(({ branch }) => branch?.from === gone.id);
  const successor = children.reduce<Trajectory | undefined>(
    (best, child) => (best === undefined || isBefore(sharedEnd(best), sharedEnd(child)) ? child : best),
    undefined,
  );
  if (successor === undefined) return rest;
  return rest.map((trajectory) => {
    if (trajectory.id === successor.id) return { ...trajectory, branch: gone.branch };
    return trajectory.branch?.from === gone.id
      ? { ...trajectory, branch: { ...trajectory.branch, from: successor.id } }
      : trajectory;
  });
}
