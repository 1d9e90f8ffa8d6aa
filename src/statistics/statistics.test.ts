import fc from "fast-check";
import { expect, test } from "vitest";
import { mean } from "../core/mean.ts";
import { randomStream } from "../core/random.ts";
import { passAtK, passHatK } from "./attempts.ts";
import { crossedTest, seedsAndTasksInterval } from "./clustered.ts";
import { mcnemarExact, signFlipTest } from "./exact-tests.ts";
import { holm } from "./multiple.ts";
import { comparePaired } from "./paired.ts";
import { pairsNeeded, smallestDetectable } from "./power.ts";
import { betaCdf, betaQuantile, normalQuantile, studentCdf, studentQuantile } from "./special.ts";

/** All ways to choose k of the attempts. */
function choices<T>(items: readonly T[], k: number): T[][] {
  if (k === 0) return [[]];
  return items.flatMap((item, i) => choices(items.slice(i + 1), k - 1).map((rest) => [item, ...rest]));
}

test("pass@k is the share of all choices of k attempts with a success, pass^k of those with successes alone", () => {
  const attempts = fc.array(fc.boolean(), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(attempts, fc.integer({ min: 1, max: 8 }), (outcomes, wanted) => {
      const k = Math.min(wanted, outcomes.length);
      const chosen = choices(outcomes, k);
      const c = outcomes.filter(Boolean).length;
      const share = (of: (choice: boolean[]) => boolean) => chosen.filter(of).length / chosen.length;
      expect(passAtK(outcomes.length, c, k)).toBeCloseTo(
        share((choice) => choice.includes(true)),
        12,
      );
      expect(passHatK(outcomes.length, c, k)).toBeCloseTo(
        share((choice) => choice.every(Boolean)),
        12,
      );
    }),
  );
});

test("distributions agree with tables", () => {
  // R 4.3: pbeta(0.3, 2, 5), qbeta(0.025, 8, 3), qbeta(0.975, 1, 16), pt(2.5, 4), qt(0.975, c(1, 2, 10, 255.5)), qnorm(c(0.975, 0.8, 0.001))
  expect(betaCdf(0.3, 2, 5)).toBeCloseTo(0.579825, 6);
  expect(betaQuantile(0.025, 8, 3)).toBeCloseTo(0.4439045, 6);
  expect(betaQuantile(0.975, 1, 16)).toBeCloseTo(1 - 0.025 ** (1 / 16), 10);
  expect(studentCdf(2.5, 4)).toBeCloseTo(0.9666168, 6);
  expect([1, 2, 10].map((df) => studentQuantile(0.975, df))).toEqual([
    expect.closeTo(12.7062047, 5),
    expect.closeTo(4.3026527, 5),
    expect.closeTo(2.2281389, 5),
  ]);
  expect([0.975, 0.8, 0.001].map(normalQuantile)).toEqual([
    expect.closeTo(1.959964, 6),
    expect.closeTo(0.8416212, 6),
    expect.closeTo(-3.0902323, 6),
  ]);
});

test("McNemar's exact test is the binomial test of the pairs that differ", () => {
  // R 4.3: binom.test(1, 10)$p.value, binom.test(3, 15)$p.value, binom.test(10, 1000)$p.value
  expect(mcnemarExact(9, 1)).toBeCloseTo(0.021484375, 12);
  expect(mcnemarExact(3, 12)).toBeCloseTo(0.03515625, 12);
  expect(mcnemarExact(0, 0)).toBe(1);
  expect(mcnemarExact(5, 5)).toBe(1);
  expect(mcnemarExact(10, 990)).toBeLessThan(1e-250);
  expect(mcnemarExact(6, 0)).toBeCloseTo(2 / 64, 12);
});

test("the sign-flip test counts signs: all of them, and for one attempt a task it is McNemar's", () => {
  const flips = (differences: readonly number[]) => {
    const observed = Math.abs(differences.reduce((a, b) => a + b, 0));
    let extreme = 0;
    for (let signs = 0; signs < 2 ** differences.length; signs++) {
      const sum = differences.reduce((total, value, i) => total + ((signs >> i) & 1 ? value : -value), 0);
      if (Math.abs(sum) >= observed - 1e-9) extreme++;
    }
    return extreme / 2 ** differences.length;
  };
  const quarters = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(quarters, (fourths) => {
      const differences = fourths.map((value) => value / 4);
      const { pValue, exact } = signFlipTest(differences, 1);
      expect(exact).toBe(true);
      expect(pValue).toBeCloseTo(flips(differences), 10);
      const ones = fourths.map(Math.sign);
      const [better, worse] = [1, -1].map((sign) => ones.filter((value) => value === sign).length);
      expect(signFlipTest(ones, 1).pValue).toBeCloseTo(mcnemarExact(better, worse), 10);
    }),
  );
  const irregular = [0.31, -0.12, 0.77, 0.45, Math.PI / 7, 0.2, Math.SQRT1_2];
  const simulated = signFlipTest(irregular, 3);
  expect(simulated.exact).toBe(false);
  expect(simulated.pValue).toBeCloseTo(flips(irregular), 2);
});

test("Holm's adjusted p-values are those of the published example, in the order that was given", () => {
  // R 4.3: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
  expect(holm([0.01, 0.04, 0.03, 0.005])).toEqual([0.03, 0.06, 0.06, 0.02].map((p) => expect.closeTo(p, 12)));
  expect(holm([0.6, 0.9])).toEqual([1, 1]);
  expect(holm([])).toEqual([]);
});

test("a difference of the smallest detectable size is seen about four times in five", () => {
  const random = randomStream(1, "power");
  const [tasks, from] = [120, 0.4];
  const play = (chance: number) => Array.from({ length: tasks }, () => Number(random.chance(chance)));
  const smallest = mean(Array.from({ length: 50 }, () => comparePaired(play(from), play(from), { seed: 1 }).smallest));
  const seen = Array.from({ length: 300 }, () =>
    Number(
      signFlipTest(
        play(from + smallest).map((b, i) => b - play(from)[i]),
        1,
      ).pValue < 0.05,
    ),
  );
  // Exact tests are a little stricter than the normal approximation of the formula.
  expect(mean(seen)).toBeGreaterThan(0.7);
  expect(mean(seen)).toBeLessThan(0.88);
  expect(pairsNeeded(smallest, Math.sqrt(2 * from * (1 - from)), {})).toBeGreaterThan(tasks * 0.85);
  expect(pairsNeeded(smallest, Math.sqrt(2 * from * (1 - from)), {})).toBeLessThan(tasks * 1.15);
});

test("where no pair differs, the smallest detectable difference is what an exact test could call significant", () => {
  // Six pairs in one direction: 2 / 2^6 = 0.03; five are not enough.
  expect(smallestDetectable(new Array(100).fill(0), 1)).toBeCloseTo(0.06, 12);
  expect(mcnemarExact(6, 0)).toBeLessThan(0.05);
  expect(mcnemarExact(5, 0)).toBeGreaterThan(0.05);
});

test("a comparison turns around with its sides", () => {
  const [a, b] = [
    [1, 0, 0, 0.5, 1],
    [1, 1, 1, 0.5, 0],
  ];
  const [forth, back] = [comparePaired(a, b, { seed: 1 }), comparePaired(b, a, { seed: 1 })];
  expect(forth).toMatchObject({ tasks: 5, better: 2, worse: 1 });
  expect(forth.difference.mean).toBeCloseTo(0.2, 12);
  expect(back).toMatchObject({ better: 1, worse: 2, pValue: forth.pValue });
  expect(() => comparePaired([1], [1, 0], { seed: 1 })).toThrow(/cannot be paired/);
});

test("the test over seeds and tasks rejects a true null in about one of twenty studies, and sees its smallest difference in four of five", () => {
  const random = randomStream(3, "crossed");
  const normal = () => Math.sqrt(-2 * Math.log(1 - random.uniform())) * Math.cos(2 * Math.PI * random.uniform());
  // Differences with an effect of each seed and of each task.
  const study = (shift: number) => {
    const tasks = Array.from({ length: 30 }, () => 0.2 * normal());
    return Array.from({ length: 6 }, () => {
      const seed = 0.1 * normal();
      return tasks.map((task) => shift + seed + task + 0.5 * normal());
    });
  };
  const rejected = (shift: number) => mean(Array.from({ length: 200 }, () => Number(crossedTest(study(shift)).pValue < 0.05)));
  expect(rejected(0)).toBeLessThan(0.08);
  const smallest = mean(Array.from({ length: 50 }, () => crossedTest(study(0)).smallest));
  expect(rejected(smallest)).toBeGreaterThan(0.7);
  expect(rejected(smallest)).toBeLessThan(0.93);
  // The interval excludes 0 where p is below 0.05, and nowhere else.
  for (let i = 0; i < 100; i++) {
    const { difference, pValue } = crossedTest(study(smallest / 2));
    expect(difference.low > 0 || difference.high < 0).toBe(pValue < 0.05);
  }
});

test("the test over seeds and tasks and the interval tell the same story", () => {
  const table = [
    [1, 0, 1, 0, 0],
    [0, 0, 1, 1, 0],
    [1, 0, 1, 0, 1],
  ];
  const { low } = seedsAndTasksInterval(table, { seed: 1, range: [-1, 1] });
  expect(low < 0).toBe(crossedTest(table).pValue > 0.05);
  expect(
    crossedTest([
      [0, 0],
      [0, 0],
    ]),
  ).toEqual({ difference: { mean: 0, low: -1.5, high: 1.5 }, pValue: 1, smallest: 1.5 });
  expect(
    crossedTest([
      [0.5, 0.5],
      [0.5, 0.5],
    ]).pValue,
  ).toBe(2 ** -3);
  expect(() => crossedTest([[1, 2]])).toThrow("needs two of each");
});
