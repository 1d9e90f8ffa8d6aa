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

function between(random: Random, low: number, high: number): number {
  return low + random.integer(high - low + 1);
}

function listOf<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}
