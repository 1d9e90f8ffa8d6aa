import { expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { aepo } from "./aepo.ts";
import { ppu } from "./ppu.ts";

const clip = { low: 0.2, high: 0.3 };
/** Tokens of ratio 0.5, 1.1 and 2, once with advantage 1 and once with −1, each of scale 1. */
const ratios = [0.5, 1.1, 2].map(Math.log);
const batch = {
  logprobs: [ratios, ratios],
  oldLogprobs: [
    [0, 0, 0],
    [0, 0, 0],
  ],
  advantages: [
    [1, 1, 1],
    [-1, -1, -1],
  ],
  tokenScales: [1, 1],
};

test("a raised token beyond the clip keeps 1 + high of its gradient, a lowered one none, by hand", () => {
  const { weights, metrics } = aepo(batch, { clip });
  expectClose(weights, [
    [0.5, 1.1, 1.3],
    [0, -1.1, -2],
  ]);
  expect(metrics.clipFraction).toBe(2 / 6);
});

test("its value is PPO's, whose weights differ where a raised token is clipped alone", () => {
  const clipped = ppu(batch, { level: "token", clip });
  const balanced = aepo(batch, { clip });
  expect(balanced.loss).toBeCloseTo(clipped.loss, 12);
  const differs = balanced.weights.flatMap((row, b) => row.map((weight, t) => weight !== clipped.weights[b]?.[t]));
  expect(differs).toEqual([false, false, true, false, false, false]);
});
