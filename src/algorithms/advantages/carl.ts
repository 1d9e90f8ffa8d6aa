import { mean } from "../../core/mean.ts";
import type { Group, Trajectory, TrajectoryId } from "../../core/trajectory.ts";
import { spread } from "../step/episodes.ts";
import { defineAdvantage, needsBranches, penalised } from "./advantage.ts";
import { returnsOf } from "./by-group.ts";
import { forksOf } from "./tree.ts";

/**
 * CARL (arXiv:2512.04949v3, §5, eq. 10, 11 and 13): only turns that were tried in several ways are trained, each by what its own choice
 * changed. A state is a context that turns answer to, its children the turns that were sampled there.
 *
 *   V(end of a trajectory) = R          V(state) = mean over its children of the V that each leads to
 *   A(turn) = V(the state it leads to) − V(its own state)          trained only where its state has at least two children
 *
 * Values are plain means over children. `tree` weighs them by their leaves, which is biased (appendix A.1). All others are left out of
 * the update, not weighted with 0. The paper forks where entropy per child is greatest; which are forked here is the branching rule's
 * choice.
 * @returns by trajectory, the advantage of each turn that is trained, by its index
 * @throws EnvError for a return that is not finite, ShapeError for a branch from a trajectory that is not in the group
 */
export function carlAdvantages(groups: readonly Group[]): ReadonlyMap<TrajectoryId, ReadonlyMap<number, number>> {
  return new Map(groups.flatMap((group) => [...criticalTurns(group)]));
}

function criticalTurns(group: Group): Map<TrajectoryId, Map<number, number>> {
  const returns = new Map(returnsOf(group).map((value, i) => [group.trajectories[i].id, value]));
  const { roots, forks } = forksOf(group);
  const advantages = new Map(group.trajectories.map(({ id }) => [id, new Map<number, number>()]));
  const siblingsAt = (path: Trajectory, turn: number) => forks.get(path.id)?.find((fork) => fork.turn === turn)?.children ?? [];
  /** V of the state that several paths go on from at a turn. Records what each of these choices changed. */
  const compared = (paths: readonly Trajectory[], turn: number): number => {
    const values = paths.map((path) => valueAfter(path, turn));
    const value = mean(values);
    if (paths.length > 1) for (const [i, { id }] of paths.entries()) advantages.get(id)?.set(turn, values[i] - value);
    return value;
  };
  /** V of the state that a path's turn leads to: that of its next state with a choice, or its return. */
  const valueAfter = (path: Trajectory, turn: number): number => {
    for (let next = turn + 1; next < path.turns.length; next++) {
      const siblings = siblingsAt(path, next);
      if (siblings.length > 0) return compared([path, ...siblings], next);
    }
    return returns.get(path.id) ?? Number.NaN;
  };
  if (roots.length > 0) compared(roots, 0);
  return advantages;
}

export const carlKind = defineAdvantage({
  kind: "carl",
  formula: "of branches: as `tree`, only at turns with siblings; other turns are not trained",
  source: "arXiv:2512.04949",
  comparedWithin: "group",
  trainsSharedTurnsOnce: true,
  metrics: {
    criticalTurns: { fold: "mean", meaning: "CARL: share of the turns that have siblings, and are trained." },
  },
  settings: {},
  unmet: needsBranches,
  estimate: (evidence) => {
    const perTurn = carlAdvantages(penalised(evidence));
    const all = evidence.groups.flatMap(({ trajectories }) => trajectories);
    const episodes = all.map((trajectory) => ({
      trajectory,
      turns: trajectory.turns.filter((_, turn) => perTurn.get(trajectory.id)?.has(turn)),
    }));
    const advantages = episodes.flatMap(({ trajectory, turns }) =>
      spread(
        turns,
        [...(perTurn.get(trajectory.id)?.entries() ?? [])].sort(([a], [b]) => a - b).map(([, advantage]) => advantage),
      ),
    );
    const sampled = all.reduce((sum, { turns, branch }) => sum + turns.length - (branch?.turn ?? 0), 0);
    return { episodes, advantages, metrics: { ...(sampled > 0 && { criticalTurns: advantages.length / sampled }) } };
  },
});
