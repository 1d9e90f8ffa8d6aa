import { mean } from "../core/mean.ts";
import { randomStream } from "../core/random.ts";
import type { Estimate } from "./estimate.ts";
import { gamma } from "./gamma.ts";
import { type IntervalOptions, meanInterval } from "./intervals.ts";
import { logGamma, solve, studentCdf, studentQuantile } from "./special.ts";

/** Values by seed (rows) and task (columns): every seed measured the same tasks. */
export type SeedsByTasks = readonly (readonly number[])[];

/**
 * Estimates a mean over training seeds and tasks, both taken as samples, with an interval that allows for both. Seeds and tasks are crossed, so the
 * variance of the grand mean follows from the mean squares of a two-way table (Searle et al., Variance Components, §4.5):
 *
 *   Var = (MS_seed + MS_task − MS_rest) / (S·T),   low, high = mean ∓ t_df · √Var,   df = min(Satterthwaite's, S − 1)
 *
 * Satterthwaite's degrees of freedom alone are too many where a few seeds happen to agree: they say nothing of how far others would differ. Where this is narrower than the interval of the tasks alone, as near 0 and 1, it is widened to that one (`meanInterval`). With one seed it is that one:
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

  const { middle, error, freedom } = crossedError(values);
  if (error === 0) return byTask;
  const half = studentQuantile((1 + (options.level ?? 0.95)) / 2, freedom) * error;
  return {
    mean: middle,
    low: Math.max(low, Math.min(byTask.low, middle - half)),
    high: Math.min(high, Math.max(byTask.high, middle + half)),
  };
}

/** The mean squares of seeds, tasks and the rest. */
type MeanSquares = readonly [seeds: number, tasks: number, rest: number];
type Sizes = readonly [seeds: number, tasks: number];

/** The grand mean of a two-way table, its mean squares, its standard error and the degrees of freedom, as `seedsAndTasksInterval` has them. */
function crossedError(values: SeedsByTasks) {
  const [seeds, tasks] = sizesOf(values);
  const rowMeans = values.map(mean);
  const columnMeans = values[0].map((_, task) => mean(values.map((row) => row[task])));
  const middle = mean(rowMeans);
  const sum = (deviations: readonly number[]) => deviations.reduce((total, deviation) => total + deviation ** 2, 0);
  const rest = values.flatMap((row, s) => row.map((value, t) => value - rowMeans[s] - columnMeans[t] + middle));
  const squares: MeanSquares = [
    (tasks * sum(rowMeans.map((value) => value - middle))) / (seeds - 1),
    (seeds * sum(columnMeans.map((value) => value - middle))) / (tasks - 1),
    sum(rest) / ((seeds - 1) * (tasks - 1)),
  ];
  return { middle, squares, ...errorOf(squares, [seeds, tasks]) };
}

function errorOf([s, t, rest]: MeanSquares, [seeds, tasks]: Sizes): { readonly error: number; readonly freedom: number } {
  const sum = Math.max(s + t - rest, s, t);
  const spread = s ** 2 / (seeds - 1) + t ** 2 / (tasks - 1) + rest ** 2 / ((seeds - 1) * (tasks - 1));
  const freedom = sum === 0 ? 1 : Math.max(1, Math.min(seeds - 1, sum ** 2 / spread));
  return { error: Math.sqrt(sum / (seeds * tasks)), freedom };
}

export interface CrossedTest {
  /** The mean, with the interval that excludes 0 where p is below 0.05. */
  readonly difference: Estimate;
  /** Two-sided, of "the mean is 0", over seeds and tasks. */
  readonly pValue: number;
}

/**
 * Tests whether the mean of paired differences over seeds and tasks is 0, by the variance of `seedsAndTasksInterval`:
 *
 *   p = 2·P(t_df > |mean| / √Var),   low, high = mean ∓ t_{df, 0.975} · √Var
 *
 * @param differences by seed and task; at least two of each
 * @throws RangeError if there are fewer
 */
export function crossedTest(differences: SeedsByTasks): CrossedTest {
  const [seeds, tasks] = sizesOf(differences);
  if (seeds < 2 || tasks < 2) throw new RangeError(`${seeds} × ${tasks} values; a test over seeds and tasks needs two of each`);
  const { middle, error, freedom } = crossedError(differences);
  // All differences are equal: what their signs alone say.
  if (error === 0) {
    const pValue = middle === 0 ? 1 : 2 ** (1 - seeds * tasks);
    const half = middle === 0 ? 6 / (seeds * tasks) : 0;
    return { difference: { mean: middle, low: middle - half, high: middle + half }, pValue };
  }
  const half = studentQuantile(0.975, freedom) * error;
  return {
    difference: { mean: middle, low: middle - half, high: middle + half },
    pValue: Math.min(1, 2 * (1 - studentCdf(Math.abs(middle) / error, freedom))),
  };
}

/** Studies that are drawn to find the smallest difference: its power is known to about a point and a half. */
const drawnStudies = 800;

/**
 * Returns the mean that `crossedTest` would see in four of five studies, by drawing some whose seeds, tasks and rest vary as these do: mean squares
 * of normal deviates are m·χ²/df, and the grand mean has the variance (MS_seed + MS_task − MS_rest) / (S·T). The mean square of a few seeds has a root
 * that is too small on average, by c4 = √(2/df) · Γ((df + 1)/2) / Γ(df/2); it is divided by c4².
 * The smallest is at least what six pairs in one direction make, the fewest that an exact test calls different.
 * @param differences by seed and task; at least two of each
 */
export function smallestCrossed(differences: SeedsByTasks): number {
  const { squares, error } = crossedError(differences);
  const sizes = sizesOf(differences);
  const [seeds, tasks] = sizes;
  const least = 6 / (seeds * tasks);
  if (error === 0) return least;
  const random = randomStream(1, "smallest", seeds, tasks);
  const c4 = Math.sqrt(2 / (seeds - 1)) * Math.exp(logGamma(seeds / 2) - logGamma((seeds - 1) / 2));
  const [s, t, rest] = [squares[0] / c4 ** 2, squares[1], squares[2]];
  const deviation = Math.sqrt(Math.max(s + t - rest, Math.min(s, t)) / (seeds * tasks));
  const chiSquare = (df: number) => gamma(df / 2, random) / (df / 2);
  const usual = studentQuantile(0.975, seeds - 1);
  const drawn = Array.from({ length: drawnStudies }, () => {
    const drawnSquares = [
      s * chiSquare(seeds - 1),
      t * chiSquare(tasks - 1),
      rest * chiSquare((seeds - 1) * (tasks - 1)),
    ] as const;
    const { error, freedom } = errorOf(drawnSquares, sizes);
    const critical = freedom === seeds - 1 ? usual : studentQuantile(0.975, freedom);
    return { noise: deviation * random.normal(), needed: critical * error };
  });
  const power = (shift: number) => mean(drawn.map(({ noise, needed }) => Number(Math.abs(shift + noise) > needed)));
  const far = Math.max(...drawn.map(({ noise, needed }) => needed - noise));
  return Math.max(least, solve(power, 0.8, 0, far, 30));
}

/**
 * Returns the p-value of "the mean is not within ± margin", of two one-sided tests (Schuirmann, 1987) by the variance of `seedsAndTasksInterval`:
 *
 *   p = P(t_df > (margin − |mean|) / √Var)
 *
 * @param differences by seed and task; at least two of each
 */
export function equivalencePValue(differences: SeedsByTasks, margin: number): number {
  const { middle, error, freedom } = crossedError(differences);
  const inside = margin - Math.abs(middle);
  return error === 0 ? Number(inside <= 0) : 1 - studentCdf(inside / error, freedom);
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
