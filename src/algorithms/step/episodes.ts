import type { Group, Trajectory, Turn } from "../../core/trajectory.ts";
import { type Aggregation, tokenScales } from "../objectives/aggregation.ts";
import type { TokenRows } from "../objectives/objective.ts";

/** A trajectory and those of its turns that are trained. A batch's rows are these turns, one after another. */
export interface Episode {
  readonly trajectory: Trajectory;
  readonly turns: readonly Turn[];
}

export function turnsOf(episodes: readonly Episode[]): Turn[] {
  return episodes.flatMap(({ turns }) => turns);
}

/** One row per trajectory from one row per turn. */
export function joined(episodes: readonly Episode[], rows: TokenRows): number[][] {
  let next = 0;
  return episodes.map(({ turns }) => {
    const [first = [], ...rest] = rows.slice(next, next + turns.length);
    next += turns.length;
    return first.concat(...rest);
  });
}

/** One row per turn from one row per trajectory: undoes `joined`. */
export function cut(episodes: readonly Episode[], rows: TokenRows): number[][] {
  return episodes.flatMap(({ turns }, e) => {
    let start = 0;
    return turns.map(({ action }) => {
      start += action.length;
      return rows[e].slice(start - action.length, start);
    });
  });
}

/** For one row per turn: whether it is its trajectory's last. */
export function trajectoryEnds(episodes: readonly Episode[]): boolean[] {
  return episodes.flatMap(({ turns }) => turns.map((_, i) => i === turns.length - 1));
}

/** The same number at every token of a turn. @param values one per turn */
export function spread(turns: readonly Pick<Turn, "action">[], values: readonly number[]): number[][] {
  return turns.map(({ action }, i) => new Array<number>(action.length).fill(values[i]));
}

/** Computes how much a token of each trajectory counts in the loss: a sequence is a trajectory. */
export function episodeScales(episodes: readonly Episode[], aggregation: Aggregation): number[] {
  return tokenScales(
    episodes.map(({ turns }) => turns.reduce((sum, { action }) => sum + action.length, 0)),
    aggregation,
  );
}

export function withReturns(groups: readonly Group[], change: (trajectory: Trajectory) => number): Group[] {
  return groups.map((group) => ({
    ...group,
    trajectories: group.trajectories.map((trajectory) => ({ ...trajectory, reward: change(trajectory) })),
  }));
}
