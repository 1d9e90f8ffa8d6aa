import { describe, expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { resolveAlgorithm } from "./config.ts";

test("a name stands for its defaults, which are those of the papers", () => {
  expect(resolveAlgorithm("seeupo")).toMatchObject({
    kind: "seeupo",
    order: "reverse",
    normalisation: "batch",
    advantageBound: 3,
    advantageFactor: true,
    clip: { low: 0.2, high: 0.2 },
    carryClip: { low: 0.2, high: 0.2 },
    level: "turn",
    klCoef: 0.002,
    klEstimator: "k3",
    epochs: 1,
  });
  expect(resolveAlgorithm("grpo")).toMatchObject({
    divideByStd: true,
    aggregation: "sequence-mean-token-mean",
    clip: { low: 0.2, high: 0.2 },
    epochs: 1,
    miniBatches: 1,
  });
  expect(resolveAlgorithm("sft")).toEqual({ kind: "sft" });
  expect(resolveAlgorithm({ kind: "grpo", clip: { high: 0.28 } })).toMatchObject({ clip: { low: 0.2, high: 0.28 } });
});

describe("a setting that cannot be is named, with what can", () => {
  test.each([
    ["seupo", "algorithm.kind", 'algorithm.kind is "seupo"; expected "seeupo", "grpo" or "sft". Did you mean "seeupo"?'],
    [{}, "algorithm.kind", 'algorithm.kind is missing; expected "seeupo", "grpo" or "sft".'],
    [7, "algorithm", "algorithm is 7; expected an object."],
    [{ kind: "seeupo", ordr: "reverse" }, "algorithm.ordr", 'Did you mean "order"?'],
    [{ kind: "seeupo", order: "revers" }, "algorithm.order", 'Did you mean "reverse"?'],
    [{ kind: "seeupo", order: [2, -1] }, "algorithm.order.1", "expected at least 0."],
    [{ kind: "seeupo", order: [2, 2] }, "algorithm.order", "expected turns that differ from each other."],
    [{ kind: "seeupo", clip: { low: 2 } }, "algorithm.clip.low", "expected at most 1."],
    [{ kind: "seeupo", klCoef: -1 }, "algorithm.klCoef", "expected at least 0."],
    [{ kind: "seeupo", dualClip: 1 }, "algorithm.dualClip", "expected more than 1."],
    [{ kind: "seeupo", divideByStd: true }, "algorithm.divideByStd", "expected no setting of this name"],
    [{ kind: "grpo", aggregation: "token" }, "algorithm.aggregation", '"token-mean"'],
    [{ kind: "grpo", aggregation: { tokenSumOver: 0 } }, "algorithm.aggregation.tokenSumOver", "expected more than 0."],
    [{ kind: "grpo", epochs: 0.5 }, "algorithm.epochs", "expected a whole number."],
    [{ kind: "sft", epochs: 2 }, "algorithm.epochs", "expected no setting of this name"],
  ])("%j", (input, subject, message) => {
    const error = errorOf(() => resolveAlgorithm(input));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ subject });
    expect(String(error)).toContain(message);
  });
});

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}
