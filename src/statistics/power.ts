import { variance } from "../core/mean.ts";
import { signFlipPower } from "./exact-tests.ts";
import { normalQuantile } from "./special.ts";

export interface PowerOptions {
  /** Chance of a false alarm, two-sided. Default 0.05. */
  readonly alpha?: number;
  /** Chance of seeing the difference where there is one. Default 0.8. */
  readonly power?: number;
}

/**
 * Returns the smallest mean difference that the sign-flip test of these pairs would have seen with the given power: to pairs that differ as these do, in
 * either direction alike, pairs are added that differ by `step` in one direction, until the test itself rejects often enough. Where the test is simulated,
 * it is the normal approximation, (z_{1−α/2} + z_power) · s / √n.
 * @param differences one for each independent pair
 * @param step the least difference of one pair: 1 for one attempt, 1/k for k
 */
export function smallestDetectable(
  differences: readonly number[],
  step: number,
  { alpha = 0.05, power = 0.8 }: PowerOptions = {},
): number {
  const n = differences.length;
  const sizes = differences.filter((difference) => difference !== 0).map(Math.abs);
  if (signFlipPower(sizes, 0, step, alpha) === undefined)
    return (normalQuantile(1 - alpha / 2) + normalQuantile(power)) * Math.sqrt(variance(differences) / n);
  let [below, above] = [0, 2 * n + 8];
  while (above - below > 1) {
    const added = Math.floor((below + above) / 2);
    if ((signFlipPower(sizes, added, step, alpha) ?? 1) < power) below = added;
    else above = added;
  }
  return (above * step) / n;
}
