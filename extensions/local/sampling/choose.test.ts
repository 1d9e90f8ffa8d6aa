import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../../test/reals.ts";
import { type Choice, chooseToken, needsLogits, topCandidates } from "./choose.ts";

const plain: Choice = { temperature: 1, topP: 1, topK: 0 };
/** Sums to 1 in float32 as well. */
const example = Float32Array.of(0.125, 0.5, 0, 0.25, 0.125);

const distributions = fc
  .array(fc.oneof(fc.constant(0), real(1e-6, 1)), { minLength: 2, maxLength: 12 })
  .filter((masses) => masses.some((mass) => mass > 0))
  .map((masses) => {
    const total = masses.reduce((a, b) => a + b);
    return Float32Array.from(masses, (mass) => mass / total);
  });
const almostOne = 1 - 2 ** -53;
const uniforms = fc.oneof(fc.constantFrom(0, almostOne), real(0, almostOne));

const draw = (choice: Partial<Choice>, uniform: number, probabilities = example) =>
  chooseToken(probabilities, undefined, { ...plain, ...choice }, uniform);

/** The tokens that a choice can draw, by sweeping the uniform number. */
function reachable(choice: Partial<Choice>): number[] {
  const steps = 800;
  const tokens = Array.from({ length: steps }, (_, i) => draw(choice, i / steps).token);
  return [...new Set(tokens)].sort();
}

test("a token is drawn where the cumulative distribution passes the uniform number", () => {
  const tokens = [0, 0.1249, 0.125, 0.6249, 0.625, 0.8749, 0.875, almostOne].map((uniform) => draw({}, uniform).token);
  expect(tokens).toEqual([0, 0, 1, 1, 3, 3, 4, 4]);
});

test("log-probs are those of the drawn token, which is never an impossible one", () => {
  const choices = fc.record({ topK: fc.nat(12), topP: fc.constantFrom(0.1, 0.5, 0.9, 1) });
  fc.assert(
    fc.property(distributions, choices, uniforms, (probabilities, choice, uniform) => {
      const { token, logprob, modelLogprob } = draw(choice, uniform, probabilities);
      expect(probabilities[token]).toBeGreaterThan(0);
      expect(modelLogprob).toBe(Math.log(probabilities[token]));
      // Restricting the support only ever makes what is left likelier; 1e-6 for float32 probabilities that sum to less than 1.
      expect(logprob).toBeGreaterThan(modelLogprob - 1e-6);
      if (choice.topK === 0 && choice.topP === 1) expect(logprob).toBe(modelLogprob);
    }),
  );
});

test("greedy takes the most probable token, the first of equals, for certain", () => {
  for (const uniform of [0, 0.5, almostOne]) {
    expect(draw({ temperature: 0 }, uniform)).toEqual({ token: 1, logprob: 0, modelLogprob: Math.log(0.5) });
    expect(draw({ temperature: 0, topK: 3, topP: 0.9 }, uniform).token).toBe(1);
    expect(draw({ temperature: 0 }, uniform, Float32Array.of(0.25, 0.375, 0.375)).token).toBe(1);
  }
});

test("top-k keeps the k most probable, the first of equals, and shares out their probability", () => {
  expect(reachable({ topK: 1 })).toEqual([1]);
  expect(reachable({ topK: 2 })).toEqual([1, 3]);
  expect(reachable({ topK: 3 })).toEqual([0, 1, 3]);
  expect(reachable({ topK: 100 })).toEqual([0, 1, 3, 4]);
  expect(draw({ topK: 2 }, 0)).toEqual({ token: 1, logprob: Math.log(2 / 3), modelLogprob: Math.log(0.5) });
  expect(draw({ topK: 2 }, 0.67)).toEqual({ token: 3, logprob: Math.log(1 / 3), modelLogprob: Math.log(0.25) });
});

test("top-p keeps the smallest set that reaches p", () => {
  expect(reachable({ topP: 0.01 })).toEqual([1]);
  expect(reachable({ topP: 0.5 })).toEqual([1]);
  expect(reachable({ topP: 0.51 })).toEqual([1, 3]);
  expect(reachable({ topP: 0.76 })).toEqual([0, 1, 3]);
  expect(reachable({ topP: 0.99 })).toEqual([0, 1, 3, 4]);
  expect(draw({ topP: 0.75 }, 0.9)).toEqual({ token: 3, logprob: Math.log(1 / 3), modelLogprob: Math.log(0.25) });
});

test("top-p counts the probability that top-k left", () => {
  // Of the two likeliest, 1 has 2/3: enough for p = 0.6, too little for p = 0.7.
  expect(reachable({ topK: 2, topP: 0.6 })).toEqual([1]);
  expect(reachable({ topK: 2, topP: 0.7 })).toEqual([1, 3]);
});

test("where probabilities are tempered, the model's own log-probs come from the logits", () => {
  const logits = Float32Array.of(100, 101, 98);
  const tempered = softmax(Array.from(logits, (logit) => logit / 0.5));
  const own = softmax(Array.from(logits));
  for (const uniform of [0, 0.2, 0.99]) {
    const { token, logprob, modelLogprob } = chooseToken(tempered, logits, { ...plain, temperature: 0.5 }, uniform);
    expect(logprob).toBe(Math.log(tempered[token]));
    expect(modelLogprob).toBeCloseTo(Math.log(own[token]), 5);
  }
  expect([0, 0.5, 1, 2].filter((temperature) => needsLogits({ ...plain, temperature }))).toEqual([0.5, 2]);
});

function softmax(logits: readonly number[]): Float32Array {
  const weights = logits.map((logit) => Math.exp(logit - Math.max(...logits)));
  const total = weights.reduce((a, b) => a + b);
  return Float32Array.from(weights, (weight) => weight / total);
}

test("the most probable candidates are those of the sorted distribution, without impossible ones", () => {
  fc.assert(
    fc.property(distributions, fc.integer({ min: 1, max: 14 }), (probabilities, count) => {
      const sorted = [...probabilities].filter((p) => p > 0).sort((a, b) => b - a);
      const { tokens, logprobs } = topCandidates(probabilities, count);
      expect(logprobs).toEqual(sorted.slice(0, count).map(Math.log));
      expect(tokens.map((token) => Math.log(probabilities[token]))).toEqual(logprobs);
      expect(new Set(tokens).size).toBe(tokens.length);
    }),
  );
});
