import { mean } from "../../core/mean.ts";
import type { Group, Trajectory, TrajectoryId } from "../../core/trajectory.ts";
import { defineAdvantage, penalised, singletonGroups, std } from "./advantage.ts";
import { type GroupRelativeOptions, groupRelativeAdvantages } from "./group-relative.ts";
import { lineage, ownTurns, perOwnTurn } from "./tree.ts";

/**
 * ARPO's hard attribution (arXiv:2507.19849, §3.2): each leaf has its group-relative advantage, and a turn that several leaves share
 * has the mean of theirs.
 *
 *   A(turn) = mean over the leaves i whose path goes through the turn of A_i
 *
 * A shared turn stands, and is trained, in the trajectory that it was first played in. Soft attribution needs nothing of its own: each
 * leaf is trained whole, and what is shared receives the sum.
 * @returns by trajectory, one advantage for each of its turns from its own first one on (see `ownTurns`)
 * @throws EnvError for a return that is not finite, ShapeError for a branch from a trajectory that is not in the group
 */
export function sharedMeanAdvantages(
  groups: readonly Group[],
  options: GroupRelativeOptions,
): ReadonlyMap<TrajectoryId, readonly number[]> {
  const ofLeaf = groupRelativeAdvantages(groups, options);
  return new Map(groups.flatMap((group) => [...sharedMeans(group, (id) => ofLeaf.get(id) ?? 0)]));
}

function sharedMeans(group: Group, ofLeaf: (id: TrajectoryId) => number): [TrajectoryId, number[]][] {
  const { trajectories } = group;
  const through = new Map(trajectories.map(({ id, turns }) => [id, turns.map((): number[] => [])]));
  for (const leaf of trajectories)
    for (const [turn, { id }] of ownersOf(leaf, group).entries()) through.get(id)?.[turn]?.push(ofLeaf(leaf.id));
  return trajectories.map((trajectory) => {
    const { id, turns } = trajectory;
    const own = ownTurns(trajectory).length;
    return [id, (through.get(id) ?? []).slice(turns.length - own).map(mean)];
  });
}

/**
 * Returns the values of every turn of a leaf, those included that it shares.
 * @param perOwnTurn by trajectory, one value for each of its turns from its own first one on
 */
export function alongPaths<Value>(
  groups: readonly Group[],
  perOwnTurn: ReadonlyMap<TrajectoryId, readonly Value[]>,
): Map<TrajectoryId, readonly Value[]> {
  const heldBy = ({ id, branch }: Trajectory, turn: number) => {
    const own = turn - (branch?.turn ?? 0);
    return perOwnTurn.get(id)?.slice(own, own + 1) ?? [];
  };
  return new Map(
    groups.flatMap((group) => group.trajectories.map((leaf) => [leaf.id, ownersOf(leaf, group).flatMap(heldBy)] as const)),
  );
}

/** By turn, the trajectory that a turn of a leaf was first played in. */
function ownersOf(leaf: Trajectory, group: Group): Trajectory[] {
  const path = lineage(leaf, group);
  return leaf.turns.map((_, turn) => path.find(({ branch }) => turn >= (branch?.turn ?? 0)) ?? leaf);
}

export const sharedMeanKind = defineAdvantage({
  kind: "shared-mean",
  formula: "of branches: group-relative on the leaves; turns that leaves share are trained once, with their mean",
  source: "arXiv:2507.19849",
  comparedWithin: "group",
  trainsSharedTurnsOnce: true,
  settings: { std, singletonGroups },
  estimate: (evidence, config) => perOwnTurn(evidence.groups, sharedMeanAdvantages(penalised(evidence), config)),
});
