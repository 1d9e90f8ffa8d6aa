import fc from "fast-check";
import { expect, test } from "vitest";
import { randomStream } from "../core/random.ts";
import { estimateMean, mean, passAtK } from "./estimates.ts";

/** All ways to choose k of the attempts. */
function choices<T>(items: readonly T[], k: number): T[][] {
  if (k === 0) return [[]];
  return items.flatMap((item, i) => choices(items.slice(i + 1), k - 1).map((rest) => [item, ...rest]));
}

test("pass@k is the share of all choices of k attempts that hold a success", () => {
  const attempts = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(attempts, fc.integer({ min: 1, max: 8 }), (outcomes, wanted) => {
      const k = Math.min(wanted, outcomes.length);
      const chosen = choices(outcomes, k);
      const bruteForce = chosen.filter((choice) => choice.includes(true)).length / chosen.length;
      expect(passAtK(outcomes.length, outcomes.filter(Boolean).length, k)).toBeCloseTo(bruteForce, 12);
    }),
  );
});

test("a bootstrap interval holds the mean, and shrinks to it where all tasks agree", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 30 }), (values) => {
      const { low, mean: middle, high } = estimateMean(values, 1);
      expect(low).toBeLessThanOrEqual(middle + 1e-12);
      expect(high).toBeGreaterThanOrEqual(middle - 1e-12);
    }),
    { numRuns: 20 },
  );
  expect(estimateMean([0.5, 0.5, 0.5], 1)).toEqual({ mean: 0.5, low: 0.5, high: 0.5 });
});

test("a 95 % interval of coin flips has the width that the normal approximation gives", () => {
  const random = randomStream(3, "coins");
  const flips = Array.from({ length: 256 }, () => Number(random.chance(0.4)));
  const p = mean(flips);
  const half = 1.96 * Math.sqrt((p * (1 - p)) / flips.length);
  const { low, high } = estimateMean(flips, 7);
  // 2,000 resamples know each end to about a tenth of the half width.
  expect(Math.abs(low - (p - half))).toBeLessThan(half * 0.15);
  expect(Math.abs(high - (p + half))).toBeLessThan(half * 0.15);
});

test("the same seed gives the same interval", () => {
  const values = [0, 1, 0.5, 0.25, 1];
  expect(estimateMean(values, 5)).toEqual(estimateMean(values, 5));
});
