import { randomStream } from "../../src/core/random.ts";
import type { Curve } from "./curves.ts";

/** One run's evaluations, with a reward for each task: the same tasks in the same order in all evaluations of all runs. */
export interface MeasuredRun {
  readonly arm: string;
  readonly seed: number;
  readonly points: readonly { readonly calls: number; readonly rewards: readonly number[] }[];
}

/** Curves of one arm, one for each seed in turn, so that those of two arms can be paired. */
export type CurvesOf = (arm: string) => readonly Curve[];
export type Statistic = (curves: CurvesOf) => number | undefined;

export interface Estimate {
  readonly value: number;
  /** 2.5 % and 97.5 % of the draws in which the statistic exists. */
  readonly low: number;
  readonly high: number;
  /** Share of the draws in which it exists. */
  readonly share: number;
}

/**
 * Statistics of all runs with bootstrap intervals: each draw takes seeds with replacement, the same for all arms, and evaluation tasks with
 * replacement, the same for all evaluations. With few seeds such intervals are too narrow: there are only ten ways to draw three of three.
 * @param runs every arm has every seed
 * @returns undefined for a statistic that does not exist
 */
export function estimates(
  runs: readonly MeasuredRun[],
  statistics: readonly Statistic[],
  { draws = 2000, seed = 1 } = {},
): (Estimate | undefined)[] {
  const seeds = [...new Set(runs.map((run) => run.seed))];
  const tasks = runs[0].points[0].rewards.length;
  const random = randomStream(seed, "bootstrap");
  const values = statistics.map((statistic) => statistic(curvesOf(runs, seeds, new Array<number>(tasks).fill(1))));
  const drawn: number[][] = statistics.map(() => []);
  for (let draw = 0; draw < draws; draw++) {
    const some = seeds.map(() => random.pick(seeds));
    const weights = new Array<number>(tasks).fill(0);
    for (let i = 0; i < tasks; i++) weights[random.integer(tasks)]++;
    const curves = curvesOf(runs, some, weights);
    statistics.forEach((statistic, i) => {
      const value = statistic(curves);
      if (value !== undefined) drawn[i].push(value);
    });
  }
  return values.map((value, i) => {
    if (value === undefined) return undefined;
    const sorted = drawn[i].toSorted((a, b) => a - b);
    const last = sorted.length - 1;
    return { value, low: sorted[Math.floor(0.025 * last)], high: sorted[Math.ceil(0.975 * last)], share: sorted.length / draws };
  });
}

/** @param weights how often each task counts */
function curvesOf(runs: readonly MeasuredRun[], seeds: readonly number[], weights: readonly number[]): CurvesOf {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const known = new Map<string, Curve>();
  const curveOf = (arm: string, seed: number): Curve => {
    const key = `${arm} ${seed}`;
    const curve =
      known.get(key) ??
      (runs.find((run) => run.arm === arm && run.seed === seed)?.points ?? []).map(({ calls, rewards }) => ({
        calls,
        reward: rewards.reduce((sum, reward, i) => sum + weights[i] * reward, 0) / total,
      }));
    known.set(key, curve);
    return curve;
  };
  return (arm) => seeds.map((seed) => curveOf(arm, seed));
}

/** @returns undefined of nothing */
export function geometricMean(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.exp(mean(values.map(Math.log)));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** 97.5 % quantiles of Student's t, by degrees of freedom from 1 on. */
const t975 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/**
 * Student's 95 % interval of a mean over seeds: right for few of them, where they are about normal.
 * @returns undefined for fewer than two
 */
export function tInterval(values: readonly number[]): { readonly low: number; readonly high: number } | undefined {
  const freedom = values.length - 1;
  if (freedom < 1) return undefined;
  const middle = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / freedom;
  // Beyond the table: the first terms of the expansion in 1 / freedom (Abramowitz and Stegun, 26.7.5).
  const t = t975[freedom - 1] ?? 1.96 + 2.372 / freedom + 2.822 / freedom ** 2;
  const half = t * Math.sqrt(variance / values.length);
  return { low: middle - half, high: middle + half };
}
