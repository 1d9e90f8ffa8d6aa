import { variance } from "../core/mean.ts";
import { normalQuantile } from "./special.ts";

export interface PowerOptions {
  /** Chance of a false alarm, two-sided. Default 0.05. */
  readonly alpha?: number;
  /** Chance of seeing the difference where there is one. Default 0.8. */
  readonly power?: number;
}

/**
 * Returns the smallest mean difference that a comparison of these pairs would have seen with the given power.
 *
 *   Δ = max( (z_{1−α/2} + z_power) · s / √n,  m · step / n ),   m = ⌈1 + log2(1/α)⌉
 *
 * The second part is the least that an exact test can call significant at all: m pairs that differ, all in one direction.
 * @param differences one for each independent pair
 * @param step the least difference of one pair: 1 for one attempt, 1/k for k
 */
export function smallestDetectable(
  differences: readonly number[],
  step: number,
  { alpha = 0.05, power = 0.8 }: PowerOptions = {},
): number {
  const n = differences.length;
  const normal = (normalQuantile(1 - alpha / 2) + normalQuantile(power)) * Math.sqrt(variance(differences) / n);
  return Math.max(normal, (Math.ceil(1 + Math.log2(1 / alpha)) * step) / n);
}

/** Returns the number of pairs that a study needs in order to see a mean difference, from the standard deviation of one pair's difference. */
export function pairsNeeded(
  difference: number,
  standardDeviation: number,
  { alpha = 0.05, power = 0.8 }: PowerOptions = {},
): number {
  return Math.ceil((((normalQuantile(1 - alpha / 2) + normalQuantile(power)) * standardDeviation) / difference) ** 2);
}
