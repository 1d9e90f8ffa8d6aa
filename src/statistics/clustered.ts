import { mean } from "../core/mean.ts";
import { randomStream } from "../core/random.ts";
import type { Estimate } from "./estimate.ts";
import { gamma } from "./gamma.ts";
import { type IntervalOptions, meanInterval } from "./intervals.ts";
import { logGamma, solve, studentQuantile } from "./special.ts";

/** Values by seed (rows) and task (columns): every seed measured the same tasks. */
export type SeedsByTasks = readonly (readonly number[])[];

/**
 * Estimates a mean over training seeds and tasks, both taken as samples, with an interval that allows for both. Seeds and tasks are crossed, so the
 * variance of the grand mean is a sum of two parts of a two-way table (Searle et al., Variance Components, §4.5), and each has its own t:
 *
 *   half² = t²_{S−1} · MS_seed / (S·T)  +  t²_{T−1} · max(MS_task − MS_rest, 0) / (S·T),   low, high = mean ∓ half
 *
 * Few seeds say little of other seeds, but nothing less of the tasks: one t of S − 1 for both made three seeds say less than one. Where this is
 * narrower than the interval of the tasks alone, as near 0 and 1, it is widened to that one (`meanInterval`). With one seed it is that one:
 * then nothing is known of other seeds.
 * @throws RangeError if a row has another length, or there are no values
 */
export function seedsAndTasksInterval(values: SeedsByTasks, options: IntervalOptions): Estimate {
  const [seeds, tasks] = sizesOf(values);
  const columnMeans = values[0].map((_, task) => mean(values.map((row) => row[task])));
  const all = values.flat();
  const [low, high] = options.range ?? [Math.min(0, ...all), Math.max(1, ...all)];
  const byTask = meanInterval(columnMeans, { ...options, range: [low, high] });
  if (seeds === 1 || tasks === 1) return byTask;

  const { middle, squares } = crossed(values);
  const half = Math.sqrt(halfSquared(squares, criticalValues([seeds, tasks], (1 - (options.level ?? 0.95)) / 2)));
  return {
    mean: middle,
    low: Math.max(low, Math.min(byTask.low, middle - half)),
    high: Math.min(high, Math.max(byTask.high, middle + half)),
  };
}

/** The mean squares of seeds, tasks and the rest, over the number of values: each a variance of the grand mean. */
type MeanSquares = readonly [seeds: number, tasks: number, rest: number];
type Sizes = readonly [seeds: number, tasks: number];

/** The grand mean of a two-way table, and its mean squares over S·T. */
function crossed(values: SeedsByTasks): { readonly middle: number; readonly squares: MeanSquares } {
  const [seeds, tasks] = sizesOf(values);
  const rowMeans = values.map(mean);
  const columnMeans = values[0].map((_, task) => mean(values.map((row) => row[task])));
  const middle = mean(rowMeans);
  const sum = (deviations: readonly number[]) => deviations.reduce((total, deviation) => total + deviation ** 2, 0);
  const rest = values.flatMap((row, s) => row.map((value, t) => value - rowMeans[s] - columnMeans[t] + middle));
  const squares: MeanSquares = [
    sum(rowMeans.map((value) => value - middle)) / (seeds * (seeds - 1)),
    sum(columnMeans.map((value) => value - middle)) / (tasks * (tasks - 1)),
    sum(rest) / (seeds * tasks * (seeds - 1) * (tasks - 1)),
  ];
  return { middle, squares };
}

/** t of seeds and of tasks beyond which a share `tail` lies on one side. */
function criticalValues([seeds, tasks]: Sizes, tail: number): readonly [number, number] {
  return [studentQuantile(1 - tail, seeds - 1), studentQuantile(1 - tail, tasks - 1)];
}

/** half² of `seedsAndTasksInterval`. Never below that of the tasks, or of the rest, alone: the means of few seeds can agree by chance. */
function halfSquared([s, t, rest]: MeanSquares, [ofSeeds, ofTasks]: readonly [number, number]): number {
  return Math.max(ofSeeds ** 2 * s + ofTasks ** 2 * Math.max(t - rest, 0), ofTasks ** 2 * Math.max(t, rest));
}

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

/**
 * Returns the p-value of "the mean is not within ± margin", of two one-sided tests (Schuirmann, 1987): the larger, by the interval of
 * `seedsAndTasksInterval`.
 * @param differences by seed and task; at least two of each
 */
export function equivalencePValue(differences: SeedsByTasks, margin: number): number {
  const { middle, squares } = crossed(differences);
  const inside = margin - Math.abs(middle);
  if (squares.every((square) => square === 0)) return Number(inside <= 0);
  return tailBeyond(inside, squares, sizesOf(differences));
}

/** Returns second minus first, paired by seed and task. @throws RangeError if the tables differ in size */
export function pairedBySeed(first: SeedsByTasks, second: SeedsByTasks): number[][] {
  const [a, b] = [sizesOf(first), sizesOf(second)];
  if (a[0] !== b[0] || a[1] !== b[1]) throw new RangeError(`${a.join(" × ")} values cannot be paired with ${b.join(" × ")}`);
  return second.map((row, s) => row.map((value, t) => value - first[s][t]));
}

function sizesOf(values: SeedsByTasks): [seeds: number, tasks: number] {
  const tasks = values[0]?.length ?? 0;
  if (tasks === 0) throw new RangeError("a table of seeds and tasks needs at least one value");
  const other = values.findIndex((row) => row.length !== tasks);
  if (other !== -1) throw new RangeError(`seed ${other} has ${values[other].length} tasks, and seed 0 has ${tasks}`);
  return [values.length, tasks];
}
