import type { Estimate } from "./estimate.ts";
import { signFlipTest } from "./exact-tests.ts";
import { type IntervalOptions, meanInterval } from "./intervals.ts";
import { smallestDetectable } from "./power.ts";

/** The result of a comparison on the same tasks. */
export interface PairedComparison {
  /** Second minus first, over tasks. */
  readonly difference: Estimate;
  /** Two-sided, of the sign-flip test; of McNemar's where each task has one attempt. */
  readonly pValue: number;
  readonly exact: boolean;
  readonly tasks: number;
  /** Tasks on which the second did better, and worse. */
  readonly better: number;
  readonly worse: number;
  /** The smallest difference that would have been seen in four of five such comparisons. */
  readonly smallest: number;
}

export interface PairedOptions extends Pick<IntervalOptions, "seed" | "level"> {
  /** Least and greatest value of one task. Default [0, 1], widened to what was measured. */
  readonly range?: readonly [low: number, high: number];
  /** The least difference that one task can show. Default: 1. */
  readonly step?: number;
}

/** Returns the values of both sides where both have one: what has no score is no pair. */
export function scoredPairs(
  first: readonly (number | undefined)[],
  second: readonly (number | undefined)[],
): [first: number[], second: number[]] {
  const pairs = first.flatMap((value, i) => {
    const other = second[i];
    return value === undefined || other === undefined ? [] : [[value, other] as const];
  });
  return [pairs.map(([value]) => value), pairs.map(([, value]) => value)];
}

/**
 * Compares two measurements of the same tasks, task by task.
 * @param first, second one value a task, in the same order
 * @throws RangeError if there are no tasks, or not as many on both sides
 */
export function comparePaired(
  first: readonly number[],
  second: readonly number[],
  { seed, level, range, step = 1 }: PairedOptions,
): PairedComparison {
  if (first.length !== second.length) throw new RangeError(`${first.length} values cannot be paired with ${second.length}`);
  const differences = second.map((value, i) => value - first[i]);
  const [low, high] = range ?? [Math.min(0, ...first, ...second), Math.max(1, ...first, ...second)];
  return {
    difference: meanInterval(differences, { seed, level, range: [low - high, high - low] }),
    ...signFlipTest(differences, seed),
    tasks: differences.length,
    better: differences.filter((difference) => difference > 0).length,
    worse: differences.filter((difference) => difference < 0).length,
    smallest: smallestDetectable(differences, step),
  };
}
