import type { Sees } from "./policy.ts";
import type { Size } from "./problem.ts";

/** A problem and a start from which some update lowers J, found by a search too long to repeat in every run. */
export interface KnownExample {
  readonly sees: Sees;
  readonly size: Size;
  readonly rewards: readonly number[];
  readonly policy: readonly number[];
}

const letters = { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 };
const words = { turns: 2, tokens: 2, vocabulary: 2, contexts: 1 };

/**
 * All of the clipped M where turns see their own index only: with two tokens an action its r is the geometric mean over them, not the turn's
 * ratio, and rewards must be arranged for that to matter. The search tries them for every cell of this sight.
 */
export const knownExamples: readonly KnownExample[] = [
  { sees: "index", size: letters, rewards: [10, 1, 0, 2], policy: [0.1, 0.9, 0.1, 0.9] },
  {
    sees: "index",
    size: words,
    rewards: [0, 0, 6, 0, 0, 0, 10, 0, 8, 10, 0, 10, 0, 6, 1, 0],
    policy: [0.5, 0.5, 0.1, 0.9, 0.9, 0.1, 0.5, 0.5, 0.1, 0.9, 0.9, 0.1],
  },
  {
    sees: "index",
    size: words,
    rewards: [0, 2, 4, 0, 1, 3, 1, 2, 1, 3, 1, 2, 3, 1, 2, 2],
    policy: [0.1, 0.9, 0.25, 0.75, 0.5, 0.5, 0.9, 0.1, 0.5, 0.5, 0.5, 0.5],
  },
  {
    sees: "index",
    size: words,
    rewards: [0, 2, 2, 0, 2, 0, 0, 2, 1, 1, 2, 0, 1, 0, 0, 0],
    policy: [0.9, 0.1, 0.5, 0.5, 0.5, 0.5, 0.9, 0.1, 0.5, 0.5, 0.9, 0.1],
  },
  {
    sees: "index",
    size: words,
    rewards: [8, 0, 0, 3, 10, 9, 0, 0, 1, 10, 10, 9, 10, 1, 9, 1],
    policy: [0.1, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 0.1, 0.1, 0.9],
  },
  {
    sees: "index",
    size: words,
    rewards: [0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0],
    policy: [0.5, 0.5, 0.9, 0.1, 0.25, 0.75, 0.5, 0.5, 0.1, 0.9, 0.1, 0.9],
  },
];
