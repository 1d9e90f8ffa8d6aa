import { mean } from "../../src/core/mean.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import { meanInterval } from "../../src/statistics/intervals.ts";

/** How far two verdicts on the same episodes agree. */
export interface Agreement extends Estimate {
  /** Cohen's κ (1960): the agreement beyond what the two shares of passes give by chance; undefined where chance gives all of it. */
  readonly kappa?: number;
}

/**
 *   p_o = share of equal verdicts,   p_e = p·q + (1 − p)(1 − q),   κ = (p_o − p_e) / (1 − p_e)         p, q: the shares that pass
 *
 * @param units the pairs of verdicts of each task, or scenario: the interval of p_o is over these
 */
export function agreementOf(units: readonly (readonly (readonly [boolean, boolean])[])[], seed: number): Agreement {
  const pairs = units.flat();
  const [p, q] = [mean(pairs.map(([first]) => Number(first))), mean(pairs.map(([, second]) => Number(second)))];
  const chance = p * q + (1 - p) * (1 - q);
  const equal = (of: readonly (readonly [boolean, boolean])[]) => mean(of.map(([first, second]) => Number(first === second)));
  const interval = meanInterval(units.map(equal), { seed, range: [0, 1] });
  return { ...interval, ...(chance < 1 && { kappa: (equal(pairs) - chance) / (1 - chance) }) };
}
