import { mean } from "../../src/core/mean.ts";
import { randomStream } from "../../src/core/random.ts";
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
import { gamma } from "../../src/statistics/gamma.ts";
import { logGamma, solve } from "../../src/statistics/special.ts";

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

/** Studies that are drawn to find the smallest difference: its power is known to about a point and a half. */
const drawnStudies = 800;

/**
 * Returns the mean that `crossedTest` would see in four of five studies, by drawing some whose seeds, tasks and rest vary as these do: mean squares
 * of normal deviates are m·χ²/df, and the grand mean has the variance (MS_seed + MS_task − MS_rest) / (S·T). The mean square of a few seeds has a root
 * that is too small on average, by c4 = √(2/df) · Γ((df + 1)/2) / Γ(df/2); it is divided by c4, with which simulated power is 74 to 87 %.
 * The smallest is at least what six pairs in one direction make, the fewest that an exact test calls different.
 * @param differences by seed and task; at least two of each
 */
export function smallestCrossed(differences: SeedsByTasks): number {
  const { squares } = crossed(differences);
  const sizes = sizesOf(differences);
  const [seeds, tasks] = sizes;
  const least = 6 / (seeds * tasks);
  if (squares.every((square) => square === 0)) return least;
  const random = randomStream(1, "smallest", seeds, tasks);
  const c4 = Math.sqrt(2 / (seeds - 1)) * Math.exp(logGamma(seeds / 2) - logGamma((seeds - 1) / 2));
  const [s, t, rest] = [squares[0] / c4, squares[1], squares[2]];
  const deviation = Math.sqrt(Math.max(s + t - rest, Math.min(s, t)));
  const chiSquare = (df: number) => gamma(df / 2, random) / (df / 2);
  const critical = criticalValues(sizes, 0.025);
  const drawn = Array.from({ length: drawnStudies }, () => {
    const drawnSquares = [
      s * chiSquare(seeds - 1),
      t * chiSquare(tasks - 1),
      rest * chiSquare((seeds - 1) * (tasks - 1)),
    ] as const;
    return { noise: deviation * random.normal(), needed: Math.sqrt(halfSquared(drawnSquares, critical)) };
  });
  const power = (shift: number) => mean(drawn.map(({ noise, needed }) => Number(Math.abs(shift + noise) > needed)));
  const far = Math.max(...drawn.map(({ noise, needed }) => needed - noise));
  return Math.max(least, solve(power, 0.8, 0, far, 30));
}
