import { expect, test } from "vitest";
import { TableCritic, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { longGroups as groups, randomWorld } from "../../../test/algorithms/worlds.ts";
import { groupRelativeAdvantages } from "../../algorithms/advantages/group-relative.ts";
import { resolveAlgorithm, rolloutAlgorithms, runUpdate } from "../../algorithms/algorithms.ts";
import { clamp } from "../../algorithms/objectives/objective.ts";
import type { Policy } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import { observeCredits } from "./credit-observer.ts";

const { table } = randomWorld(11);

async function updated(algorithm: object, observe: boolean) {
  const policy = new TablePolicy(table, 0.5, new TableCritic([0.1, 0.2, 0.3, 0.4], 0.5));
  const observed = observe ? observeCredits(policy) : undefined;
  const metrics = await runUpdate(observed?.policy ?? policy, groups, resolveAlgorithm(algorithm), randomStream(5));
  await observed?.rescore(groups);
  return { policy, metrics, credits: observed?.credits() ?? [] };
}

const all = [...rolloutAlgorithms.filter((kind) => kind !== "custom"), "sft"].map((kind) => ({ kind }));

test.each(all)("recording $kind moves no number, and every weight has its reason", async (algorithm) => {
  const plain = await updated(algorithm, false);
  const observed = await updated(algorithm, true);
  expect(observed.policy.table).toEqual(plain.policy.table);
  expect(observed.metrics).toEqual(plain.metrics);
  expect(new Set(observed.credits.map(({ optimiserStep }) => optimiserStep)).size).toBe(plain.metrics.optimiserSteps);
  for (const { advantage, weights, before, old, learningRate } of observed.credits) {
    expect(advantage).toBeTypeOf("number");
    expect([before.length, old.length]).toEqual([weights.length, weights.length]);
    expect(learningRate).toBeGreaterThan(0);
  }
});

test("in grpo the reason is the group-relative advantage, and a token's weight its share of it", async () => {
  const { credits } = await updated({ kind: "grpo", aggregation: "token-mean" }, true);
  const advantages = groupRelativeAdvantages(groups, { std: "group", singletonGroups: "zero" });
  const tokens = groups
    .flatMap(({ trajectories }) => trajectories.flatMap(({ turns }) => turns))
    .reduce((sum, { action }) => sum + action.length, 0);
  expect(credits).toHaveLength(11);
  for (const { trajectory, advantage, weights, factor } of credits) {
    expect(advantage).toBeCloseTo(advantages.get(trajectory) ?? Number.NaN, 12);
    expect(factor).toBeUndefined();
    for (const weight of weights) expect(weight).toBeCloseTo((advantage ?? Number.NaN) / tokens, 12);
  }
});

test.each(["fused", "textbook"])(
  "in the %s form of seeupo-code the record explains itself: w = M·Â over rows and tokens, M from r",
  async (form) => {
    const settings = { kind: "seeupo-code", form, klCoef: 0, advantageBound: 100 };
    const { credits } = await updated(settings, true);
    const clip = (ratio: number) => clamp(ratio, 0.8, 1.2);
    const carried = new Map<string, number>();
    let factors = 0;
    for (const { optimiserStep, trajectory, advantage = Number.NaN, factor = Number.NaN, weights, before, after } of credits) {
      const rows = [2, 4, 5][optimiserStep];
      const expected = carried.get(trajectory) ?? 1;
      expect(factor).toBeCloseTo(expected, 12);
      if (expected !== 1) factors++;
      for (const weight of weights) expect(weight).toBeCloseTo((factor * advantage) / (rows * weights.length), 12);
      if (after === undefined) continue; // nothing reads the r of a trajectory's last update
      const ratio = Math.exp(after.reduce((sum, logprob, t) => sum + logprob - before[t], 0) / after.length);
      carried.set(trajectory, clip(expected * clip(ratio)));
    }
    expect(factors).toBeGreaterThan(3);
  },
);

test("a credit has the log-probs before its step, at its turn's first look, at the next, and at the end where that is asked", async () => {
  const rows = [[-1], [-2], [-3], [-4], [-5]];
  let looks = 0;
  const next = () => [rows[looks++] ?? [], [-9]];
  let steps = 0;
  const calls: unknown[] = [];
  const policy: Policy = {
    logprobs: async (samples) => next().slice(0, samples.length),
    referenceLogprobs: async () => [[-7]],
    forwardBackward: async (samples, decide, entropyWeights) => {
      const logprobs = next().slice(0, samples.length);
      calls.push(typeof decide === "function" ? decide(logprobs) : decide, entropyWeights);
      return logprobs;
    },
    step: async () => ({ gradientNorm: 1, learningRate: ++steps }),
    passAndStep: async (samples) => ({
      logprobs: next().slice(0, samples.length),
      report: { gradientNorm: 1, learningRate: ++steps },
    }),
  };
  const { policy: observed, credits, rescore } = observeCredits(policy);
  const [moved, looked] = [0, 1].map((turn) => ({ trajectory: "a", turn, context: [1], action: [2] }));
  expect(await observed.logprobs([moved])).toEqual([[-1]]);
  await observed.forwardBackward([moved, looked], [[0.5], [0]], [[1], [1]]);
  observed.explain?.([{ trajectory: "a", turn: 0, advantage: 3, factor: 2 }]);
  await observed.step();
  await observed.passAndStep?.([moved], [[0.25]]);
  expect(await observed.referenceLogprobs([moved])).toEqual([[-7]]);
  expect(await observed.logprobs([moved])).toEqual([[-4]]);
  const group = { id: "g", trajectories: [{ turns: [moved, looked] } as never] };
  await rescore([group]);
  expect(credits()).toEqual([
    {
      ...{ optimiserStep: 0, trajectory: "a", turn: 0, learningRate: 1, weights: [0.5], before: [-2], old: [-1] },
      ...{ after: [-3], advantage: 3, factor: 2 },
    },
    {
      ...{ optimiserStep: 1, trajectory: "a", turn: 0, learningRate: 2, weights: [0.25], before: [-3], old: [-1] },
      ...{ after: [-4], end: [-5] },
    },
  ]);
  expect(calls).toEqual([
    [[0.5], [0]],
    [[1], [1]],
  ]);
  const before = looks;
  await rescore([{ id: "g", trajectories: [{ turns: [looked] } as never] }]); // it has no credit
  expect(looks).toBe(before);
  expect(observeCredits({ ...policy, passAndStep: undefined }).policy.passAndStep).toBeUndefined();
});
