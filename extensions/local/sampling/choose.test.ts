import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../../test/reals.ts";
import { type Choice, chooseToken, masked, needsLogits, numbersDrawn, topCandidates } from "./choose.ts";

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

/** A mask that allows these tokens; others that are likely are asked for one by one. */
const maskOf = (allowed: readonly number[], alone: readonly number[] = []) => {
  const bits = new Int32Array(2);
  for (const token of allowed) bits[token >> 5] = (bits[token >> 5] ?? 0) | (1 << (token & 31));
  const asked: number[] = [];
  const allows = (token: number) => {
    asked.push(token);
    return alone.includes(token);
  };
  return { asked, mask: { next: () => bits, allows } };
};

test("a mask takes tokens away, and shares out their probability", () => {
  const { mask, asked } = maskOf([0, 3]);
  expect(masked(example, mask)).toEqual({
    probabilities: Float32Array.of(0.125 / 0.375, 0, 0, 0.25 / 0.375, 0),
    changed: true,
  });
  expect(asked).toEqual([1, 4]);
});

test("likely tokens that a mask leaves out are asked for one by one, unlikely ones are not", () => {
  const probabilities = Float32Array.of(0.5, 0.498, 0.001, 0.001);
  const { mask, asked } = maskOf([0], [1]);
  const { probabilities: left, changed } = masked(probabilities, mask);
  expect(asked).toEqual([1, 2, 3].filter((token) => (probabilities[token] ?? 0) > 1e-3));
  expect([...left].map((each) => each > 0)).toEqual([true, true, false, false]);
  expect([changed, (left[0] ?? 0) + (left[1] ?? 0)]).toEqual([true, expect.closeTo(1, 6)]);
});

test("what takes less than a ten-thousandth changes nothing, and what leaves nothing makes all that is allowed equal", () => {
  const almost = Float32Array.of(0.99995, 0.00005);
  expect(masked(almost, maskOf([0]).mask)).toEqual({ probabilities: Float32Array.of(0.99995, 0), changed: false });
  expect(masked(Float32Array.of(0.9998, 0.0002), maskOf([0]).mask)).toEqual({
    probabilities: Float32Array.of(1, 0),
    changed: true,
  });
  expect(masked(example, maskOf([2]).mask)).toEqual({ probabilities: Float32Array.of(0, 0, 1, 0, 0), changed: true });
  const wide = new Float32Array(70);
  wide[69] = 1;
  const { probabilities, changed } = masked(wide, maskOf([1, 33, 63]).mask);
  expect([...probabilities.entries()].filter(([, value]) => value > 0)).toEqual(
    [1, 33, 63].map((token) => [token, Math.fround(1 / 3)]),
  );
  expect(changed).toBe(true); // token 69 is beyond the mask's bits
});

test("of equal candidates the first ids are kept, in the order of their probabilities", () => {
  const top = (count: number, ...probabilities: number[]) => topCandidates(Float32Array.from(probabilities), count).tokens;
  expect([top(2, 0.25, 0.25, 0.25, 0.25), top(3, 0.125, 0.5, 0.125, 0.25), top(1, 0.5, 0.5)]).toEqual([
    ...[[0, 1], [1, 3, 0], [0]],
  ]);
});

test("drawing passes over the vocabulary once, and eight times where it sorts", () => {
  const numbers = (choice: Partial<Choice>) => numbersDrawn({ ...plain, ...choice }, 100);
  expect([numbers({}), numbers({ topK: 1 }), numbers({ topP: 0.9 })]).toEqual([100, 800, 800]);
  expect([numbers({ temperature: 0, topK: 1 }), numbers({ temperature: 0.5 })]).toEqual([100, 100]);
});
