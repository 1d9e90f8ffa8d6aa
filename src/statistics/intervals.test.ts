import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../test/reals.ts";
import { mean } from "../core/mean.ts";
import { type Random, randomStream } from "../core/random.ts";
import { pairedBySeed, seedsAndTasksInterval } from "./clustered.ts";
import { meanInterval, proportionInterval } from "./intervals.ts";
import { outwards } from "./outwards.ts";

const attempts = (random: Random, k: number, chance: number) =>
  mean(Array.from({ length: k }, () => Number(random.chance(chance))));

test("an interval of 0 and 1 is Clopper and Pearson's, and never a point", () => {
  // R 4.3: binom.test(c(16, 10, 0), c(16, 20, 5))$conf.int
  expect(meanInterval(new Array(16).fill(1), { seed: 1 })).toEqual({ mean: 1, low: expect.closeTo(0.7940928, 6), high: 1 });
  expect(proportionInterval(10, 20)).toEqual({
    mean: 0.5,
    low: expect.closeTo(0.2719578, 6),
    high: expect.closeTo(0.7280422, 6),
  });
  expect(proportionInterval(0, 5)).toEqual({ mean: 0, low: 0, high: expect.closeTo(0.5218238, 6) });
  const halves = meanInterval([0.5, 0.5, 0.5], { seed: 1 });
  expect(halves.low).toBeLessThan(0.3);
  expect(halves.high).toBeGreaterThan(0.7);
});

test("an interval contains its mean, stays in the range, narrows with more tasks, and is the same for the same seed", () => {
  fc.assert(
    fc.property(fc.array(real(0, 1), { minLength: 1, maxLength: 12 }), (values) => {
      const estimate = meanInterval(values, { seed: 1 });
      expect(estimate).toEqual(meanInterval(values, { seed: 1 }));
      const more = meanInterval(Array.from({ length: 6 }, () => values).flat(), { seed: 1 });
      for (const { low, mean: middle, high } of [estimate, more]) {
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(middle + 1e-12);
        expect(high).toBeGreaterThanOrEqual(middle - 1e-12);
        expect(high).toBeLessThanOrEqual(1 + 1e-12);
      }
      expect(more.high - more.low).toBeLessThan(estimate.high - estimate.low);
    }),
    { numRuns: 20 },
  );
  expect(() => meanInterval([], { seed: 1 })).toThrow(RangeError);
  expect(() => meanInterval([2], { seed: 1, range: [0, 1] })).toThrow(/2 is not in \[0, 1\]/);
});

test("many tasks: the width is that of the normal approximation", () => {
  const random = randomStream(3, "coins");
  const values = Array.from({ length: 400 }, () => attempts(random, 4, random.uniform()));
  const { low, high } = meanInterval(values, { seed: 7 });
  const middle = mean(values);
  const deviation = Math.sqrt(mean(values.map((value) => (value - middle) ** 2)) / values.length);
  expect((high - low) / (2 * 1.96 * deviation)).toBeGreaterThan(0.97);
  expect((high - low) / (2 * 1.96 * deviation)).toBeLessThan(1.08);
});

test("one seed says nothing of other seeds: its interval is that of its tasks; tables of other sizes are refused", () => {
  const row = [1, 0, 1, 1, 0, 1];
  expect(seedsAndTasksInterval([row], { seed: 2 })).toEqual(meanInterval(row, { seed: 2 }));
  expect(pairedBySeed([[0, 1]], [[1, 1]])).toEqual([[1, 0]]);
  expect(() => pairedBySeed([[0, 1]], [[1]])).toThrow(/1 × 2 values cannot be paired with 1 × 1/);
  expect(() => seedsAndTasksInterval([[1, 0], [1]], { seed: 1 })).toThrow(/seed 1 has 1 tasks, and seed 0 has 2/);
});

test("the ends of an interval are rounded away from its middle, and a tenth stays what it is", () => {
  expect(outwards({ low: 0.83651, high: 0.92101 })).toEqual(["83.6", "92.2"]);
  expect(outwards({ low: -0.01234, high: 0.9991 })).toEqual(["−1.3", "100.0"]);
  expect(outwards({ low: 0.7 - 0.4, high: 0.1 + 0.2 })).toEqual(["30.0", "30.0"]); // 0.29999999999999993 and 0.30000000000000004
  expect(outwards({ low: 0.1 + 0.2, high: 0.3 })).toEqual(["30.0", "30.0"]); // 0.30000000000000004
});
