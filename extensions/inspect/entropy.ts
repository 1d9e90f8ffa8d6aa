import type { Trajectory, Turn } from "../../src/core/trajectory.ts";

/** The messages an action answers: the task's first ones, the result of a tool call (or what replaced it), or one of the user. */
export const occasions = ["start", "tool", "user"] as const;
export type Occasion = (typeof occasions)[number];

/** Entropy of the action tokens at one distance from what was answered. */
export interface EntropyPoint {
  /** 0, 1, …: the first tokens after it; −1, −2, …: the last tokens of the action before it. */
  readonly offset: number;
  /** Nats. */
  readonly mean: number;
  /** Tokens in the mean. */
  readonly count: number;
}

export interface EntropyOptions {
  /** Tokens after an occasion. 20: as many as ARPO decides by. */
  readonly after?: number;
  /** Tokens before it. */
  readonly before?: number;
}

/**
 * Token entropy around tool results, averaged: the first figure of ARPO (arXiv:2507.19849), on recorded rollouts. Turns that branches
 * share count once.
 * @returns for each occasion its points by offset; none where there was no such occasion
 */
export function entropyAround(
  trajectories: Iterable<Trajectory>,
  { after = 20, before = 10 }: EntropyOptions = {},
): Readonly<Record<Occasion, readonly EntropyPoint[]>> {
  const sums = { start: new Sums(), tool: new Sums(), user: new Sums() };
  for (const { turns, branch } of trajectories) {
    for (const [t, { entropies }] of turns.entries()) {
      if (t < (branch?.turn ?? 0)) continue;
      const kept = t === branch?.turn ? (branch.kept ?? 0) : 0;
      const previous = turns[t - 1];
      const of = sums[occasionOf(previous)];
      const last = previous?.entropies.slice(Math.max(0, previous.entropies.length - before)) ?? [];
      if (kept === 0) for (const [i, entropy] of last.entries()) of.add(i - last.length, entropy);
      for (const [offset, entropy] of entropies.slice(0, after).entries()) if (offset >= kept) of.add(offset, entropy);
    }
  }
  return { start: sums.start.points(), tool: sums.tool.points(), user: sums.user.points() };
}

function occasionOf(previous: Turn | undefined): Occasion {
  if (previous === undefined) return "start";
  return previous.toolCalls + previous.invalidToolCalls > 0 ? "tool" : "user";
}

class Sums {
  readonly #sums = new Map<number, { sum: number; count: number }>();

  add(offset: number, entropy: number): void {
    const { sum, count } = this.#sums.get(offset) ?? { sum: 0, count: 0 };
    this.#sums.set(offset, { sum: sum + entropy, count: count + 1 });
  }

  points(): EntropyPoint[] {
    const byOffset = [...this.#sums].sort(([a], [b]) => a - b);
    return byOffset.map(([offset, { sum, count }]) => ({ offset, mean: sum / count, count }));
  }
}
