import { randomStream } from "../core/random.ts";
import type { Estimate } from "../runs/records.ts";

/**
 * Chance that at least one of k attempts succeeds, estimated without bias from n attempts of which c did
 * (Chen et al., arXiv:2107.03374, equation 1).
 *
 *   pass@k = 1 - C(n-c, k) / C(n, k) = 1 - Π_{i=n-c+1}^{n} (1 - k/i)
 *
 * @param k at most n
 */
export function passAtK(n: number, c: number, k: number): number {
  if (n - c < k) return 1;
  let allFail = 1;
  for (let i = n - c + 1; i <= n; i++) allFail *= 1 - k / i;
  return 1 - allFail;
}

const resamples = 2_000;

/**
 * The mean over tasks, with the 2.5 % and 97.5 % percentiles of the means of resampled tasks (bootstrap). Tasks are resampled,
 * not attempts: attempts at one task resemble each other.
 * @param values one per task, at least one
 */
export function estimateMean(values: readonly number[], seed: number): Estimate {
  const random = randomStream(seed, "bootstrap");
  const means = Array.from({ length: resamples }, () => mean(values.map(() => random.pick(values)))).sort((a, b) => a - b);
  return { mean: mean(values), low: means[Math.floor(resamples * 0.025)], high: means[Math.ceil(resamples * 0.975) - 1] };
}

/** NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
