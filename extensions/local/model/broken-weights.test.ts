import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { notFiniteError, requireWholeWeights } from "./broken-weights.ts";

const whole = new Map([["good", Float32Array.of(1, -3e38)]]);
const broken = new Map([...whole, ["bad", Float32Array.of(1, Number.POSITIVE_INFINITY)], ["worse", Float32Array.of(Number.NaN)]]);

test("a log-prob that is no number names its weights, or says that an activation overflowed", () => {
  const said = (parameters?: ReadonlyMap<string, Float32Array>) => notFiniteError("a log-prob", Number.NaN, parameters).message;
  const is = "a log-prob is NaN; expected a finite number.";
  expect(said()).toBe(
    `${is} Weights are not finite, or an activation overflowed. Go back to an earlier checkpoint, or copy the model's folder from its source again.`,
  );
  expect(said(whole)).toBe(
    `${is} All weights are finite, so an activation overflowed: the weights are too large, or belong to another configuration.`,
  );
  expect(said(broken)).toBe(
    `${is} The weights bad have values that are not finite. Copy the model's folder from its source again, or go back to an earlier checkpoint.`,
  );
});

test("log-probs are let through unless one is no number because of the weights", async () => {
  let asked = 0;
  const of = (parameters: ReadonlyMap<string, Float32Array>) => async () => {
    asked++;
    return parameters;
  };
  const fine = [[-1], [], [Number.NEGATIVE_INFINITY]];
  expect(await requireWholeWeights(fine, of(broken))).toBe(fine);
  expect(asked).toBe(0);
  const none = [[-1], [-2, Number.NaN]];
  expect(await requireWholeWeights(none, of(whole))).toBe(none); // the algorithm's to report
  await expect(requireWholeWeights(none, of(broken))).rejects.toThrow(EngineError);
  await expect(requireWholeWeights(none, of(broken))).rejects.toThrow("the log-prob of a token is NaN; expected a finite number");
});
