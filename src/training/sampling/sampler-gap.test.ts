import { expect, test } from "vitest";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { resolveAlgorithm, runUpdate } from "../../algorithms/algorithms.ts";
import { EngineError } from "../../core/errors.ts";
import type { Policy } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import type { Group, Turn } from "../../core/trajectory.ts";
import { observeCredits } from "../update/credit-observer.ts";
import { gapLimit, measureSamplerGap, sampleOfTurns, samplerGap } from "./sampler-gap.ts";

const table = [
  [0.3, -0.2, 0.5],
  [-1, 0.4, 0.1],
  [0, 0.7, -0.6],
];
/** A group with signal, of two turns, and one without, whose turns no algorithm asks for. */
async function sampled(): Promise<Group[]> {
  const turns = (action: number) => [
    { context: [0], action: [action, 1] },
    { context: [0, action, 1, 2], action: [action] },
  ];
  const groups = [
    groupOf("signal", [
      { reward: 1, turns: turns(1) },
      { reward: 0, turns: turns(2) },
    ]),
    groupOf("none", [
      { reward: 1, turns: turns(0) },
      { reward: 1, turns: turns(1) },
    ]),
  ];
  const sampler = new TablePolicy(table, 0);
  return Promise.all(
    groups.map(async (group) => ({
      ...group,
      trajectories: await Promise.all(
        group.trajectories.map(async (trajectory) => {
          const logprobs = await sampler.logprobs(trajectory.turns);
          return { ...trajectory, turns: trajectory.turns.map((turn, i) => ({ ...turn, samplerLogprobs: logprobs[i] })) };
        }),
      ),
    })),
  );
}

/** A policy that takes passes and steps together, and counts the answers that it was asked for. */
function remote(inner: TablePolicy): { readonly policy: Policy; waits(): number } {
  let waits = 0;
  const counted =
    <Args extends readonly unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    (...args: Args) => {
      waits++;
      return call(...args);
    };
  return {
    policy: {
      logprobs: counted((samples) => inner.logprobs(samples)),
      referenceLogprobs: counted((samples) => inner.referenceLogprobs(samples)),
      forwardBackward: counted((samples, decide) => inner.forwardBackward(samples, decide)),
      step: counted(() => inner.step()),
      passAndStep: counted(async (samples, weights) => {
        const logprobs = await inner.forwardBackward(samples, weights);
        return { logprobs, report: await inner.step() };
      }),
    },
    waits: () => waits,
  };
}

// Two turn updates without KL: a pass with its step, a look at the turn update before, a pass with its step. With KL each turn update has a pass and a step.
test.each([
  ["grpo", { kind: "grpo" }, 1],
  ["grpo with KL", { kind: "grpo", klCoef: 0.1 }, 3],
  ["seeupo-code", { kind: "seeupo-code", klCoef: 0 }, 3],
  ["seeupo-code with KL", { kind: "seeupo-code", klCoef: 0.1 }, 5],
  ["seeupo", { kind: "seeupo" }, 5],
] as const)(
  "%s: passes and steps together give the numbers, the credits and the gap of passes and steps apart",
  async (_, kind, waits) => {
    const groups = await sampled();
    const update = async (policy: Policy) => {
      const { policy: watched, gap } = measureSamplerGap(policy, groups, { nats: 1e-6 });
      const { policy: observed, credits } = observeCredits(watched);
      const metrics = await runUpdate(observed, groups, resolveAlgorithm(kind), randomStream(1));
      return { metrics, gap: gap(), credits: credits() };
    };
    const [apart, inner] = [new TablePolicy(table, 0.5), new TablePolicy(table, 0.5)];
    const expected = await update(apart);
    const together = remote(inner);
    expect(await update(together.policy)).toEqual(expected);
    expect(inner.table).toEqual(apart.table);
    expect(expected.credits.every(({ advantage }) => advantage !== undefined)).toBe(true);
    expect(expected.gap.samplerGapTokens).toBeGreaterThan(6);
    expect(together.waits()).toBe(waits);
  },
);

test.each([{ kind: "grpo" }, { kind: "grpo", klCoef: 0.1 }])("%j: a gap in a group without signal is found too", async (kind) => {
  const groups = await sampled();
  const [{ turns }] = groups[1].trajectories;
  const lie = turns.map((turn) => ({ ...turn, samplerLogprobs: turn.samplerLogprobs.map((logprob) => logprob - 1) }));
  const lied = [groups[0], { ...groups[1], trajectories: [{ ...groups[1].trajectories[0], turns: lie }] }];
  const { policy } = measureSamplerGap(remote(new TablePolicy(table, 0.5)).policy, lied, { nats: 0.02 });
  await expect(runUpdate(policy, lied, resolveAlgorithm(kind), randomStream(1))).rejects.toThrow(/log-prob gap is 1\./);
});

test("seeupo's look at the start compares every trajectory that is trained, before anything moves", async () => {
  const groups = await sampled();
  const [group] = groups;
  for (const liar of group.trajectories.map(({ id }) => id)) {
    const trajectories = group.trajectories.map((trajectory) => {
      const turns = trajectory.turns.map((one) => ({
        ...one,
        samplerLogprobs: one.samplerLogprobs.map((logprob) => logprob - 1),
      }));
      return trajectory.id === liar ? { ...trajectory, turns } : trajectory;
    });
    const lied = [{ ...group, trajectories }, ...groups.slice(1)];
    const inner = new TablePolicy(table, 0.5);
    const { policy } = measureSamplerGap(remote(inner).policy, lied, { nats: 0.02 });
    await expect(runUpdate(policy, lied, resolveAlgorithm("seeupo"), randomStream(1)), liar).rejects.toThrow(/log-prob gap is 1/);
    expect(inner.steps, liar).toEqual([]);
  }
});

test.each([
  ["an engine in float32", "auto", 0.02, [0]],
  ["one that rounds", "auto", 1, [0, 1, 2]],
  ["a limit that was set", 1, 1, [0]],
] as const)(
  "of 1,500 tokens, %s lets as many be beyond its limit as rounding explains",
  async (_, setting, tolerance, passing) => {
    const limit = gapLimit(setting, { logprobTolerance: tolerance });
    const [[{ trajectories }]] = [await sampled()];
    const turn = { ...trajectories[0].turns[0], samplerLogprobs: new Array<number>(1500).fill(-3) };
    const measured = (beyond: number, gap: number) => () =>
      samplerGap([turn], [turn.samplerLogprobs.map((logprob, i) => (i < beyond ? logprob - gap : logprob))], limit);
    for (const beyond of [0, 1, 2, 3, 4]) {
      if (passing.includes(beyond as never)) expect(measured(beyond, 1.5)().samplerGapTokens).toBe(1500);
      else
        expect(measured(beyond, 1.5)).toThrow(
          `gap is 1.5; expected at most ${limit.nats} nats (limits.logprobGap). ${beyond} of 1500 tokens`,
        );
    }
    for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(measured(1, wrong)).toThrow(/log-prob gap is (NaN|Infinity)/);
  },
);

test("the limit is the setting's for every token, or what the engine's precision allows", () => {
  expect(gapLimit(0.5, { logprobTolerance: 1 })).toEqual({ nats: 0.5 });
  expect(gapLimit("auto", {})).toEqual({ nats: 0.02 });
  expect(gapLimit("auto", { logprobTolerance: 0.02 })).toEqual({ nats: 0.02 });
  expect(gapLimit("auto", { logprobTolerance: 0.03 })).toEqual({ nats: 0.03, oneIn: 1000 });
});

test("a sample is the trajectory with the most entropy of each group, and one of each turn that none of these has", () => {
  const trajectory = (id: string, ...entropies: readonly (readonly number[])[]) => ({
    ...{ id, group: "g", task: "t", reward: 0, scores: {}, stopReason: "done" as const, messages: [] },
    turns: entropies.map((own, turn) => ({
      ...{ trajectory: id, turn, context: [1], action: own.map(() => 2), samplerLogprobs: own.map(() => -1), entropies: own },
      ...{ weightVersion: 0, truncated: false, rewritten: false, toolCalls: 0, invalidToolCalls: 0 },
    })),
  });
  const groups = [
    { id: "a", trajectories: [trajectory("a0", [1, 1], [1]), trajectory("a1", [2, 3])] },
    { id: "b", trajectories: [trajectory("b0", [1], [1], [1]), trajectory("b1", [4])] },
    { id: "c", trajectories: [] },
  ];
  expect(sampleOfTurns(groups).map(({ trajectory: id, turn }) => `${id}/${turn}`)).toEqual(["a1/0", "b1/0", "a0/1", "b0/2"]);
  expect(sampleOfTurns([])).toEqual([]);
});

test("a gap is measured over the tokens that both sides have; of none it is null", () => {
  const turn = (samplerLogprobs: readonly number[]) => ({ samplerLogprobs }) as unknown as Turn;
  expect(samplerGap([turn([-1, -2]), turn([-3])], [[-1.5, -2], [-2]], { nats: 1 })).toEqual({
    ...{ samplerGapMean: 0.5, samplerGapMax: 1, samplerGapTokens: 3 },
  });
  expect(samplerGap([turn([])], [[]], { nats: 1 })).toEqual({ samplerGapMean: null, samplerGapMax: null, samplerGapTokens: 0 });
  expect(() => samplerGap([turn([-1]), turn([-3])], [[-1.5], [-2]], { nats: 0.75 })).toThrow(
    new EngineError("the sampler–trainer log-prob gap", 1, {
      expected: "at most 0.75 nats (limits.logprobGap)",
      hint:
        "1 of 2 tokens are beyond it: they were not drawn from the distribution that is trained, so the gradient would be " +
        "wrong. Usual causes: rollout.topP or rollout.topK cut the support, stale sampling weights, or lower precision in the sampler.",
    }),
  );
  expect(() => samplerGap([turn([-1])], [], { nats: 9 })).toThrow("gap is NaN");
  expect(samplerGap([turn([-1])], [[-2]], { nats: 1 }).samplerGapMax).toBe(1);
});

test("weights that are known are compared too, an entropy bonus has none for what is only scored, and nothing is after the step", async () => {
  const groups = await sampled();
  const inner = new TablePolicy(table, 0.5);
  // Where passes and steps travel together, the rest is scored in the first pass.
  const together: Policy = { ...remote(inner).policy, forwardBackward: (...args) => inner.forwardBackward(...args) };
  const { policy, gap } = measureSamplerGap(together, groups, { nats: 0.02 });
  const [first] = groups[0].trajectories;
  const own = first.turns.slice(0, 1);
  const ones = own.map(({ action }) => action.map(() => 1));
  const logprobs = await policy.forwardBackward(own, ones);
  expect(logprobs).toEqual(own.map(({ samplerLogprobs }) => samplerLogprobs));
  expect(gap().samplerGapTokens).toBe(own[0].action.length);
  expect(await policy.forwardBackward(own, () => ones, ones)).toEqual(logprobs);
  const rest = inner.weights.at(-1)?.slice(1);
  expect(rest?.length).toBeGreaterThan(0);
  expect([rest?.flat().every((weight) => weight === 0), inner.entropyWeights.at(-1)?.length]).toEqual([
    true,
    1 + Number(rest?.length),
  ]);
  const before = gap();
  const passes = inner.passes.logprobs;
  await policy.step(); // all of the sample is compared already
  expect(inner.passes.logprobs).toBe(passes);
  await policy.logprobs(groups[1].trajectories[1].turns); // of other weights: it is not compared
  expect(gap()).toEqual(before);
  expect(await policy.referenceLogprobs(own)).toEqual(logprobs);
});
