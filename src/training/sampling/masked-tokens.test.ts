import { expect, test } from "vitest";
import type { Policy, Weights } from "../../core/policy.ts";
import type { Group, Turn } from "../../core/trajectory.ts";
import { withoutMaskedTokens, withRecordedMasked } from "./masked-tokens.ts";
import { measureSamplerGap } from "./sampler-gap.ts";

/** A turn of three tokens. A grammar decided the one in the middle: its log-prob is after the mask. */
function turn(id: string, masked?: readonly number[]): Turn {
  return {
    ...{ trajectory: id, turn: 0, context: [1], action: [2, 3, 4], samplerLogprobs: [-1, -0.1, -2], entropies: [1, 1, 1] },
    ...{ weightVersion: 0, truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0 },
    ...(masked === undefined ? {} : { masked }),
  };
}

function groupOf(...turns: readonly Turn[]): Group {
  const trajectories = turns.map((one) => ({
    ...{ id: one.trajectory, group: "g", task: "t", turns: [one], reward: 1, scores: {}, messages: [] },
    stopReason: "done" as const,
  }));
  return { id: "g", trajectories };
}

/** The model without a grammar: it finds the middle token unlikely. */
function bare(): { readonly policy: Policy; readonly weighted: Weights[] } {
  const weighted: Weights[] = [];
  const rows = (count: number) => Array.from({ length: count }, () => [-1, -7, -2]);
  const policy: Policy = {
    logprobs: async (samples) => rows(samples.length),
    referenceLogprobs: async (samples) => rows(samples.length),
    forwardBackward: async (samples, decide, entropyWeights) => {
      weighted.push(typeof decide === "function" ? decide(rows(samples.length)) : decide);
      if (entropyWeights !== undefined) weighted.push(entropyWeights);
      return rows(samples.length);
    },
    step: async () => ({ gradientNorm: 1, learningRate: 1 }),
  };
  return { policy, weighted };
}

test("a token that a grammar decided has its recorded log-prob on both sides, and no weight", async () => {
  const turns = [turn("a", [1]), turn("b")];
  const { policy, weighted } = bare();
  const trained = withoutMaskedTokens(policy, [groupOf(...turns)]);
  const logprobs = [
    [-1, -0.1, -2],
    [-1, -7, -2],
  ];
  expect(await trained.logprobs(turns)).toEqual(logprobs);
  expect(await trained.referenceLogprobs(turns)).toEqual(logprobs);
  const ones = turns.map(() => [1, 1, 1]);
  const seen: unknown[] = [];
  const decide = (rows: unknown) => {
    seen.push(rows);
    return ones;
  };
  expect(await trained.forwardBackward(turns, decide, ones)).toEqual(logprobs);
  expect(await trained.forwardBackward(turns, ones)).toEqual(logprobs);
  expect(seen).toEqual([logprobs]);
  const withoutIt = [
    [1, 0, 1],
    [1, 1, 1],
  ];
  expect(weighted).toEqual([withoutIt, withoutIt, withoutIt]);
});

test("such a token opens no gap between sampler and trainer; without the record of it the run would stop", async () => {
  const measured = (masked?: readonly number[]) => {
    const groups = [groupOf(turn("a", masked))];
    return measureSamplerGap(withoutMaskedTokens(bare().policy, groups), groups, { nats: 0.02 });
  };
  const { policy, gap } = measured([1]);
  await policy.logprobs([turn("a", [1])]);
  expect(gap().samplerGapMax).toBe(0);
  await expect(measured().policy.logprobs([turn("a")])).rejects.toThrow("log-prob gap");
});

test("without such tokens the policy is the policy", () => {
  const { policy } = bare();
  expect(withoutMaskedTokens(policy, [groupOf(turn("a"))])).toBe(policy);
});

test("a pass that is sent with its step has the same weights, and its answer the same log-probs", async () => {
  const turns = [turn("a", [1]), turn("b")];
  const given: Weights[] = [];
  const report = { gradientNorm: 2, learningRate: 3 };
  const together: Policy = {
    ...bare().policy,
    passAndStep: async (_, weights) => {
      given.push(weights);
      return { logprobs: turns.map(() => [-1, -7, -2]), report };
    },
  };
  const ones = turns.map(() => [1, 1, 1]);
  expect(await withoutMaskedTokens(together, [groupOf(...turns)]).passAndStep?.(turns, ones)).toEqual({
    logprobs: [
      [-1, -0.1, -2],
      [-1, -7, -2],
    ],
    report,
  });
  expect(given).toEqual([
    [
      [1, 0, 1],
      [1, 1, 1],
    ],
  ]);
  expect(withoutMaskedTokens(bare().policy, [groupOf(...turns)]).passAndStep).toBeUndefined();
});

test("scores of turns have the recorded log-probs of such tokens", () => {
  expect(
    withRecordedMasked(
      [turn("a", [0, 1]), turn("b")],
      [
        [-9, -7, -2],
        [-9, -7, -2],
      ],
    ),
  ).toEqual([
    [-1, -0.1, -2],
    [-9, -7, -2],
  ]);
  expect(() => withRecordedMasked([turn("a", [1])], [])).toThrow("the numbers of a turn is missing");
});
