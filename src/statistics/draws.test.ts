import { expect, test } from "vitest";
import { mean, variance } from "../core/mean.ts";
import { randomStream } from "../core/random.ts";
import { criticalValues, crossed, halfSquared, seedsAndTasksInterval, sizesOf } from "./clustered.ts";
import { signFlipPower, signFlipTest } from "./exact-tests.ts";
import { gamma } from "./gamma.ts";
import { meanInterval, proportionInterval } from "./intervals.ts";
import { comparePaired, scoredPairs } from "./paired.ts";
import { smallestDetectable } from "./power.ts";
import { betaCdf, betaQuantile, logGamma, normalQuantile, solve, studentCdf, studentQuantile } from "./special.ts";

test.each([1, 3, 4, 20])(
  "draws of a gamma distribution of shape %d have its mean, its variance and its share below them",
  (shape) => {
    const random = randomStream(2, "gamma", shape);
    const draws = Array.from({ length: 4000 }, () => gamma(shape, random));
    expect(Math.abs(mean(draws) - shape)).toBeLessThan(4 * Math.sqrt(shape / 4000));
    expect(Math.abs(variance(draws) / shape - 1)).toBeLessThan(0.2);
    // R: pgamma(c(1, 3, 4, 20), c(1, 3, 4, 20))
    const below = { 1: 0.6321206, 3: 0.5768099, 4: 0.5665299, 20: 0.5297427 }[shape] ?? 0;
    expect(Math.abs(draws.filter((draw) => draw < shape).length / 4000 - below)).toBeLessThan(0.03);
    expect(Math.min(...draws)).toBeGreaterThan(0);
  },
);

test("simulated numbers are those of their seed, in this version as in those before", () => {
  const random = randomStream(1, "gamma");
  const drawn = [0.02566255948942477, 0.03200346257586216, 5.4335312262856235, 2.5322906372436513, 6.885611561470393];
  expect([1, 2, 3, 4, 7].map((shape) => gamma(shape, random))).toEqual(drawn.map((value) => expect.closeTo(value, 12)));
  const close = (values: object) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, expect.closeTo(value, 12)]));
  expect(meanInterval([0.2, 0.5, 0.5, 0.9], { seed: 3 })).toEqual(
    close({ mean: 0.525, low: 0.184985797695829, high: 0.8454260389633823 }),
  );
  expect(meanInterval([0.2, 0.5, 0.5, 0.9], { seed: 4, level: 0.8, range: [-1, 2] })).toEqual(
    close({ mean: 0.525, low: -0.1496374421309381, high: 1.1812950580952073 }),
  );
  const many = Array.from({ length: 120 }, (_, i) => (i % 11) / 10);
  expect(meanInterval(many, { seed: 3 })).toEqual(
    close({ mean: 0.49583333333333335, low: 0.43532591956493843, high: 0.5560170095225593 }),
  );
  const irregular = [0.31, -0.12, 0.77, 0.45, Math.PI / 7, 0.2, Math.SQRT1_2];
  expect(signFlipTest(irregular, 3)).toEqual({ pValue: expect.closeTo(0.031048447577621117, 12), exact: false });
});

test("an interval of two values at the ends of any range is Clopper and Pearson's, stretched to it", () => {
  const { low, high } = proportionInterval(3, 4, 0.9);
  expect(meanInterval([-1, 3, 3, 3], { seed: 1, range: [-1, 3], level: 0.9 })).toEqual({
    ...{ mean: 2, low: expect.closeTo(4 * low - 1, 12), high: expect.closeTo(4 * high - 1, 12) },
  });
  expect(meanInterval([2, 2], { seed: 1, range: [0, 2] })).toEqual({
    mean: 2,
    low: expect.closeTo(2 * 0.025 ** 0.5, 8),
    high: 2,
  });
  expect(() => meanInterval([Number.NaN], { seed: 1 })).toThrow(RangeError);
  expect(() => meanInterval([-1], { seed: 1, range: [0, 1] })).toThrow("-1 is not in [0, 1]");
  expect(() => meanInterval([], { seed: 1 })).toThrow("an interval needs at least one value");
});

test("a test of signs is exact up to fractions of a 5,040th, and says so", () => {
  // |1/3 + 1/4 − 1/5 + 2/7|: of 16 sums of ± these, four are as large.
  expect(signFlipTest([1 / 3, 1 / 4, -1 / 5, 2 / 7], 3)).toEqual({ pValue: 0.25, exact: true });
  expect(signFlipTest([1 / 5039, 1 / 5039], 3)).toEqual({ pValue: 0.5, exact: true });
  expect(signFlipTest([1 / 5041, 1 / 5041], 3).exact).toBe(false);
  expect(signFlipTest([], 3)).toEqual({ pValue: 1, exact: true });
  // Two parts of 5,000,000 make 20,000,000 states: the most that are counted.
  expect(signFlipTest([5_000_000, 5_000_000], 3)).toEqual({ pValue: 0.5, exact: true });
  expect(signFlipTest([5_000_001, 5_000_000], 3).exact).toBe(false);
  expect(signFlipPower([Math.PI], 2, 1, 0.05)).toBeUndefined();
});

test("the smallest difference of irregular pairs is the normal approximation's", () => {
  const irregular = [0.31, -0.12, 0.77, 0.45, Math.PI / 7, 0.2, Math.SQRT1_2];
  const error = Math.sqrt(variance(irregular) / 7);
  // (1.959964 + 0.8416212) and (1.644854 + 0) standard errors
  expect(smallestDetectable(irregular, 1) / error).toBeCloseTo(2.8015852, 6);
  expect(smallestDetectable(irregular, 1, { alpha: 0.1, power: 0.5 }) / error).toBeCloseTo(1.6448536, 6);
});

test("distributions at their ends and beyond", () => {
  expect([betaCdf(0, 2, 3), betaCdf(-1, 2, 3), betaCdf(1, 2, 3), betaCdf(2, 2, 3)]).toEqual([0, 0, 1, 1]);
  for (const [x, a, b] of [
    [0.2, 2, 3],
    [0.9, 0.5, 0.5],
    [0.5, 30, 2],
  ] as const)
    expect(betaCdf(x, a, b)).toBeCloseTo(1 - betaCdf(1 - x, b, a), 12);
  expect([studentCdf(0, 3), studentCdf(-2, 3) + studentCdf(2, 3)]).toEqual([expect.closeTo(0.5, 12), expect.closeTo(1, 12)]);
  expect(studentQuantile(0.1, 4)).toBeCloseTo(-studentQuantile(0.9, 4), 12);
  expect(studentQuantile(0.5, 4)).toBeCloseTo(0, 12);
  expect([normalQuantile(0.5), normalQuantile(0.2) + normalQuantile(0.8)].map(Math.abs)).toEqual([0, expect.closeTo(0, 12)]);
  // The shares of a normal distribution below −3, −2 and −1.
  expect([0.001349898, 0.0227501319, 0.1586552539].map(normalQuantile)).toEqual([-3, -2, -1].map((z) => expect.closeTo(z, 6)));
  expect(normalQuantile(0.02425) - normalQuantile(0.02424999)).toBeCloseTo(0, 6);
  expect([1, 2, 5].map(logGamma)).toEqual([0, 0, Math.log(24)].map((value) => expect.closeTo(value, 9)));
  expect(logGamma(0.4) + logGamma(0.6)).toBeCloseTo(Math.log(Math.PI / Math.sin(0.4 * Math.PI)), 9);
  expect(betaQuantile(0.3, 1, 1)).toBeCloseTo(0.3, 12);
  expect([solve((x) => x * x, 2, 0, 2), solve((x) => x, 0.3, 0, 1, 2)]).toEqual([expect.closeTo(Math.SQRT2, 15), 0.375]);
});

test("a table of seeds and tasks: mean squares by hand, and the interval of them", () => {
  const table = [
    [1, 0],
    [0.5, 0.5],
    [0, 1],
  ];
  // Every row has the mean ½ and so has every column: all that differs is the rest, 1 in all.
  expect(crossed(table)).toEqual({ middle: 0.5, squares: [0, 0, 1 / (3 * 2 * 2 * 1)] });
  expect(criticalValues([3, 2], 0.025)).toEqual([expect.closeTo(4.3026527, 6), expect.closeTo(12.7062047, 6)]);
  expect(halfSquared([9, 3, 1], [2, 3])).toBe(4 * 9 + 9 * 2);
  expect(halfSquared([0, 3, 5], [2, 3])).toBe(9 * 5); // never below the rest alone
  expect(halfSquared([0, 3, 1], [2, 3])).toBe(9 * 3); // nor the tasks'
  expect(sizesOf(table)).toEqual([3, 2]);
  for (const none of [[], [[]]]) expect(() => sizesOf(none)).toThrow("a table of seeds and tasks needs at least one value");
  expect(seedsAndTasksInterval(table, { seed: 1 })).toEqual({ mean: 0.5, low: 0, high: 1 });
  const single = [[1], [0], [1]];
  expect(seedsAndTasksInterval(single, { seed: 1 })).toEqual(meanInterval([2 / 3], { seed: 1 }));
  const wide = [
    [0.4, 0.5, 0.6, 0.5],
    [0.45, 0.5, 0.55, 0.5],
  ];
  const narrow = seedsAndTasksInterval(wide, { seed: 1, level: 0.5 });
  const broad = seedsAndTasksInterval(wide, { seed: 1, level: 0.99 });
  expect(broad.high - broad.low).toBeGreaterThan(narrow.high - narrow.low);
});

test("pairs are values of both sides; their comparison is by tasks, in the range of one task", () => {
  expect(scoredPairs([1, undefined, 3, 4], [5, 6, undefined, 8])).toEqual([
    [1, 4],
    [5, 8],
  ]);
  const [first, second] = [
    [0, 0.5, 1, 1],
    [1, 0.5, 1, 0],
  ];
  expect(comparePaired(first, second, { seed: 2, step: 0.5 })).toEqual({
    difference: meanInterval([1, 0, 0, -1], { seed: 2, range: [-1, 1] }),
    ...{ pValue: 1, exact: true, tasks: 4, better: 1, worse: 1, smallest: smallestDetectable([1, 0, 0, -1], 0.5) },
  });
  expect(comparePaired([0, 3], [-2, 0], { seed: 2 }).difference).toEqual(meanInterval([-2, -3], { seed: 2, range: [-5, 5] }));
  expect(comparePaired(first, second, { seed: 2, range: [0, 4] }).difference).toEqual(
    meanInterval([1, 0, 0, -1], { seed: 2, range: [-4, 4] }),
  );
});
