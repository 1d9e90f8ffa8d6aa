import type { Random } from "../../core/random.ts";
import type { ActionInContext, Group } from "../../core/trajectory.ts";
import type { Episode } from "../step/episodes.ts";

export type TurnOrder = "reverse" | "sequential" | "random" | readonly number[];

/**
 * The turns to update, each once, as indices from 0.
 * A given list is taken as it is: turns that are not in it are left out, and those that no trajectory reaches are empty.
 */
export function turnOrder(groups: readonly Group[], order: TurnOrder, random: Random): readonly number[] {
  if (typeof order !== "string") return order;
  const turns = Math.max(0, ...groups.flatMap(({ trajectories }) => trajectories.map((trajectory) => trajectory.turns.length)));
  const sequential = Array.from({ length: turns }, (_, turn) => turn);
  switch (order) {
    case "sequential":
      return sequential;
    case "reverse":
      return sequential.reverse();
    case "random":
      return random.shuffle(sequential);
    default:
      return order satisfies never;
  }
}

/** Turns of one index. */
export interface TurnUpdate {
  /** Those that can move the policy. */
  readonly samples: readonly ActionInContext[];
  /** All turns of the turn update: what the mean of its loss divides by. */
  readonly rows: number;
}

/**
 * One turn update for each turn of the order, over the trajectories that have that turn.
 * Turn updates that cannot move the policy are dropped: with a gradient of zero, Adam's momentum would still move it.
 * @param moves whether a turn contributes to the gradient at all
 */
export function turnUpdatesOf(
  groups: readonly Group[],
  order: readonly number[],
  moves: (sample: ActionInContext) => boolean,
): TurnUpdate[] {
  const trajectories = groups.flatMap((group) => group.trajectories);
  return order
    .map((turn) => trajectories.flatMap(({ turns }) => (turn < turns.length ? [turns[turn]] : [])))
    .map((samples) => ({ samples: samples.filter(moves), rows: samples.length }))
    .filter(({ samples }) => samples.length > 0);
}

/** The trajectories of the samples, each with those of its turns that are among them. */
export function updatedEpisodes(groups: readonly Group[], samples: readonly ActionInContext[]): Episode[] {
  const updated = new Set(samples);
  return groups
    .flatMap(({ trajectories }) => trajectories)
    .map((trajectory) => ({ trajectory, turns: trajectory.turns.filter((turn) => updated.has(turn)) }))
    .filter(({ turns }) => turns.length > 0);
}
