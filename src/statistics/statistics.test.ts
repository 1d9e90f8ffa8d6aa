import fc from "fast-check";
import { expect, test } from "vitest";
import { crossedInterval, crossedTest } from "../../research/study/crossed.ts";
import { mean } from "../core/mean.ts";
import { type Random, randomStream } from "../core/random.ts";
import { passAtK, passHatK } from "./attempts.ts";
import { seedsAndTasksInterval } from "./clustered.ts";
import { signFlipPower, signFlipTest } from "./exact-tests.ts";
import { comparePaired } from "./paired.ts";
import { smallestDetectable } from "./power.ts";
import { betaCdf, betaQuantile, logGamma, normalQuantile, studentCdf, studentQuantile } from "./special.ts";

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
  // R 4.5: pt(1:3, 3.5), qt(c(.9, .99), 2.5), qbeta(c(.1, .9), 2.5, 4), pbeta(.7, 3, 1.5), lgamma(c(.3, 2.5, 40))
  expect([1, 2, 3].map((t) => studentCdf(t, 3.5))).toEqual(
    [0.8093313732, 0.9369307387, 0.9763123803].map((p) => expect.closeTo(p, 9)),
  );
  expect([0.9, 0.99].map((p) => studentQuantile(p, 2.5))).toEqual([1.730250929, 5.353111173].map((t) => expect.closeTo(t, 8)));
  expect([0.1, 0.9].map((p) => betaQuantile(p, 2.5, 4))).toEqual([0.1576580555, 0.6301815251].map((x) => expect.closeTo(x, 9)));
  expect(betaCdf(0.7, 3, 1.5)).toBeCloseTo(0.5121845972, 9);
  expect([0.3, 2.5, 40].map(logGamma)).toEqual([1.095797995, 0.2846828705, 106.6317603].map((x) => expect.closeTo(x, 7)));
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

/** McNemar's exact test: the sign-flip test of pairs that differ by 1. */
const mcnemarExact = (better: number, worse: number) =>
  signFlipTest([...new Array(better).fill(1), ...new Array(worse).fill(-1)], 1).pValue;

test("McNemar's exact test is the binomial test of the pairs that differ", () => {
  // R 4.3: binom.test(1, 10)$p.value, binom.test(3, 15)$p.value, binom.test(10, 1000)$p.value
  expect(mcnemarExact(9, 1)).toBeCloseTo(0.021484375, 12);
  expect(mcnemarExact(3, 12)).toBeCloseTo(0.03515625, 12);
  expect(mcnemarExact(0, 0)).toBe(1);
  expect(mcnemarExact(5, 5)).toBe(1);
  expect(mcnemarExact(10, 990)).toBeLessThan(1e-250);
  expect(mcnemarExact(6, 0)).toBeCloseTo(2 / 64, 12);
});

test("the sign-flip test counts signs: all of them", () => {
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
    }),
  );
  const irregular = [0.31, -0.12, 0.77, 0.45, Math.PI / 7, 0.2, Math.SQRT1_2];
  const simulated = signFlipTest(irregular, 3);
  expect(simulated.exact).toBe(false);
  expect(simulated.pValue).toBeCloseTo(flips(irregular), 2);
  // Multiples of one number, of which the exact distribution would have too many states.
  expect(signFlipTest([1_000_001, 2_000_003, -3_000_017, 4_000_037, 5_000_011, 6_000_001], 3).exact).toBe(false);
});

// Where improvement turns failures around, fewer pairs differ in the other direction and the test sees more than was promised.
test.each([
  [120, 0.4, 0.9],
  [120, 0.05, 0.8],
])(
  "of %i pairs that succeed with %d, a difference of the smallest detectable size is seen in a share of %d",
  (tasks, from, share) => {
    const random = randomStream(1, "power", tasks, String(from));
    const play = (chance: number) => Array.from({ length: tasks }, () => Number(random.chance(chance)));
    const differences = (by: number) => {
      const [first, second] = [play(from), play(from + by)];
      return second.map((value, i) => value - first[i]);
    };
    const smallest = mean(Array.from({ length: 40 }, () => smallestDetectable(differences(0), 1)));
    const seen = mean(Array.from({ length: 400 }, () => Number(signFlipTest(differences(smallest), 1).pValue < 0.05)));
    expect(Math.abs(seen - share)).toBeLessThan(0.06);
  },
);

test("the smallest detectable difference has the power of R's sign test", () => {
  // R 4.5: p <- function(m) { n <- 12 + m; r <- sapply(0:n, function(x) binom.test(x, n)$p.value <= .05); sum(dbinom(0:12, 12, .5)[r[0:12 + m + 1]]) }
  // sapply(c(0, 5, 8, 9, 12), p)
  expect([0, 5, 8, 9, 12].map((added) => signFlipPower(new Array(12).fill(1), added, 1, 0.05))).toEqual(
    [0.03857421875, 0.1938476562, 0.3872070313, 0.3872070313, 0.6127929688].map((p) => expect.closeTo(p, 9)),
  );
  const twelve = [...new Array(7).fill(1), ...new Array(5).fill(-1), ...new Array(28).fill(0)];
  expect(smallestDetectable(twelve, 1)).toBeCloseTo(13 / 40, 12);
  // Where no pair differs, six are needed: five in one direction are not enough.
  expect(smallestDetectable(new Array(100).fill(0), 1)).toBeCloseTo(0.06, 12);
  expect([mcnemarExact(6, 0), mcnemarExact(5, 0)]).toEqual([0.03125, 0.0625].map((p) => expect.closeTo(p, 12)));
  // Parts of several sizes: the critical sum is that of the test itself.
  const sizes = [1, 1, 0.5, 0.5, 1];
  let power = 0;
  for (let signs = 0; signs < 2 ** sizes.length; signs++) {
    const signed = sizes.map((size, i) => ((signs >> i) & 1 ? size : -size));
    if (signFlipTest([...signed, 0.5, 0.5, 0.5, 0.5], 1).pValue <= 0.05) power += 2 ** -sizes.length;
  }
  expect(power).toBeGreaterThan(0);
  expect(signFlipPower(sizes, 4, 0.5, 0.05)).toBeCloseTo(power, 12);
  expect(signFlipPower([0.31, Math.SQRT1_2], 0, 1, 0.05)).toBeUndefined();
  // No common fraction. R: (qnorm(.975)+qnorm(.8))*sd(c(.31,sqrt(.5),-.2))/sqrt(3)
  expect(smallestDetectable([0.31, Math.SQRT1_2, -0.2], 1)).toBeCloseTo(0.7355121702, 6);
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

/** Paired differences of runs whose tasks differ by 10 points, and seeds by a deviation. */
function crossedStudy(random: Random, seeds: number, shift: number, deviation = 0.075): number[][] {
  const tasks = Array.from({ length: 40 }, () => 0.1 * random.normal());
  return Array.from({ length: seeds }, () => {
    const seed = deviation * random.normal();
    return tasks.map((task) => shift + seed + task + 0.45 * random.normal());
  });
}

// Shares of 600 studies.
test.each([
  [3, 0.075, 0.028],
  [5, 0.075, 0.034],
  [5, 0.01, 0.021],
])(
  "with %i seeds that differ by %d, no difference is called one in a share of %d, never more than 5 %",
  (seeds, deviation, size) => {
    const random = randomStream(3, "crossed", seeds, String(deviation));
    const rejected = mean(
      Array.from({ length: 600 }, () => {
        const { low, high } = crossedInterval(crossedStudy(random, seeds, 0, deviation));
        return Number(low > 0 || high < 0);
      }),
    );
    expect(Math.abs(rejected - size)).toBeLessThan(0.015);
  },
);

/** Successes of 60 tasks with chances of mean 0.4 that differ much, at seeds that differ by a deviation. */
function successes(random: Random, seeds: number, deviation: number): number[][] {
  const chances = Array.from({ length: 60 }, () => random.uniform() ** 1.5);
  return Array.from({ length: seeds }, () => {
    const shift = deviation * random.normal();
    return chances.map((chance) => Number(random.chance(Math.min(1, Math.max(0, chance + shift)))));
  });
}

// With one t of S − 1 for both parts 96 to 100 % were covered, by half-widths of 22.0, 13.0, 10.0 and 29.8 points.
test.each([
  [3, 0, 14.1],
  [5, 0.02, 10.2],
  [10, 0.05, 9.1],
  [3, 0.1, 25],
])(
  "the interval over %i seeds that differ by %d and 60 tasks covers 94 to 99 %, with a half-width of %d points",
  (...setting) => {
    const [seeds, deviation, width] = setting;
    const random = randomStream(1, "coverage", seeds, String(deviation));
    const intervals = Array.from({ length: 400 }, () => crossedInterval(successes(random, seeds, deviation)));
    const covered = mean(intervals.map(({ low, high }) => Number(low <= 0.4 && high >= 0.4)));
    expect(covered).toBeGreaterThanOrEqual(0.94);
    expect(covered).toBeLessThanOrEqual(0.99);
    expect(50 * mean(intervals.map(({ low, high }) => high - low))).toBeCloseTo(width, 0);
  },
);

test("three seeds that agree say as much as one: the tasks decide", () => {
  const [row = []] = successes(randomStream(2, "agree"), 1, 0);
  const { low, high } = crossedInterval([row, row, row]);
  const deviation = Math.sqrt(mean(row.map((value) => (value - mean(row)) ** 2)) / (row.length - 1));
  expect((high - low) / 2).toBeCloseTo(studentQuantile(0.975, row.length - 1) * deviation, 12);
});

test("the interval excludes 0 where p is below 0.05, and nowhere else", () => {
  const random = randomStream(4, "crossed");
  for (let i = 0; i < 100; i++) {
    const { difference, pValue } = crossedTest(crossedStudy(random, 5, 0.08));
    expect(difference.low > 0 || difference.high < 0).toBe(pValue < 0.05);
  }
});

/*
 * scipy 1.17: a, b = t.isf(q, S-1), t.isf(q, T-1); h(q) = max(a²·ms + b²·max(mt - mr, 0), b²·max(mt, mr)) / (S·T);
 * m ∓ sqrt(h(.025)); p = 2·brentq(lambda q: h(q) - m², 1e-15, .5)
 */
test.each([
  {
    of: "few tasks",
    table: [
      [0.2, 0.1, -0.1, 0.3],
      [0, 0.4, 0.1, 0.2],
      [0.3, 0.2, 0, 0.5],
      [-0.1, 0.1, 0.2, 0.1],
      [0.2, 0.3, 0.1, 0.4],
    ],
    expected: [0.175, 0.005850658668, 0.3441493413, 0.04599076091],
  },
  {
    of: "seeds that happen to agree",
    table: [
      [0.5, 0, 0.25, 1, 0, 0.5],
      [0.25, 0.25, 0.5, 0.75, 0, 0.25],
      [0.5, 0, 0, 1, 0.25, 0.25],
    ],
    expected: [0.3472222222, 0.02274145394, 0.6717029905, 0.04027468346],
  },
  {
    of: "seeds that differ, and tasks that hardly do",
    table: [
      [0.1, 0.15, 0.1, 0.2],
      [0.6, 0.5, 0.55, 0.6],
      [0.3, 0.35, 0.25, 0.3],
    ],
    expected: [0.3333333333, -0.1995595264, 0.8662261931, 0.1147832072],
  },
])("the test over seeds and tasks is scipy's: $of", ({ table, expected }) => {
  const { difference, pValue } = crossedTest(table);
  expect([difference.mean, difference.low, difference.high, pValue]).toEqual(expected.map((x) => expect.closeTo(x, 8)));
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
  ).toEqual({ difference: { mean: 0, low: -1.5, high: 1.5 }, pValue: 1 });
  expect(
    crossedTest([
      [0.5, 0.5],
      [0.5, 0.5],
    ]).pValue,
  ).toBe(2 ** -3);
  expect(() => crossedTest([[1, 2]])).toThrow("needs two of each");
});
