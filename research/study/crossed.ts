import {
  criticalValues,
  crossed,
  halfSquared,
  type MeanSquares,
  type SeedsByTasks,
  type Sizes,
  sizesOf,
} from "../../src/statistics/clustered.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { solve } from "../../src/statistics/special.ts";

/** The one-sided p-value of a distance from the mean: the tail whose interval just reaches it. @param squares not all 0 */
function tailBeyond(distance: number, squares: MeanSquares, sizes: Sizes): number {
  if (distance < 0) return 1 - tailBeyond(-distance, squares, sizes);
  const inside = (tail: number) => -Math.sqrt(halfSquared(squares, criticalValues(sizes, tail)));
  return solve(inside, -distance, 0, 0.5, 60);
}

export interface CrossedTest {
  /** The mean, with the interval that excludes 0 where p is below 0.05. */
  readonly difference: Estimate;
  /** Two-sided, of "the mean is 0", over seeds and tasks. */
  readonly pValue: number;
}

/**
 * Tests whether the mean of paired differences over seeds and tasks is 0: p is the level at which their interval just reaches 0.
 * @param differences by seed and task; at least two of each
 * @throws RangeError if there are fewer
 */
export function crossedTest(differences: SeedsByTasks): CrossedTest {
  const difference = crossedInterval(differences);
  const { middle, squares } = crossed(differences);
  const sizes = sizesOf(differences);
  const equal = squares.every((square) => square === 0);
  // Of equal differences: what their signs alone say.
  const ofSigns = middle === 0 ? 1 : 2 ** (1 - sizes[0] * sizes[1]);
  return { difference, pValue: equal ? ofSigns : 2 * tailBeyond(Math.abs(middle), squares, sizes) };
}

/**
 * Computes the mean of paired differences with the 95 % interval of `seedsAndTasksInterval`, in no range. Where all are 0 it has the width of six
 * pairs in one direction.
 * @param differences by seed and task; at least two of each
 * @throws RangeError if there are fewer
 */
export function crossedInterval(differences: SeedsByTasks): Estimate {
  const [seeds, tasks] = sizesOf(differences);
  if (seeds < 2 || tasks < 2) throw new RangeError(`${seeds} × ${tasks} values; a test over seeds and tasks needs two of each`);
  const { middle, squares } = crossed(differences);
  const half = Math.sqrt(halfSquared(squares, criticalValues([seeds, tasks], 0.025)));
  const width = half === 0 && middle === 0 ? 6 / (seeds * tasks) : half;
  return { mean: middle, low: middle - width, high: middle + width };
}
