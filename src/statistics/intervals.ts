import { mean } from "../core/mean.ts";
import { randomStream } from "../core/random.ts";
import type { Estimate } from "./estimate.ts";
import { gamma } from "./gamma.ts";
import { betaQuantile } from "./special.ts";

export interface IntervalOptions {
  /** Decides the random numbers of an interval that is simulated. */
  readonly seed: number;
  /** The least and the greatest value that is possible. Default: the smallest range that contains 0, 1 and all values. */
  readonly range?: readonly [low: number, high: number];
  /** Share of all samples whose interval contains the true mean. Default 0.95. */
  readonly level?: number;
}

/** Gamma draws of one interval: enough that the ends are known to about a fortieth of the interval's width. */
const drawBudget = 200_000;
const [fewestDraws, maxDraws] = [2_000, 8_000];

/**
 * Estimates the mean of a population of bounded values from independent ones of it, with an interval that covers for every sample size and
 * at the ends of the range, where the bootstrap and the normal approximation do not (Gaffke, 2005; Learned-Miller and Thomas, arXiv:1905.06208).
 *
 *   high = the (1 + level)/2 quantile of  Σ_i w_i x_i + w_{n+1} · range high,   w ~ Dirichlet(1, …, 1), n + 1 weights
 *   low  = the (1 − level)/2 quantile of the same with the range's low end
 *
 * So it is a Bayesian bootstrap with one more value, the worst that is possible. For values of 0 and 1 it is Clopper and Pearson's exact interval, which is
 * computed as such. It never shrinks to a point.
 * @param values one for each independent unit, such as a task; at least one, none outside of the range
 * @throws RangeError for no values, or a value that is not in the range
 */
export function meanInterval(values: readonly number[], { seed, range, level = 0.95 }: IntervalOptions): Estimate {
  const [low, high] = range ?? [Math.min(0, ...values), Math.max(1, ...values)];
  if (values.length === 0) throw new RangeError("an interval needs at least one value");
  const outside = values.find((value) => !(value >= low && value <= high));
  if (outside !== undefined) throw new RangeError(`${outside} is not in [${low}, ${high}]`);
  const middle = mean(values);
  const counts = countsOf(values);
  if ([...counts.keys()].every((value) => value === low || value === high)) {
    const share = proportionInterval(counts.get(high) ?? 0, values.length, level);
    return { mean: middle, low: low + share.low * (high - low), high: low + share.high * (high - low) };
  }
  const random = randomStream(seed, "mean-interval");
  const draws = Math.min(maxDraws, Math.max(fewestDraws, Math.floor(drawBudget / (counts.size + 1))));
  const [lows, highs] = [new Float64Array(draws), new Float64Array(draws)];
  for (let draw = 0; draw < draws; draw++) {
    const extra = gamma(1, random);
    let [weights, sum] = [extra, 0];
    // Equal values share the sum of their weights.
    for (const [value, count] of counts) {
      const weight = gamma(count, random);
      weights += weight;
      sum += weight * value;
    }
    lows[draw] = (sum + extra * low) / weights;
    highs[draw] = (sum + extra * high) / weights;
  }
  const tail = Math.round(draws * ((1 - level) / 2));
  return {
    mean: middle,
    low: Math.min(middle, lows.sort()[Math.max(0, tail - 1)]),
    high: Math.max(middle, highs.sort()[Math.min(draws - 1, draws - tail)]),
  };
}

/** Computes the exact interval of a proportion (Clopper and Pearson, 1934). @param trials at least 1 */
export function proportionInterval(successes: number, trials: number, level = 0.95): Estimate {
  const tail = (1 - level) / 2;
  return {
    mean: successes / trials,
    low: successes === 0 ? 0 : betaQuantile(tail, successes, trials - successes + 1),
    high: successes === trials ? 1 : betaQuantile(1 - tail, successes + 1, trials - successes),
  };
}

function countsOf(values: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
