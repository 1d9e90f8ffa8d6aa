import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../../test/reals.ts";
import type { SampledAction } from "../../engines/engine.ts";
import { branchEntropy, entropyOf, meanEntropy } from "./entropy.ts";

const action: SampledAction = {
  tokens: [1, 2, 3],
  logprobs: [-1, -1, -1],
  modelLogprobs: [-1, -1, -1],
  entropies: [Math.log(4), Math.log(2), 0],
  topLogprobs: [[Math.log(0.25), Math.log(0.25), Math.log(0.25), Math.log(0.25)], [Math.log(0.5), Math.log(0.5)], [0]],
  finish: "stop",
  weightVersion: 0,
};

test("the published code's entropy is a sum over the first tokens, the exact one their mean; both over log V", () => {
  const options = { tokens: 2, vocabularySize: 4 };
  expect(entropyOf(action, "top-10", options)).toBeCloseTo(1.5, 12);
  expect(entropyOf(action, "exact", options)).toBeCloseTo(0.75, 12);
  expect(entropyOf(action, "top-10", { ...options, tokens: 1 })).toBeCloseTo(1, 12);
  expect(entropyOf(action, "exact", { ...options, tokens: 20 })).toBeCloseTo(0.5, 12);
  expect(entropyOf(action, "exact", { ...options, vocabularySize: 16 })).toBeCloseTo(0.375, 12);
});

test("the mean is within 0 and 1 where the entropies are those of a vocabulary; the sum grows with its tokens", () => {
  const vocabularySize = 50;
  const entropies = fc.array(real(0, Math.log(vocabularySize)), { minLength: 1 });
  fc.assert(
    fc.property(entropies, fc.integer({ min: 1, max: 30 }), (values, tokens) => {
      const mean = meanEntropy(values, { tokens, vocabularySize });
      expect(mean).toBeGreaterThanOrEqual(0);
      expect(mean).toBeLessThanOrEqual(1 + 1e-12);
    }),
  );
  const uniform = Array.from({ length: 10 }, () => new Array<number>(vocabularySize).fill(-Math.log(vocabularySize)));
  expect(branchEntropy(uniform, { tokens: 7, vocabularySize })).toBeCloseTo(7, 9);
});

test("an engine that gives no candidates is named, with the way out", () => {
  const { topLogprobs: _, ...without } = action;
  const options = { tokens: 2, vocabularySize: 4 };
  expect(() => entropyOf(without, "top-10", options)).toThrow(/topLogprobs.*rollout\.branching\.entropy to exact/s);
  expect(entropyOf(without, "exact", options)).toBeCloseTo(0.75, 12);
});
