import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { callsToReach } from "./curves.ts";
import { estimates, geometricMean, type MeasuredRun, mean, tInterval } from "./intervals.ts";

/** Runs that end at a reward of about `level`, on so many tasks. */
function runs(level: number, seeds: readonly number[], tasks: number): MeasuredRun[] {
  return seeds.map((seed) => {
    const random = randomStream(seed, "runs", level);
    const rewards = (share: number) => Array.from({ length: tasks }, () => Number(random.uniform() < share));
    return {
      arm: "a",
      seed,
      points: [
        { calls: 0, rewards: rewards(0.1) },
        { calls: 100, rewards: rewards(level) },
      ],
    };
  });
}

const last = (curves: readonly (readonly { readonly reward: number }[])[]) => mean(curves.map((curve) => curve[1].reward));

test("with one seed the interval of a share is that of its tasks: ±1.96 √(p(1 − p)/n)", () => {
  const [estimate] = estimates(runs(0.5, [1], 400), [(of) => last(of("a"))]);
  const p = estimate?.value ?? Number.NaN;
  const half = 1.96 * Math.sqrt((p * (1 - p)) / 400);
  expect(estimate?.low).toBeCloseTo(p - half, 1.5);
  expect(estimate?.high).toBeCloseTo(p + half, 1.5);
  expect((estimate?.high ?? 0) - (estimate?.low ?? 0)).toBeGreaterThan(1.5 * half);
});

test("runs that differ widen the interval, whatever the number of tasks", () => {
  const constant = (level: number, seed: number): MeasuredRun => ({
    arm: "a",
    seed,
    points: [{ calls: 0, rewards: new Array<number>(50).fill(level) }],
  });
  const first: Parameters<typeof estimates>[1][number] = (of) => mean(of("a").map((curve) => curve[0].reward));
  const [same] = estimates([constant(0.4, 1), constant(0.4, 2), constant(0.4, 3)], [first]);
  expect([same?.low, same?.high].map((value) => value?.toFixed(9))).toEqual(["0.400000000", "0.400000000"]);
  const [apart] = estimates([constant(0.2, 1), constant(0.4, 2), constant(0.6, 3)], [first]);
  expect(apart?.value).toBeCloseTo(0.4, 9);
  expect(apart?.low).toBeCloseTo(0.2, 9);
  expect(apart?.high).toBeCloseTo(0.6, 9);
});

test("arms are drawn with the same seeds and tasks: what they have in common cancels", () => {
  const ours = runs(0.5, [1, 2, 3], 64);
  const theirs = ours.map((run) => ({
    ...run,
    arm: "b",
    points: run.points.map(({ calls, rewards }) => ({ calls, rewards: rewards.map((reward) => reward - 0.25) })),
  }));
  const [gap] = estimates([...ours, ...theirs], [(of) => last(of("a")) - last(of("b"))]);
  for (const value of [gap?.value, gap?.low, gap?.high]) expect(value).toBeCloseTo(0.25, 9);
});

test("a statistic that does not exist has no estimate, and one that exists in some draws says in how many", () => {
  const reach = (reward: number) => (of: Parameters<Parameters<typeof estimates>[1][number]>[0]) =>
    callsToReach(of("a")[0], reward);
  const [never, sometimes] = estimates(runs(0.5, [1], 20), [reach(1.1), reach(0.5)]);
  expect(never).toBeUndefined();
  if (sometimes !== undefined) expect(sometimes.share).toBeLessThan(1);
});

test("the same seed draws the same", () => {
  const given = runs(0.5, [1, 2], 16);
  expect(estimates(given, [(of) => last(of("a"))])).toEqual(estimates(given, [(of) => last(of("a"))]));
});

test("Student's interval of 1, 2, 3 is 2 ± 4.303 / √3; of one number there is none", () => {
  const { low, high } = tInterval([1, 2, 3]) ?? { low: 0, high: 0 };
  expect(low).toBeCloseTo(2 - 4.303 / Math.sqrt(3), 9);
  expect(high).toBeCloseTo(2 + 4.303 / Math.sqrt(3), 9);
  expect(tInterval([1])).toBeUndefined();
  // 21 numbers: t with 20 degrees of freedom is 2.086.
  const many = Array.from({ length: 21 }, (_, i) => i);
  const deviation = Math.sqrt((21 * 22) / 12);
  expect(((tInterval(many)?.high ?? 0) - 10) / (deviation / Math.sqrt(21))).toBeCloseTo(2.086, 3);
});

test("geometric mean", () => {
  expect(geometricMean([0.5, 2])).toBeCloseTo(1, 12);
  expect(geometricMean([])).toBeUndefined();
});
