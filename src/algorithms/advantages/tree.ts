import { ShapeError } from "../../core/errors.ts";
import { mean } from "../../core/mean.ts";
import { present } from "../../core/present.ts";
import type { Group, Trajectory, TrajectoryId } from "../../core/trajectory.ts";
import { spread } from "../step/episodes.ts";
import { defineAdvantage, type Estimate, episodesOf, penalised, singletonGroups } from "./advantage.ts";
import { returnsOf, type SingletonGroups } from "./by-group.ts";
import { differ } from "./statistics.ts";

/**
 * Advantages on trees of branched rollouts. At a point where a trajectory was forked, each way on is a child; its value is the mean
 * return of the leaves under it. The first rollouts of a task are the children of the root.
 *
 *   A(turn) = Σ over the branch points at or before it, along its path, of  value(child) − mean of the values of all its siblings
 *
 * Without branches this is the group-relative advantage without a deviation, bit for bit. A forked trajectory's turns before the fork
 * are those of the one that it was forked from, and are trained there, once.
 * @returns by trajectory, one advantage for each of its turns from its own first one on (see `ownTurns`)
 * @throws EnvError for a return that is not finite, ShapeError for a branch from a trajectory that is not in the group
 * @example
 * treeAdvantages(groups, { singletonGroups: "zero" }).get("step-1/0/3"); // one number for each of its own turns
 */
export function treeAdvantages(
  groups: readonly Group[],
  { singletonGroups: singletons }: { readonly singletonGroups: SingletonGroups },
): ReadonlyMap<TrajectoryId, readonly number[]> {
  return new Map(groups.flatMap((group) => [...treeOf(group, singletons)]));
}

/** The turns of a trajectory that it does not share with the one that it was forked from. */
export function ownTurns({ turns, branch }: Trajectory): Trajectory["turns"] {
  return branch === undefined ? turns : turns.slice(branch.turn);
}

/** The first token that is not shared any more: a turn, and a token of its action. */
export interface SharedEnd {
  readonly turn: number;
  readonly token: number;
}

/** The end of what a trajectory shares with the one that it was forked from. */
export function sharedEnd({ branch }: Pick<Trajectory, "branch">): SharedEnd {
  return { turn: branch?.turn ?? 0, token: branch?.kept ?? 0 };
}

export function isBefore(a: SharedEnd, b: SharedEnd): boolean {
  return a.turn < b.turn || (a.turn === b.turn && a.token < b.token);
}

/** True for a trajectory that shares tokens with the one that it was forked from. One forked at its beginning is a rollout from the root. */
export function isFork(trajectory: Pick<Trajectory, "branch">): boolean {
  return isBefore({ turn: 0, token: 0 }, sharedEnd(trajectory));
}

/**
 * A trajectory, the one that it was forked from, and so on to the rollout from the root, which is last.
 * @throws ShapeError for a branch from a trajectory that is not in the group, and for a circle
 */
export function lineage(trajectory: Trajectory, { trajectories }: Group): readonly [Trajectory, ...Trajectory[]] {
  const path: [Trajectory, ...Trajectory[]] = [trajectory];
  for (let last = trajectory; last.branch !== undefined && isFork(last); path.push(last)) {
    const { id, branch } = last;
    const parent = trajectories.find((each) => each.id === branch.from);
    const expected = parent === undefined ? "a trajectory of the same group" : "a tree, not a circle";
    if (parent === undefined || path.length > trajectories.length)
      throw new ShapeError(`branch of trajectory ${id}`, branch.from, { expected });
    last = parent;
  }
  return path;
}

export interface Fork {
  readonly turn: number;
  readonly children: readonly Trajectory[];
}

function treeOf(group: Group, singletons: SingletonGroups): Map<TrajectoryId, number[]> {
  const returns = new Map(returnsOf(group).map((value, i) => [group.trajectories[i].id, value]));
  const { roots, forks } = forksOf(group);
  const forksFrom = (path: Trajectory, turn: number) => (forks.get(path.id) ?? []).filter((fork) => fork.turn >= turn);
  /** Returns of the leaves on a path and on what was forked from it at a turn or later. */
  const leaves = (path: Trajectory, turn: number): number[] => [
    returns.get(path.id) ?? Number.NaN,
    ...forksFrom(path, turn).flatMap(({ children }) => children.flatMap((child) => leaves(child, child.branch?.turn ?? 0))),
  ];

  const advantages = new Map<TrajectoryId, number[]>();
  const walk = (path: Trajectory, from: number, inherited: number) => {
    const perTurn = ownTurns(path).map(() => inherited);
    let advantage = inherited;
    for (const { turn, children } of forksFrom(path, from)) {
      const values = [mean(leaves(path, turn + 1)), ...children.map((child) => mean(leaves(child, turn + 1)))];
      const [own, ...others] = aboveMean(values);
      for (const [i, child] of children.entries()) walk(child, turn + 1, advantage + others[i]);
      advantage += own;
      const first = path.branch?.turn ?? 0;
      for (let t = turn; t < path.turns.length; t++) perTurn[t - first] = advantage;
    }
    advantages.set(path.id, perTurn);
  };
  const rootValues = roots.map((root) => mean(leaves(root, 0)));
  const above = roots.length === 1 && singletons === "raw" ? rootValues : aboveMean(rootValues);
  for (const [i, root] of roots.entries()) walk(root, 0, above[i]);
  return advantages;
}

function aboveMean(values: readonly number[]): number[] {
  if (!differ(values)) return values.map(() => 0);
  const centre = mean(values);
  return values.map((value) => value - centre);
}

/**
 * By the path that was forked, where and into what, first turn first. A fork at or before the turn at which the forked trajectory itself
 * began belongs to that one's own origin. A fork at turn 0 shares nothing: it is a rollout from the root.
 */
export function forksOf(group: Group): { roots: Trajectory[]; forks: Map<TrajectoryId, Fork[]> } {
  const roots: Trajectory[] = [];
  const children = new Map<TrajectoryId, Map<number, Trajectory[]>>();
  for (const trajectory of group.trajectories) {
    const { branch } = trajectory;
    if (branch === undefined || branch.turn === 0) {
      roots.push(trajectory);
      continue;
    }
    const [, ...above] = lineage(trajectory, group);
    const { id } = present(
      above.find((path) => branch.turn > (path.branch?.turn ?? 0)),
      "the path that a fork is of",
    );
    const at = children.get(id) ?? new Map<number, Trajectory[]>();
    children.set(id, at.set(branch.turn, [...(at.get(branch.turn) ?? []), trajectory]));
  }
  const forks = new Map(
    [...children].map(([id, at]) => [
      id,
      [...at].map(([turn, forked]) => ({ turn, children: forked })).sort((a, b) => a.turn - b.turn),
    ]),
  );
  return { roots, forks };
}

export const treeKind = defineAdvantage({
  kind: "tree",
  formula: "of branches: at every fork the mean return of the leaves below the path, minus its siblings', summed along the path",
  source: "ours",
  comparedWithin: "group",
  trainsSharedTurnsOnce: true,
  settings: { singletonGroups },
  estimate: (evidence, config) => perOwnTurn(evidence.groups, treeAdvantages(penalised(evidence), config)),
});

/** One number for all tokens of a turn. Each trajectory trains its own turns alone. */
export function perOwnTurn(groups: readonly Group[], advantages: ReadonlyMap<TrajectoryId, readonly number[]>): Estimate {
  const episodes = episodesOf(groups, ownTurns);
  const rows = episodes.flatMap(({ trajectory, turns }) => spread(turns, advantages.get(trajectory.id) ?? []));
  return { episodes, advantages: rows, metrics: {} };
}
