import { expect, test } from "vitest";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { DivergenceError, EngineError, ShapeError } from "../../core/errors.ts";
import type { Critic, Logprobs, Policy, Weights } from "../../core/policy.ts";
import { tokenRewards } from "../advantages/advantage.ts";
import { criticOf, fitCritic } from "../advantages/critic.ts";
import { MetricTally } from "../glossary.ts";
import { Spread } from "../metrics.ts";
import { checkedRows, fixedLogprobs, fixedRows, minimise } from "./minimise.ts";

const samples = [
  { trajectory: "a", turn: 0, context: [1], action: [2, 3] },
  { trajectory: "b", turn: 1, context: [1], action: [4] },
];
const scores = [[-1, -2], [-3]];
const report = { gradientNorm: 5, learningRate: 0.5 };

/** A policy that answers every pass by these log-probs, and keeps what it was given. */
function policyOf(logprobs: Logprobs = scores, more: Partial<Policy> = {}) {
  const calls: unknown[] = [];
  const policy: Policy = {
    logprobs: async () => logprobs,
    referenceLogprobs: async () => logprobs,
    forwardBackward: async (given, decide, entropyWeights) => {
      calls.push(["pass", given.length, typeof decide === "function" ? decide(logprobs) : decide, entropyWeights]);
      return logprobs;
    },
    step: async () => {
      calls.push("step");
      return report;
    },
    ...more,
  };
  return { policy, calls };
}
const lossOf = (weights: Weights, loss = 2) => ({ loss, weights, metrics: { clipFraction: 0.5 } });

test("a step is one pass and one step; rows that are only looked at have no weight", async () => {
  const { policy, calls } = policyOf();
  const explained: unknown[] = [];
  const seen: unknown[] = [];
  const loss = (logprobs: Logprobs) => {
    seen.push(logprobs);
    return lossOf([[1, 0]]);
  };
  const reasons = () => [{ trajectory: "a", turn: 0, advantage: 1 }];
  const explain = (given: unknown) => void explained.push(given);
  expect(await minimise({ ...policy, explain }, samples, loss, { reasons })).toEqual({
    metrics: { clipFraction: 0.5, loss: 2, gradientNormMax: 5, gradientNorm: 5, learningRate: 0.5, optimiserSteps: 1 },
    logprobs: scores,
  });
  expect(calls).toEqual([["pass", 2, [[1, 0], [0]], undefined], "step"]);
  expect([seen, explained]).toEqual([[scores], [reasons()]]);
});

test("without any weight no step is taken, unless an entropy bonus has one", async () => {
  const { policy, calls } = policyOf();
  const none = [[0, 0], [0]];
  const { metrics } = await minimise(policy, samples, () => lossOf(none));
  expect(metrics).toMatchObject({ loss: 2, gradientNorm: 0, gradientNormMax: 0, learningRate: 0, optimiserSteps: 0 });
  expect(calls).toHaveLength(1);
  await minimise(policy, samples, () => lossOf(none), { entropyWeights: none });
  expect(calls).toHaveLength(2);
  await minimise(policy, samples, () => lossOf(none), { entropyWeights: [[0, 0.1], [0]] });
  expect(calls.slice(2)).toEqual([["pass", 2, none, [[0, 0.1], [0]]], "step"]);
});

test("known weights need no decision, and go with their step where passes and steps travel together", async () => {
  const knownWeights = [[1, 2], [3]];
  const apart = policyOf();
  await minimise(apart.policy, samples, () => lossOf(knownWeights), { knownWeights });
  expect(apart.calls).toEqual([["pass", 2, knownWeights, undefined], "step"]);
  const sent: unknown[] = [];
  const passAndStep: Policy["passAndStep"] = async (given, weights) => {
    sent.push([given.length, weights]);
    return { logprobs: scores, report: { gradientNorm: 7, learningRate: 1 } };
  };
  const together = policyOf(scores, { passAndStep });
  const { metrics } = await minimise(together.policy, samples, () => lossOf(knownWeights), { knownWeights });
  expect([sent, together.calls, metrics.gradientNorm, metrics.optimiserSteps]).toEqual([[[2, knownWeights]], [], 7, 1]);
  // A bonus has weights of its own, and no weight at all takes no step.
  await minimise(together.policy, samples, () => lossOf(knownWeights), { knownWeights, entropyWeights: [[1, 1], [1]] });
  expect(together.calls).toHaveLength(2);
  const none = [[0, 0], [0]];
  await minimise(together.policy, samples, () => lossOf(none), { knownWeights: none });
  expect([together.calls.length, sent.length]).toEqual([3, 1]);
  await expect(minimise(apart.policy, samples, () => lossOf([[1, 2], [4]]), { knownWeights })).rejects.toThrow(
    "the known weights of turn 1 of trajectory b are not those of its loss",
  );
});

test("an engine that decides nothing, or a loss that is no number, ends the update before its step", async () => {
  const deaf = policyOf(scores, { forwardBackward: async () => scores });
  await expect(minimise(deaf.policy, samples, () => lossOf([]))).rejects.toThrow(
    new EngineError("forwardBackward", undefined, { expected: "one call of decide" }),
  );
  for (const options of [{}, { knownWeights: [[1, 1], [1]] }]) {
    const { policy, calls } = policyOf();
    const wrong = minimise(policy, samples, () => lossOf([[1, 1], [1]], Number.NaN), options);
    await expect(wrong).rejects.toThrow(
      new DivergenceError("loss", Number.NaN, {
        expected: "a finite number",
        hint: "Every log-prob was finite: look at the advantages.",
      }),
    );
    expect(calls).not.toContain("step");
  }
});

test("an engine's rows are one number per action token, all finite, or the first that is not is named", () => {
  expect(checkedRows("value", samples, scores)).toBe(scores);
  expect(() => checkedRows("value", samples, [[-1, -2]])).toThrow(new ShapeError("rows of values", 1, { expected: [2] }));
  expect(() => checkedRows("log-prob", samples, [[-1, -2], []])).toThrow(
    new ShapeError("log-probs of turn 1 of trajectory b", 0, { expected: [1] }),
  );
  for (const wrong of [Number.NaN, Number.NEGATIVE_INFINITY])
    expect(() => fixedLogprobs(samples, [[-1, wrong], [-3]])).toThrow(
      new DivergenceError("log-prob of token 1 in turn 0 of trajectory a", wrong, {
        expected: "a finite number",
        hint: "A smaller learning rate or gradient clipping keeps the parameters finite.",
      }),
    );
  const fixed = fixedRows(samples, scores);
  expect([fixed([samples[1], samples[0]]), fixed([])]).toEqual([[[-3], [-1, -2]], []]);
});

test("a critic that decides nothing, diverges or has nothing to learn takes no step", async () => {
  const [group] = [groupOf("g", [{ reward: 1, turns: [{ context: [1], action: [2, 3] }] }])];
  const [trajectory] = group.trajectories;
  const { turns } = trajectory;
  const steps: number[] = [];
  const critic = (values: number[][], decides = true): Critic => ({
    values: async () => values,
    forwardBackward: async (_, decide) => {
      if (decides) decide(values);
      return values;
    },
    step: async (scale) => {
      steps.push(scale);
      return report;
    },
  });
  const fitted = (of: Critic, returns: number[][]) =>
    fitCritic(
      of,
      [{ trajectory, turns }],
      { returns: fixedRows(turns, returns), oldValues: fixedRows(turns, [[0, 0]]), aggregation: "token-mean" },
      { learningRateScale: 3, valueClip: 9 },
    );
  await expect(fitted(critic([[0, 0]], false), [[1, 1]])).rejects.toThrow(
    "critic.forwardBackward is missing; expected one call of decide.",
  );
  await expect(fitted(critic([[0, 0]]), [[1, Number.POSITIVE_INFINITY]])).rejects.toThrow(
    new DivergenceError("loss of the critic", Number.POSITIVE_INFINITY, { expected: "a finite number" }),
  );
  expect(await fitted(critic([[1, 1]]), [[1, 1]])).toEqual({ valueLoss: 0, valueClipFraction: 0 });
  expect(steps).toEqual([]);
  // ½ of (1² + 0²) over two tokens; a token without a return is not fitted, and the other counts whole.
  expect(await fitted(critic([[0, 1]]), [[1, 1]])).toEqual({ valueLoss: 0.25, valueClipFraction: 0, criticGradientNorm: 5 });
  expect(await fitted(critic([[0, 9]]), [[1, Number.NaN]])).toMatchObject({ valueLoss: 0.5 });
  expect(steps).toEqual([3, 3]);
  expect(() => criticOf({} as Policy)).toThrow(
    new EngineError("policy.critic", undefined, {
      expected: 'an engine with the capability "critic"',
      hint: "Advantages of kind gae need a value function; group-relative ones, such as grpo's, do not.",
    }),
  );
});

test("rewards of tokens: each turn's at its end, the rest of the return at the last, less the KL of each token", () => {
  const { trajectories } = groupOf("g", [
    {
      reward: 1,
      turns: [
        { context: [1], action: [2, 3] },
        { context: [1], action: [2] },
      ],
    },
    { reward: 2, turns: [] },
  ]);
  const [first, second] = trajectories;
  const rewarded = first.turns.map((turn, i) => (i === 0 ? { ...turn, reward: 0.25 } : turn));
  const episodes = [
    { trajectory: first, turns: rewarded },
    { trajectory: second, turns: [] },
  ];
  expect(tokenRewards(episodes, undefined)).toEqual([[0, 0.25], [0.75]]);
  const penalties = fixedRows(rewarded, [[0.5, 0.25], [1]]);
  expect(tokenRewards(episodes, penalties)).toEqual([[-0.5, 0], [-0.25]]);
  expect(tokenRewards([{ trajectory: first, turns: first.turns }], undefined)).toEqual([[0, 0], [1]]);
});

test("metrics of an update's steps are folded each by its rule", () => {
  const tally = new MetricTally();
  for (const value of [4, 1, 3]) tally.record({ loss: value, ratioMin: value, ratioMax: value, optimiserSteps: value });
  tally.record({ loss: 0, kl: 6 });
  expect(tally.result()).toEqual({ loss: 2, ratioMin: 1, ratioMax: 4, optimiserSteps: 8, kl: 6 });
  const spread = new Spread();
  for (const value of [2, -1, 5]) spread.add(value);
  expect(spread.named("ratio")).toEqual({ ratioMin: -1, ratioMean: 2, ratioMax: 5 });
  expect(new Spread().mean).toBeNaN();
});
