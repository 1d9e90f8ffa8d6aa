import { randomStream } from "../core/random.ts";

export interface SignFlipResult {
  readonly pValue: number;
  /** False where the p-value was simulated: the differences are not multiples of one number. */
  readonly exact: boolean;
}

/** The most states of the exact distribution, and the finest fraction that is looked for. */
const [maxStates, finest] = [2_000_000, 5_040];
const flips = 20_000;

/**
 * Tests whether paired differences are symmetric about 0 (Fisher's randomisation test): under "no difference" every difference might
 * as well have the other sign.
 *
 *   p = share of all 2^n choices of signs with  |Σ ± d_i| ≥ |Σ d_i|
 *
 * Exact where the differences are multiples of a common fraction, as shares of k attempts are: the distribution of the sum is then computed state by
 * state. For differences of −1, 0 and 1 this is McNemar's exact test.
 * @param differences one for each independent pair
 */
export function signFlipTest(differences: readonly number[], seed: number): SignFlipResult {
  const sizes = differences.filter((difference) => difference !== 0).map(Math.abs);
  const observed = Math.abs(differences.reduce((sum, difference) => sum + difference, 0));
  const parts = wholeParts(sizes);
  if (parts !== undefined) return { pValue: exactTail(parts.counts, Math.round(observed * parts.fraction)), exact: true };
  const random = randomStream(seed, "sign-flips");
  // Rounding must not make the observed choice of signs differ from itself.
  const slack = 1e-9 * sizes.reduce((sum, size) => sum + size, 0);
  let extreme = 0;
  for (let i = 0; i < flips; i++) {
    let sum = 0;
    for (const size of sizes) sum += random.uniform() < 0.5 ? size : -size;
    if (Math.abs(sum) >= observed - slack) extreme++;
  }
  return { pValue: (extreme + 1) / (flips + 1), exact: false };
}

/** The differences as whole multiples of 1/fraction; undefined if there is no such fraction, or the exact distribution would be too large. */
function wholeParts(sizes: readonly number[]): { readonly fraction: number; readonly counts: readonly number[] } | undefined {
  const isWhole = (value: number) => Math.abs(value - Math.round(value)) < 1e-7;
  for (let fraction = 1; fraction <= finest; fraction++) {
    if (!sizes.every((size) => isWhole(size * fraction))) continue;
    const counts = sizes.map((size) => Math.round(size * fraction));
    const states = counts.reduce((sum, part) => sum + part, 0) * sizes.length;
    return states <= maxStates * 10 ? { fraction, counts } : undefined;
  }
  return undefined;
}

/**
 * Returns the chance that the test rejects at level α where differences of these sizes have either sign alike, and `added` more of size `step` are all
 * positive; undefined where the test is not exact.
 * @param sizes > 0
 */
export function signFlipPower(sizes: readonly number[], added: number, step: number, alpha: number): number | undefined {
  const counts = wholeParts([...sizes, ...new Array<number>(added).fill(step)])?.counts;
  if (counts === undefined) return undefined;
  const fair = positiveSums(counts);
  const total = fair.length - 1;
  const mass = (observed: number) => new Set([(total - observed) / 2, (total + observed) / 2]);
  let [critical, tail] = [total + 1, 0];
  for (let observed = total; observed >= 0; observed--) {
    for (const at of mass(observed)) tail += fair[at] ?? 0;
    if (tail > alpha) break;
    critical = observed;
  }
  const undecided = positiveSums(counts.slice(0, sizes.length));
  const shift = counts.slice(sizes.length).reduce((sum, part) => sum + part, 0);
  return undecided.reduce(
    (sum, chance, positive) => sum + (Math.abs(2 * (positive + shift) - total) >= critical ? chance : 0),
    0,
  );
}

/** P(|Σ ± part| ≥ observed), by the distribution of the sum of the parts that are positive. */
function exactTail(parts: readonly number[], observed: number): number {
  const chances = positiveSums(parts);
  const total = chances.length - 1;
  return Math.min(
    1,
    chances.reduce((sum, chance, positive) => sum + (Math.abs(2 * positive - total) >= observed ? chance : 0), 0),
  );
}

/** The distribution of the sum of the parts that are positive, where either sign is alike. */
function positiveSums(parts: readonly number[]): Float64Array {
  const total = parts.reduce((sum, part) => sum + part, 0);
  let chances = new Float64Array(total + 1);
  chances[0] = 1;
  let reached = 0;
  for (const part of parts) {
    const next = new Float64Array(total + 1);
    for (let sum = 0; sum <= reached; sum++) {
      next[sum] += chances[sum] / 2;
      next[sum + part] += chances[sum] / 2;
    }
    chances = next;
    reached += part;
  }
  return chances;
}
