import fc from "fast-check";
import { expect, test } from "vitest";
import { type Curve, callRatios, callsToReach, rewardAt, rewardGaps, smoothed } from "./curves.ts";

const curve: Curve = [
  { calls: 0, reward: 0.2 },
  { calls: 100, reward: 0.4 },
  { calls: 300, reward: 0.3 },
  { calls: 400, reward: 0.8 },
];

test("calls to a reward are those of its first crossing, on straight lines", () => {
  expect(callsToReach(curve, 0.3)).toBeCloseTo(50, 9);
  expect(callsToReach(curve, 0.4)).toBeCloseTo(100, 9);
  expect(callsToReach(curve, 0.55)).toBeCloseTo(350, 9); // after the dip
  expect(callsToReach(curve, 0.2)).toBe(0);
  expect(callsToReach(curve, 0.1)).toBe(0);
  expect(callsToReach(curve, 0.81)).toBeUndefined();
});

test("the reward at so many calls lies on the same lines, and nowhere beyond the last evaluation", () => {
  expect(rewardAt(curve, 0)).toBe(0.2);
  expect(rewardAt(curve, 200)).toBeCloseTo(0.35, 9);
  expect(rewardAt(curve, 400)).toBe(0.8);
  expect(rewardAt(curve, 401)).toBeUndefined();
});

test("the reward at the calls that reach it is that reward", () => {
  const rises = fc.array(fc.double({ min: 0.01, max: 1, noNaN: true }), { minLength: 2, maxLength: 8 });
  fc.assert(
    fc.property(rises, fc.double({ min: 0.05, max: 0.95, noNaN: true }), (steps, share) => {
      let reward = 0;
      const rising = steps.map((step, i) => ({ calls: i * 10, reward: i === 0 ? 0 : (reward += step) }));
      const target = share * reward;
      expect(rewardAt(rising, callsToReach(rising, target) ?? Number.NaN)).toBeCloseTo(target, 9);
    }),
  );
});

test("twice the calls for the same rewards is a ratio of one half; a run that never gets there bounds it", () => {
  const costly = curve.map(({ calls, reward }) => ({ calls: 2 * calls, reward }));
  const weak: Curve = [
    { calls: 0, reward: 0.2 },
    { calls: 500, reward: 0.5 },
  ];
  const ratios = callRatios([curve, curve, weak, weak], [costly, weak, curve, weak], 0.55);
  expect(ratios[0]).toEqual({ is: "=", ratio: expect.closeTo(0.5, 9) });
  expect(ratios[1]).toEqual({ is: "<", ratio: expect.closeTo(350 / 500, 9) });
  expect(ratios[2]).toEqual({ is: ">", ratio: expect.closeTo(500 / 350, 9) });
  expect(ratios[3]).toBeUndefined();
  expect(callRatios([curve], [costly], 0.2)).toEqual([undefined]); // both start there
});

test("where ours needs half of the calls, half of the calls earn the same", () => {
  const costly = curve.map(({ calls, reward }) => ({ calls: 2 * calls, reward }));
  expect(rewardGaps([curve], [costly], 0.5)[0]).toBeCloseTo(0, 9);
  // At equal calls both stop where the cheaper one stops: 0.8 there, against 0.35 of the other at 400 calls.
  expect(rewardGaps([curve], [costly], 1)[0]).toBeCloseTo(0.8 - 0.35, 9);
});

test("smoothing averages an evaluation with those beside it and leaves the start", () => {
  expect(smoothed(curve).map(({ reward }) => Number(reward.toFixed(6)))).toEqual([0.2, 0.3, 0.5, 0.55]);
});
