import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HttpError } from "../../extensions/http/http-error.ts";
import { evaluateLoss, lossNames, requireLoss } from "./losses.ts";

/** Numbers that are neither tiny nor at a clip bound: multiples of 1/64 from −2 to 2. */
const number = fc.integer({ min: -128, max: 128 }).map((n) => n / 64);
const rows = fc.integer({ min: 1, max: 6 }).chain((n) => {
  const row = fc.array(number, { minLength: n, maxLength: n });
  return fc.record({ logprobs: row, sampled: row, advantages: row, weights: row });
});

describe("weights are −∂loss/∂lp", () => {
  // CISPO's ratio is a constant of its gradient: its own case is below.
  test.each(["cross_entropy", "importance_sampling"])("%s, by central differences", (name) => {
    fc.assert(
      fc.property(rows, ({ logprobs, sampled, advantages, weights }) => {
        const inputs = { logprobs: sampled, advantages, weights };
        const at = (lps: readonly number[]) => evaluateLoss(name, { logprobs: lps, inputs, config: {} });
        const { weights: given } = at(logprobs);
        for (const [t, w] of given.entries()) {
          const h = 1e-6;
          const shifted = (by: number) => at(logprobs.map((lp, i) => (i === t ? lp + by : lp))).loss;
          const slope = (shifted(h) - shifted(-h)) / (2 * h);
          expect(Math.abs(-slope - w)).toBeLessThan(1e-5 * Math.max(1, Math.abs(w)));
        }
      }),
    );
  });

  test("cispo weighs by the clipped ratio, and its loss is linear in lp", () => {
    const inputs = { logprobs: [-1, -1, -1], advantages: [2, 2, -3], weights: [1, 0.5, 1] };
    const { loss, weights } = evaluateLoss("cispo", { logprobs: [-1 + Math.log(1.1), 0, -3], inputs, config: {} });
    expect(weights.map((w) => Number(w.toFixed(6)))).toEqual([2.2, 1.2, -2.4]);
    expect(loss).toBeCloseTo(-(2.2 * (-1 + Math.log(1.1)) + 0 + -2.4 * -3), 6);
  });
});

test("every setting of a loss changes it", () => {
  const inputs = { logprobs: [-1, -2], advantages: [1, -1] };
  const logprobs = [-0.2, -3];
  for (const [key, value] of [
    ["clip_low_threshold", 0.1],
    ["clip_high_threshold", 5],
  ] as const) {
    const config = { [key]: value };
    const changed = evaluateLoss("cispo", { logprobs, inputs, config });
    expect(changed).not.toEqual(evaluateLoss("cispo", { logprobs, inputs, config: {} }));
  }
});

test("what is not computed is refused by name", () => {
  const good = { advantages: [1], logprobs: [-1] };
  for (const name of lossNames) requireLoss(name, {}, [good].slice(0, name === "cross_entropy" ? 0 : 1));
  const wrong: [string, Record<string, number>, object[], RegExp][] = [
    ["grpo", {}, [good], /loss_fn is "grpo"; expected "cross_entropy", /],
    ["toString", {}, [good], /loss_fn is "toString"/],
    [
      "cispo",
      { clip_high: 1 },
      [good],
      /loss_fn_config of cispo is "clip_high"; expected clip_low_threshold, clip_high_threshold/,
    ],
    ["cispo", { clip_low_threshold: Number.NaN }, [good], /clip_low_threshold is NaN/],
    ["cispo", {}, [good, { advantages: [1] }], /loss_fn_inputs.logprobs of datum 1 is missing/],
    ["cross_entropy", {}, [good], /loss_fn_inputs of datum 0 for cross_entropy is "advantages"; expected target_tokens, weights/],
  ];
  for (const [name, config, inputs, message] of wrong)
    expect(() => requireLoss(name, config, inputs as Record<string, unknown>[])).toThrow(message);
});

test("a ratio that overflows is refused, and not trained on", () => {
  const inputs = { logprobs: [-2000], advantages: [1] };
  expect(() => evaluateLoss("importance_sampling", { logprobs: [-1], inputs, config: {} })).toThrow(HttpError);
});
