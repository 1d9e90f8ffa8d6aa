import { type Random, randomStream } from "../../src/core/random.ts";
import type { Group, TokenId } from "../../src/core/trajectory.ts";
import { groupOf } from "./table-policy.ts";

export const vocabularySize = 4;

export interface World {
  readonly table: number[][];
  readonly groups: readonly Group[];
}

/** A random table and random rollouts: 2 to 4 groups of 1 to 4 trajectories of 0 to 3 turns, returns 0, 0.5 or 1. */
export function randomWorld(seed: number): World {
  const random = randomStream(seed, "world");
  const tokens = (count: number): TokenId[] => listOf(count, () => random.integer(vocabularySize));
  return {
    table: listOf(vocabularySize, () => listOf(vocabularySize, () => random.normal())),
    groups: listOf(between(random, 2, 4), (g) =>
      groupOf(
        `group-${g}`,
        listOf(between(random, 1, 4), () => ({
          reward: random.pick([0, 0.5, 1]),
          turns: listOf(between(random, 0, 3), () => ({ context: tokens(2), action: tokens(between(random, 1, 4)) })),
        })),
      ),
    ),
  };
}

/** A turn whose context is one token. */
export const turn = (context: number, action: readonly TokenId[]) => ({ context: [context], action });

const pair: Group = groupOf("b", [
  { reward: 9, turns: [turn(0, [3, 3, 2])] },
  { reward: 0.5, turns: [turn(0, [1]), turn(1, [0, 2])] },
]);

/** Two groups of up to two turns, all returns different. */
export const shortGroups: readonly Group[] = [
  groupOf("a", [
    { reward: 0, turns: [turn(1, [2, 3]), turn(0, [1, 1, 0])] },
    { reward: 1, turns: [turn(1, [0])] },
    { reward: 0.25, turns: [turn(1, [2]), turn(2, [0, 1])] },
  ]),
  pair,
];

/** Two groups, turns of unequal number, all returns different: every setting of turn updates matters. */
export const longGroups: readonly Group[] = [
  groupOf("a", [
    { reward: 0, turns: [turn(1, [2, 3]), turn(0, [1, 1, 0]), turn(2, [3])] },
    { reward: 1, turns: [turn(1, [0, 3]), turn(3, [2])] },
    { reward: 0.25, turns: [turn(1, [2]), turn(2, [0, 0, 1]), turn(1, [1, 2])] },
  ]),
  pair,
];

function between(random: Random, low: number, high: number): number {
  return low + random.integer(high - low + 1);
}

function listOf<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}
