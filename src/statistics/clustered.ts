import { mean } from "../core/mean.ts";
import { randomStream } from "../core/random.ts";
import type { Estimate } from "./estimate.ts";
import { type IntervalOptions, meanInterval } from "./intervals.ts";
import { studentCdf, studentQuantile } from "./special.ts";

/** Values by seed (rows) and task (columns): every seed measured the same tasks. */
export type SeedsByTasks = readonly (readonly number[])[];

/**
 * Estimates a mean over training seeds and tasks, both taken as samples, with an interval that allows for both. Seeds and tasks are crossed, so the
 * variance of the grand mean follows from the mean squares of a two-way table, with Satterthwaite's degrees of freedom (Searle et al.,
 * Variance Components, §4.5):
 *
 *   Var = (MS_seed + MS_task − MS_rest) / (S·T),   low, high = mean ∓ t_df · √Var
 *
 * Where this is narrower than the interval of the tasks alone, as near 0 and 1, it is widened to that one (`meanInterval`). With one seed it is that one:
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

/** The grand mean of a two-way table, its standard error and Satterthwaite's degrees of freedom, as `seedsAndTasksInterval` has them. */
function crossedError(values: SeedsByTasks): { readonly middle: number; readonly error: number; readonly freedom: number } {
  const [seeds, tasks] = sizesOf(values);
  const rowMeans = values.map(mean);
  const columnMeans = values[0].map((_, task) => mean(values.map((row) => row[task])));
  const middle = mean(rowMeans);
  const squares = (deviations: readonly number[]) => deviations.reduce((sum, deviation) => sum + deviation ** 2, 0);
  const seedSquare = (tasks * squares(rowMeans.map((value) => value - middle))) / (seeds - 1);
  const taskSquare = (seeds * squares(columnMeans.map((value) => value - middle))) / (tasks - 1);
  const rest = values.flatMap((row, s) => row.map((value, t) => value - rowMeans[s] - columnMeans[t] + middle));
  const restSquare = squares(rest) / ((seeds - 1) * (tasks - 1));
  const sum = Math.max(seedSquare + taskSquare - restSquare, seedSquare, taskSquare);
  const spread = seedSquare ** 2 / (seeds - 1) + taskSquare ** 2 / (tasks - 1) + restSquare ** 2 / ((seeds - 1) * (tasks - 1));
  return { middle, error: Math.sqrt(sum / (seeds * tasks)), freedom: sum === 0 ? 1 : Math.max(1, sum ** 2 / spread) };
}

export interface CrossedTest {
  /** The mean, with the interval that excludes 0 where p is below 0.05. */
  readonly difference: Estimate;
  /** Two-sided, of "the mean is 0", over seeds and tasks. */
  readonly pValue: number;
  /** The smallest mean that four of five such studies would call different from 0 at the level 0.05. */
  readonly smallest: number;
}

/**
 * Tests whether the mean of paired differences over seeds and tasks is 0, by the variance of `seedsAndTasksInterval`:
 *
 *   p = 2·P(t_df > |mean| / √Var),   low, high = mean ∓ t_{df, 0.975} · √Var,   smallest = (t_{df, 0.975} + t_{df, 0.8}) · √Var
 *
 * The smallest is at least what six pairs in one direction make, the fewest that an exact test calls different.
 * @param differences by seed and task; at least two of each
 * @throws RangeError if there are fewer
 */
export function crossedTest(differences: SeedsByTasks): CrossedTest {
  const [seeds, tasks] = sizesOf(differences);
  if (seeds < 2 || tasks < 2) throw new RangeError(`${seeds} × ${tasks} values; a test over seeds and tasks needs two of each`);
  const { middle, error, freedom } = crossedError(differences);
  const least = 6 / (seeds * tasks);
  // All differences are equal: what their signs alone say.
  if (error === 0) {
    const pValue = middle === 0 ? 1 : 2 ** (1 - seeds * tasks);
    const half = middle === 0 ? least : 0;
    return { difference: { mean: middle, low: middle - half, high: middle + half }, pValue, smallest: least };
  }
  const half = studentQuantile(0.975, freedom) * error;
  return {
    difference: { mean: middle, low: middle - half, high: middle + half },
    pValue: Math.min(1, 2 * (1 - studentCdf(Math.abs(middle) / error, freedom))),
    smallest: Math.max(least, (studentQuantile(0.975, freedom) + studentQuantile(0.8, freedom)) * error),
  };
}

/** Returns second minus first, paired by seed and task. @throws RangeError if the tables differ in size */
export function pairedBySeed(first: SeedsByTasks, second: SeedsByTasks): number[][] {
  const [a, b] = [sizesOf(first), sizesOf(second)];
  if (a[0] !== b[0] || a[1] !== b[1]) throw new RangeError(`${a.join(" × ")} values cannot be paired with ${b.join(" × ")}`);
  return second.map((row, s) => row.map((value, t) => value - first[s][t]));
}

export interface BootstrapOptions {
  readonly seed: number;
  /** Default 2,000. */
  readonly resamples?: number;
  readonly level?: number;
}

/**
 * Computes a percentile interval of any statistic of seeds and tasks, by resampling both with replacement, independently of each other (the pigeonhole
 * bootstrap, Owen, arXiv:0712.1111). For a mean use `seedsAndTasksInterval`: with fewer than about ten seeds resampling them gives intervals that
 * are too narrow.
 * @param statistic of a table of the same size
 */
export function clusteredBootstrap(
  values: SeedsByTasks,
  statistic: (resampled: SeedsByTasks) => number,
  { seed, resamples = 2_000, level = 0.95 }: BootstrapOptions,
): Estimate {
  const [seeds, tasks] = sizesOf(values);
  const random = randomStream(seed, "clustered-bootstrap");
  const draw = (size: number) => Array.from({ length: size }, () => random.integer(size));
  const results = Array.from({ length: resamples }, () => {
    const columns = draw(tasks);
    return statistic(draw(seeds).map((row) => columns.map((column) => values[row][column])));
  }).sort((a, b) => a - b);
  const tail = Math.floor((resamples * (1 - level)) / 2);
  return { mean: statistic(values), low: results[tail], high: results[resamples - 1 - tail] };
}

function sizesOf(values: SeedsByTasks): [seeds: number, tasks: number] {
  const tasks = values[0]?.length ?? 0;
  if (tasks === 0) throw new RangeError("a table of seeds and tasks needs at least one value");
  const other = values.findIndex((row) => row.length !== tasks);
  if (other !== -1) throw new RangeError(`seed ${other} has ${values[other].length} tasks, and seed 0 has ${tasks}`);
  return [values.length, tasks];
}
