import { mean } from "../core/mean.ts";
import type { Estimate } from "./estimate.ts";
import { type IntervalOptions, meanInterval } from "./intervals.ts";
import { studentQuantile } from "./special.ts";

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
export type MeanSquares = readonly [seeds: number, tasks: number, rest: number];
export type Sizes = readonly [seeds: number, tasks: number];

/** The grand mean of a two-way table, and its mean squares over S·T. */
export function crossed(values: SeedsByTasks): { readonly middle: number; readonly squares: MeanSquares } {
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
export function criticalValues([seeds, tasks]: Sizes, tail: number): readonly [number, number] {
  return [studentQuantile(1 - tail, seeds - 1), studentQuantile(1 - tail, tasks - 1)];
}

/** half² of `seedsAndTasksInterval`. Never below that of the tasks, or of the rest, alone: the means of few seeds can agree by chance. */
export function halfSquared([s, t, rest]: MeanSquares, [ofSeeds, ofTasks]: readonly [number, number]): number {
  return Math.max(ofSeeds ** 2 * s + ofTasks ** 2 * Math.max(t - rest, 0), ofTasks ** 2 * Math.max(t, rest));
}

/** Returns second minus first, paired by seed and task. @throws RangeError if the tables differ in size */
export function pairedBySeed(first: SeedsByTasks, second: SeedsByTasks): number[][] {
  const [a, b] = [sizesOf(first), sizesOf(second)];
  if (a[0] !== b[0] || a[1] !== b[1]) throw new RangeError(`${a.join(" × ")} values cannot be paired with ${b.join(" × ")}`);
  return second.map((row, s) => row.map((value, t) => value - first[s][t]));
}

export function sizesOf(values: SeedsByTasks): [seeds: number, tasks: number] {
  const tasks = values[0]?.length ?? 0;
  if (tasks === 0) throw new RangeError("a table of seeds and tasks needs at least one value");
  const other = values.findIndex((row) => row.length !== tasks);
  if (other !== -1) throw new RangeError(`seed ${other} has ${values[other].length} tasks, and seed 0 has ${tasks}`);
  return [values.length, tasks];
}
