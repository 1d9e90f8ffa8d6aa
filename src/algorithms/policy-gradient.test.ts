import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectClose } from "../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../test/algorithms/table-policy.ts";
import { randomWorld, type World } from "../../test/algorithms/worlds.ts";
import { ConfigError, EngineError, EnvError } from "../core/errors.ts";
import { randomStream } from "../core/random.ts";
import { groupRelativeAdvantages } from "./advantages/group-relative.ts";
import { type PresetConfig, resolveAlgorithm } from "./config.ts";
import { policyGradientUpdate } from "./policy-gradient.ts";

function configWith(settings: Record<string, unknown> = {}): PresetConfig {
  return resolveAlgorithm({ kind: "grpo", ...settings }) as PresetConfig;
}

async function updated({ table, groups }: World, settings: Record<string, unknown> = {}, seed = 5) {
  const policy = new TablePolicy(table, 3);
  return { policy, metrics: await policyGradientUpdate(policy, groups, configWith(settings), randomStream(seed)) };
}

const world: World = {
  table: randomWorld(11).table,
  groups: [
    groupOf("a", [
      { reward: 0, turns: [turn(1, [2, 3]), turn(0, [1, 1, 0])] },
      { reward: 1, turns: [turn(1, [0])] },
      { reward: 0.25, turns: [turn(1, [2]), turn(2, [0, 1])] },
    ]),
    groupOf("b", [
      { reward: 9, turns: [turn(0, [3, 3, 2])] },
      { reward: 0.5, turns: [turn(0, [1]), turn(1, [0, 2])] },
    ]),
  ],
};

function turn(context: number, action: readonly number[]) {
  return { context: [context], action };
}

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

  test("more mini-batches than groups", async () => {
    await expect(updated(world, { miniBatches: 3 })).rejects.toThrow(ConfigError);
    await expect(updated(world, { miniBatches: 3 })).rejects.toThrow(
      "algorithm.miniBatches is 3; expected at most the number of groups in a batch, 2.",
    );
  });
});
