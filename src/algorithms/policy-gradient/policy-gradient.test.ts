import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { entropyOf, groupOf, TableCritic, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { randomWorld, shortGroups, turn, type World } from "../../../test/algorithms/worlds.ts";
import { EngineError, EnvError } from "../../core/errors.ts";
import { randomStream } from "../../core/random.ts";
import { gae } from "../advantages/gae.ts";
import { groupRelativeAdvantages } from "../advantages/group-relative.ts";
import { whitened } from "../advantages/statistics.ts";
import { resolveAlgorithm, rolloutAlgorithms } from "../algorithms.ts";
import { updateKinds } from "../objectives/kinds.ts";
import type { Composition } from "../presets/parts.ts";
import { seeupoUpdate } from "../seeupo/seeupo.ts";
import { isSeeupo, type SeeupoConfig } from "../seeupo/settings.ts";
import { overlongPunishment } from "../step/overlong.ts";
import { policyGradientUpdate } from "./policy-gradient.ts";

function configWith(settings: Record<string, unknown> = {}): Composition {
  return resolveAlgorithm({ kind: "grpo", ...settings }) as Composition;
}

const values0 = [0.1, 0.2, 0.3, 0.4];

async function updated({ table, groups }: World, settings: Record<string, unknown> = {}, seed = 5) {
  const policy = new TablePolicy(table, 3, new TableCritic(values0, 0.5));
  return { policy, metrics: await policyGradientUpdate(policy, groups, configWith(settings), randomStream(seed)) };
}

const world: World = { table: randomWorld(11).table, groups: shortGroups };

describe("a GRPO update", () => {
  test("is one on-policy step: every token of a trajectory weighs A over its length and the number of trajectories", async () => {
    const { policy, metrics } = await updated(world);
    const advantages = groupRelativeAdvantages(world.groups, { std: "group", singletonGroups: "zero" });
    const expected = world.groups.flatMap(({ trajectories }) =>
      trajectories.flatMap(({ id, turns }) => {
        const length = turns.reduce((sum, { action }) => sum + action.length, 0);
        return turns.map(({ action }) => action.map(() => (advantages.get(id) ?? Number.NaN) / length / 5));
      }),
    );
    expectClose(policy.weights, [expected]);
    expect(policy.passes).toEqual({ logprobs: 0, reference: 0, forwardBackward: 0, knownWeights: 8 });
    expect(metrics).toMatchObject({
      optimiserSteps: 1,
      ratioMin: 1,
      ratioMax: 1,
      clipFraction: 0,
      groups: 2,
      groupsWithoutSignal: 0,
    });
  });

  test("does not depend on the order of groups and trajectories", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (seed, order) => {
        const { table, groups } = randomWorld(seed);
        const random = randomStream(order);
        const reordered = random.shuffle(groups.map((group) => ({ ...group, trajectories: random.shuffle(group.trajectories) })));
        const settings = { klCoef: 0.1, epochs: 2 };
        expectClose(
          (await updated({ table, groups: reordered }, settings)).policy.table,
          (await updated({ table, groups }, settings)).policy.table,
        );
      }),
      { numRuns: 30 },
    );
  });

  test("spares groups without signal the pass, and counts their trajectories", async () => {
    const silent = groupOf(
      "silent",
      [1, 1, 1, 1, 1].map((reward) => ({ reward, turns: [turn(3, [1])] })),
    );
    const alone = await updated(world);
    const beside = await updated({ ...world, groups: [...world.groups, silent] });
    expect(beside.policy.passes).toEqual(alone.policy.passes);
    // 5 trajectories became 10.
    expectClose(
      beside.policy.steps[0].gradient,
      alone.policy.steps[0].gradient.map((row) => row.map((value) => value / 2)),
    );
    const { policy, metrics } = await updated({ ...world, groups: [silent] });
    expect(policy.steps).toEqual([]);
    expect(metrics).toEqual({ groups: 1, groupsWithoutSignal: 1 });
    expect((await updated({ ...world, groups: [] })).policy.steps).toEqual([]);
  });

  test("holds log π_old fixed over epochs and mini-batches", async () => {
    const { policy, metrics } = await updated(world, { epochs: 3, miniBatches: 2 });
    expect(policy.passes.logprobs).toBe(8);
    expect(policy.steps).toHaveLength(6);
    expect(metrics.ratioMax).toBeGreaterThan(1);
    expect(metrics.optimiserSteps).toBe(6);
  });

  test("takes each group by itself where a batch has fewer groups than mini-batches", async () => {
    expect((await updated(world, { miniBatches: 7 })).policy.steps).toHaveLength(2);
  });

  test("deals whole groups out to mini-batches, each once an epoch, by the random stream", async () => {
    const groups = [0, 1, 2, 3, 4].map((g) =>
      groupOf(
        `g${g}`,
        [0, 1].map((reward) => ({
          reward,
          turns: [
            turn(
              g % 4,
              Array.from({ length: g + 1 }, () => reward),
            ),
          ],
        })),
      ),
    );
    const lengths = async (seed: number) =>
      (await updated({ ...world, groups }, { miniBatches: 2 }, seed)).policy.weights.map((rows) => rows.map((row) => row.length));
    const dealt = await lengths(1);
    expect(dealt.map((rows) => rows.length)).toEqual([6, 4]);
    expect(dealt.flat().sort()).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    for (const rows of dealt) expect(rows.filter((_, i) => i % 2 === 0)).toEqual(rows.filter((_, i) => i % 2 === 1));
    expect(await lengths(1)).toEqual(dealt);
    expect(
      new Set(await Promise.all([1, 2, 3, 4].map(async (seed) => JSON.stringify(await lengths(seed))))).size,
    ).toBeGreaterThan(1);
  });
});

describe("what is broken is named", () => {
  test("a return that is not finite", async () => {
    const groups = [
      groupOf("a", [
        { reward: 0, turns: [] },
        { reward: Infinity, turns: [] },
      ]),
    ];
    await expect(updated({ ...world, groups })).rejects.toThrow(EnvError);
  });

  test("a log-prob that is not finite", async () => {
    const table = world.table.map((row) => row.map(() => Number.NaN));
    await expect(updated({ ...world, table })).rejects.toThrow(EngineError);
    await expect(updated({ ...world, table })).rejects.toThrow(/token 0 in turn 0 of trajectory a-0/);
  });
});

describe("every preset", () => {
  const kinds = rolloutAlgorithms.filter((kind) => !isSeeupo({ kind }) && kind !== "custom");

  test.each(kinds)("%s does not depend on the order of groups and trajectories", async (kind) => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (seed, order) => {
        const { table, groups } = randomWorld(seed);
        const random = randomStream(order);
        const reordered = random.shuffle(groups.map((group) => ({ ...group, trajectories: random.shuffle(group.trajectories) })));
        const settings = { kind, klCoef: 0.1, epochs: 2, miniBatches: 1, entropyCoef: 0.01 };
        expectClose(
          (await updated({ table, groups: reordered }, settings)).policy.table,
          (await updated({ table, groups }, settings)).policy.table,
        );
      }),
      { numRuns: 10 },
    );
  });

  test.each(kinds)("%s takes no step where there is nothing to learn: no groups, no turns, equal returns", async (kind) => {
    const settings = { kind, miniBatches: 1 };
    const empty = await updated({ ...world, groups: [] }, settings);
    expect(empty.policy.steps).toEqual([]);
    expect(empty.metrics).toMatchObject({ groups: 0, groupsWithoutSignal: 0 });
    const turnless = groupOf(
      "turnless",
      [0, 1].map((reward) => ({ reward, turns: [] })),
    );
    expect((await updated({ ...world, groups: [turnless] }, settings)).policy.steps).toEqual([]);
    if (kind === "ppo") return;
    const equal = groupOf(
      "equal",
      [1, 1].map((reward) => ({ reward, turns: [turn(1, [2]), turn(0, [1])] })),
    );
    const { policy, metrics } = await updated(
      { ...world, groups: [equal] },
      { ...settings, advantage: kind === "gigpo" ? { gamma: 1 } : {} },
    );
    expect(policy.steps).toEqual([]);
    expect(metrics).toMatchObject({ groups: 1, groupsWithoutSignal: 1 });
  });

  test.each(kinds)("%s refuses returns that are not finite, by the trajectory's name and before any pass", async (kind) => {
    for (const reward of [Number.NaN, Infinity]) {
      const broken = groupOf("a", [
        { reward: 0, turns: [turn(1, [2])] },
        { reward, turns: [turn(1, [2])] },
      ]);
      const policy = new TablePolicy(world.table, 3, new TableCritic([0, 0, 0, 0], 1));
      const update = policyGradientUpdate(policy, [broken], configWith({ kind, miniBatches: 1 }), randomStream(1));
      await expect(update).rejects.toThrow(/reward of trajectory a-1/);
      expect(policy.passes).toEqual({ logprobs: 0, reference: 0, forwardBackward: 0, knownWeights: 0 });
    }
  });
});

describe("a trajectory without turns", () => {
  test("counts in its group's mean and in no aggregation", async () => {
    const groups = [
      groupOf("a", [
        { reward: 0, turns: [] },
        { reward: 1, turns: [turn(1, [0, 2])] },
      ]),
    ];
    const { policy } = await updated({ ...world, groups }, { kind: "dr-grpo", aggregation: "token-mean" });
    expect(policy.weights).toEqual([[[0.25, 0.25]]]);
  });
});

test("a batch without actions is no step", async () => {
  const groups = [
    groupOf("a", [
      { reward: 0, turns: [] },
      { reward: 1, turns: [] },
    ]),
  ];
  for (const kind of ["grpo", "ppo"]) {
    const { policy, metrics } = await updated({ ...world, groups }, { kind });
    expect(policy.steps).toEqual([]);
    expect(metrics).toEqual({ groups: 1, groupsWithoutSignal: 0 });
  }
});

describe("PPO", () => {
  const critic = { advantage: { critic: { learningRateScale: 0.5 } } };

  test("estimates advantages with the critic as it was, and takes a step of both for each mini-batch", async () => {
    const { policy, metrics } = await updated(world, {
      kind: "ppo",
      epochs: 2,
      miniBatches: 2,
      update: { clip: { low: 1, high: 1000 } },
      ...critic,
    });
    expect(policy.steps).toHaveLength(4);
    expect(policy.critic?.steps.map(({ scale }) => scale)).toEqual([0.5, 0.5, 0.5, 0.5]);
    expect(metrics.explainedVariance).toBeLessThan(1);
    expect(metrics.valueLoss).toBeGreaterThan(0);
    expect(metrics.criticGradientNorm).toBeGreaterThan(0);
  });

  test("explains the share of the returns' variance over tokens that the critic as it was knew", async () => {
    const settings = { kind: "ppo", advantage: { gamma: 1, lambda: 1, critic: { learningRateScale: 0.5 } } };
    const { metrics } = await updated(world, settings);
    const trajectories = world.groups.flatMap((group) => group.trajectories);
    const values = await Promise.all(trajectories.map(({ turns }) => new TableCritic(values0, 0).values(turns)));
    const tokens = trajectories.flatMap(({ reward }, i) => values[i].flatMap((row) => [...row].map((value) => [reward, value])));
    const variance = (numbers: number[]) => {
      const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
      return numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0);
    };
    const unknown = variance(tokens.map(([reward, value]) => reward - value)) / variance(tokens.map(([reward]) => reward));
    expect(metrics.explainedVariance).toBeCloseTo(1 - unknown, 9);
  });

  test("over tokens: one row for a trajectory, the return at its last token, whitened over the batch", async () => {
    const { policy } = await updated(world, { kind: "ppo", miniBatches: 1 });
    const trajectories = world.groups.flatMap((group) => group.trajectories);
    const values = (await new TableCritic(values0, 0).values(trajectories.flatMap(({ turns }) => turns))).map((row) => [...row]);
    let next = 0;
    const rows = trajectories.map(({ turns }) => turns.flatMap(() => values[next++]));
    const rewards = rows.map((row, i) => row.map((_, t) => (t === row.length - 1 ? trajectories[i].reward : 0)));
    const white = whitened(gae(rewards, rows, { gamma: 1, lambda: 1 }).advantages).flat();
    expectClose(
      policy.weights[0].flat(),
      white.map((a) => a / white.length),
    );
  });

  test("over turns: every token of a turn has its advantage, and only its first is fitted", async () => {
    const { policy } = await updated(world, { kind: "ppo", miniBatches: 1, advantage: { over: "turn" } });
    for (const row of policy.weights[0]) expect(new Set(row).size).toBe(1);
    const single = { ...world, groups: [groupOf("a", [{ reward: 5, turns: [turn(1, [2, 3])] }])] };
    const fitted = await updated(single, { kind: "ppo", miniBatches: 1, advantage: { over: "turn" } });
    // V(1) = 0.2 moves to 5; V(2), of the second token's state, does not.
    expect(fitted.policy.critic?.table.map((value, i) => value !== values0[i])).toEqual([false, true, false, false]);
  });

  test("fits the critic also where the policy has nothing to learn", async () => {
    const single = { ...world, groups: [groupOf("a", [{ reward: 5, turns: [turn(1, [2])] }])] };
    const { policy } = await updated(single, { kind: "ppo", miniBatches: 1 });
    expect(policy.steps).toEqual([]);
    expect(policy.critic?.steps).toHaveLength(1);
  });

  test("learns the returns of a fixed policy's states", async () => {
    const tableCritic = new TableCritic([0, 0, 0, 0], 1);
    const policy = new TablePolicy(world.table, 0, tableCritic);
    const groups = [
      groupOf("a", [
        { reward: 2, turns: [turn(1, [2])] },
        { reward: 4, turns: [turn(0, [2])] },
      ]),
    ];
    for (let i = 0; i < 100; i++)
      await policyGradientUpdate(policy, groups, configWith({ kind: "ppo", miniBatches: 1 }), randomStream(1));
    expectClose(tableCritic.table, [4, 2, 0, 0], { rel: 1e-6, abs: 1e-6 });
  });

  test("without a critic, or with one that answers nonsense, says so", async () => {
    const config = configWith({ kind: "ppo", miniBatches: 1 });
    const without = policyGradientUpdate(new TablePolicy(world.table, 3), world.groups, config, randomStream(1));
    await expect(without).rejects.toThrow(EngineError);
    await expect(without).rejects.toThrow('expected an engine with the capability "critic"');
    const broken = new TablePolicy(world.table, 3, new TableCritic([0, Number.NaN, 0, 0], 1));
    const update = policyGradientUpdate(broken, world.groups, config, randomStream(1));
    await expect(update).rejects.toThrow(/value of token 0 in turn 0 of trajectory a-0/);
    expect(broken.steps).toEqual([]);
  });
});

describe("GSPO", () => {
  test("takes one ratio over all turns of a trajectory", async () => {
    const settings = { kind: "gspo", epochs: 2, miniBatches: 1, update: { clip: { low: 0.2, high: 0.2 } } };
    const { policy } = await updated(world, settings);
    const [first, second] = policy.weights;
    const trajectories = world.groups.flatMap((group) => group.trajectories);
    let next = 0;
    for (const { turns } of trajectories) {
      const ratios = turns.flatMap(({ action }) => {
        const row = next++;
        return action.map((_, t) => second[row][t] / first[row][t]);
      });
      for (const ratio of ratios) expect(ratio).toBeCloseTo(ratios[0], 10);
    }
  });

  test("at level turn is one clipped SeeUPO update where every trajectory has a single turn", async () => {
    const groups = world.groups.map((group) => ({
      ...group,
      trajectories: group.trajectories.map((trajectory) => ({ ...trajectory, turns: trajectory.turns.slice(0, 1) })),
    }));
    const composed = await updated(
      { ...world, groups },
      {
        kind: "custom",
        advantage: { kind: "group-relative", std: "none" },
        update: { kind: "ppu", level: "turn" },
        aggregation: "sequence-mean-token-mean",
        epochs: 3,
      },
    );
    const seeupo = resolveAlgorithm({
      kind: "seeupo",
      klCoef: 0,
      normalisation: "none",
      advantageBound: 1e9,
      epochs: 3,
    });
    const policy = new TablePolicy(world.table, 3);
    await seeupoUpdate(policy, groups, seeupo as SeeupoConfig, randomStream(1));
    expectClose(composed.policy.table, policy.table);
  });
});

describe("trees", () => {
  const tree = { kind: "custom", advantage: { kind: "tree" }, update: { kind: "ppu" } };

  test("without branches are group-relative without deviation, bit for bit", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const flat = { ...tree, advantage: { kind: "group-relative", std: "none" } };
        expect((await updated(randomWorld(seed), tree)).policy.steps).toEqual(
          (await updated(randomWorld(seed), flat)).policy.steps,
        );
      }),
      { numRuns: 20 },
    );
  });

  test("train the turns before a fork once", async () => {
    const turns = [turn(1, [2]), turn(2, [3])];
    const groups = [
      groupOf("a", [
        { id: "a", reward: 1, turns },
        { id: "b", reward: 0, turns: [turns[0], turn(2, [1])], branch: { from: "a", turn: 1 } },
        { id: "c", reward: 0, turns: [turn(1, [0])] },
      ]),
    ];
    const { policy } = await updated({ ...world, groups }, { ...tree, klCoef: 0.1 });
    expect(policy.passes).toMatchObject({ forwardBackward: 4, reference: 4 });
  });
});

describe("KL and entropy", () => {
  test("KL in the reward pulls tokens back that the policy has made likelier than the reference", async () => {
    const policy = new TablePolicy(world.table, 3);
    policy.table[1][2] += 1;
    const groups = [
      groupOf("a", [
        { reward: 1, turns: [turn(1, [2])] },
        { reward: 1, turns: [turn(1, [0])] },
      ]),
    ];
    const config = configWith({ kind: "dr-grpo", klIn: "reward", klCoef: 1, klEstimator: "k1", aggregation: "token-mean" });
    const metrics = await policyGradientUpdate(policy, groups, config, randomStream(1));
    // Both returns are 1; of the log-ratios to the reference the first is larger, by exactly 1.
    expectClose(policy.weights[0], [[-0.5 / 2], [0.5 / 2]]);
    expect(metrics.groupsWithoutSignal).toBe(1);
    expect(metrics.kl).toBeDefined();
  });

  test("an entropy bonus has the weight coefficient × token scale, raises the entropy, and is no part of the loss", async () => {
    const groups = [groupOf("a", [{ reward: 1, turns: [turn(1, [2, 3])] }])];
    const { policy, metrics } = await updated({ ...world, groups }, { entropyCoef: 0.1 });
    expect(policy.entropyWeights).toEqual([[[0.05, 0.05]]]);
    expect(entropyOf(policy.table[1])).toBeGreaterThan(entropyOf(world.table[1]));
    expect(metrics).toMatchObject({ loss: 0, optimiserSteps: 1 });
    const gradient = policy.steps[0].gradient[1];
    const step = 1e-6;
    for (const [a, slope] of gradient.entries()) {
      const at = (change: number) => entropyOf(world.table[1].map((logit, i) => (i === a ? logit + change : logit)));
      expect(slope).toBeCloseTo((0.05 * (at(step) - at(-step))) / (2 * step), 8);
    }
  });

  test("the policy that is trained is pulled to the reference by KL in the loss", async () => {
    const groups = [groupOf("a", [{ reward: 1, turns: [turn(1, [2])] }])];
    const policy = new TablePolicy(world.table, 1);
    policy.table[1][2] += 1;
    const config = configWith({ klCoef: 1, klEstimator: "k2" });
    for (let i = 0; i < 300; i++) await policyGradientUpdate(policy, groups, config, randomStream(1));
    const [now] = await policy.logprobs(groups[0].trajectories[0].turns);
    const [reference] = await policy.referenceLogprobs(groups[0].trajectories[0].turns);
    expectClose(now, reference, { rel: 1e-6, abs: 1e-6 });
  });
});

describe("overlong punishment", () => {
  test("is equation 13 of DAPO", () => {
    const punishment = { limit: 20, buffer: 5, penalty: 2 };
    const at = (tokens: number) => overlongPunishment(tokens, punishment);
    expect([0, 15, 16, 20, 21, 1000].map(at)).toEqual([0, 0, -0.4, -2, -2, -2]);
  });

  test("is taken from the return of trajectories by all their action tokens", async () => {
    const long = [turn(1, [0, 2]), turn(2, [0, 2])];
    const groups = [
      groupOf("a", [
        { reward: 1, turns: long },
        { reward: 1, turns: long.slice(1) },
      ]),
    ];
    const settings = { kind: "dapo", overlong: { limit: 4, buffer: 2 } };
    const { policy, metrics } = await updated({ ...world, groups }, settings);
    expect(metrics).toMatchObject({ overlongMean: -0.5, groupsWithoutSignal: 1 });
    expect(policy.weights[0].map((row) => Math.sign(row[0]))).toEqual([-1, -1, 1]);
    expect((await updated({ ...world, groups }, { kind: "dapo" })).policy.steps).toEqual([]);
  });
});

describe("turns of advantage 0", () => {
  // GiGPO without its episode part: a state that no other turn shares has advantage 0.
  const perTurn = { kind: "custom", advantage: { kind: "gigpo", omega: 1 } };
  const groups = [
    groupOf("a", [
      { reward: 1, turns: [turn(1, [2, 3]), turn(0, [1, 1]), turn(2, [3])] },
      { reward: 1, turns: [turn(1, [0]), turn(3, [2])] },
      { reward: 0, turns: [turn(1, [2])] },
      { reward: 2 / 3, turns: [turn(2, [1])] },
    ]),
  ];

  test.each(["token", "turn"])("cost no pass at the level of a %s", async (level) => {
    const { policy } = await updated({ ...world, groups }, { ...perTurn, update: { kind: "ppu", level } });
    const [weights] = policy.weights;
    expect(weights.length).toBeLessThan(7);
    expect(weights.filter((row) => row.every((weight) => weight === 0))).toEqual([]);
  });
});

describe("tokens of advantage 0", () => {
  const updates = [
    { kind: "reinforce", level: "token" },
    { kind: "reinforce", level: "sequence" },
    ...["token", "turn", "sequence"].map((level) => ({ kind: "ppu", level, clip: { low: 0.05, high: 0.05 } })),
    { kind: "clip-cov", share: 0.4, covLow: 0, covHigh: 100 },
    { kind: "kl-cov", share: 0.4 },
    ...updateKinds.map(({ kind }) => ({ kind })).filter(({ kind }) => !/^(?:reinforce|ppu|.*-cov)$/.test(kind)),
  ];

  // With a KL term no turn is spared its pass: one too small to move anything shows what the spared ones would have done.
  test.each(updates)("count in the loss as they would with every turn in the pass: klCoef 1e-13 is klCoef 0 under %j", (update) =>
    fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.constantFrom("group-relative", "gigpo"),
        fc.constantFrom(1, 3),
        async (seed, kind, epochs) => {
          const settings = { kind: "custom", advantage: { kind }, update, epochs };
          const plain = await updated(randomWorld(seed), { ...settings, klCoef: 0 });
          const withKl = await updated(randomWorld(seed), { ...settings, klCoef: 1e-13 });
          expectClose(plain.policy.table, withKl.policy.table);
        },
      ),
      { numRuns: 25 },
    ),
  );
});

test("turns of groups without signal cost no pass, of a trajectory with one all of its turns do", async () => {
  const none = groupOf("none", [
    { reward: 1, turns: [turn(1, [2, 3]), turn(0, [1])] },
    { reward: 1, turns: [turn(1, [2])] },
  ]);
  const whole = { kind: "custom", advantage: { kind: "group-relative" }, update: { kind: "gmpo" } };
  const passes = async (settings: Record<string, unknown>) => {
    const { policy } = await updated({ table: world.table, groups: [...shortGroups, none] }, settings);
    return policy.passes.knownWeights + policy.passes.forwardBackward;
  };
  const [turns] = [shortGroups.flatMap(({ trajectories }) => trajectories.flatMap((each) => each.turns)).length];
  expect(await passes(whole)).toBe(turns);
  expect(await passes({ kind: "grpo" })).toBe(turns);
  // A bonus on entropy moves every token, whatever its advantage is.
  expect(await passes({ kind: "grpo", entropyCoef: 0.1 })).toBe(turns + 3);
});

test("fewer groups than mini-batches: each is one of its own, and the critic is asked for no empty one", async () => {
  const critic = new TableCritic(values0, 0.5);
  const pass = critic.forwardBackward.bind(critic);
  const asked: number[] = [];
  critic.forwardBackward = (samples, decide) => {
    asked.push(samples.length);
    return pass(samples, decide);
  };
  const policy = new TablePolicy(world.table, 3, critic);
  await policyGradientUpdate(policy, world.groups, configWith({ kind: "ppo", miniBatches: 4, epochs: 2 }), randomStream(5));
  expect(asked.toSorted()).toEqual([3, 3, 5, 5]); // the turns of two groups, twice
});
