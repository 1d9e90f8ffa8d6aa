import { variance } from "../core/mean.ts";
import { signFlipPower } from "./exact-tests.ts";
import { logGamma, normalCdf, normalQuantile, solve, studentQuantile } from "./special.ts";

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

/**
 * Returns the mean at which Student's test has the given power, from an estimated standard error:
 *
 *   Δ = λ · error / c4,   P(|t_df(λ)| > t_{df, 1−α/2}) = power,   c4 = √(2/df) · Γ((df + 1)/2) / Γ(df/2)
 *
 * t_df(λ) is the noncentral distribution. c4 undoes that an estimated standard error is too small on average.
 */
export function detectableShift(error: number, df: number, { alpha = 0.05, power = 0.8 }: PowerOptions = {}): number {
  const c4 = Math.sqrt(2 / df) * Math.exp(logGamma((df + 1) / 2) - logGamma(df / 2));
  const shift = solve((lambda) => studentPower(lambda, df, alpha), power, 0, 100, 30);
  return (shift * error) / c4;
}

/** Returns P(|t| > t_{df, 1−α/2}) of the noncentral t distribution, by its mixture of normal ones over the estimated deviation s. */
export function studentPower(lambda: number, df: number, alpha = 0.05): number {
  const critical = studentQuantile(1 - alpha / 2, df);
  const [points, most] = [100, 1 + 6 / Math.sqrt(df)];
  let [sum, weights] = [0, 0];
  for (let i = 0; i < points; i++) {
    const s = ((i + 0.5) * most) / points;
    const weight = Math.exp((df - 1) * Math.log(s) - (df * (s * s - 1)) / 2);
    sum += weight * (normalCdf(lambda - critical * s) + normalCdf(-lambda - critical * s));
    weights += weight;
  }
  return sum / weights;
}
