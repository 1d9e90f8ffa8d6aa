import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { longGroups, randomWorld, turn, type World } from "../../../test/algorithms/worlds.ts";
import { EngineError, EnvError, ShapeError } from "../../core/errors.ts";
import type { Logprobs, TurnReason } from "../../core/policy.ts";
import { randomStream } from "../../core/random.ts";
import { resolveAlgorithm } from "../algorithms.ts";
import { ppu } from "../objectives/ppu.ts";
import { minimise } from "../step/minimise.ts";
import { seeupoAdvantages, seeupoUpdate } from "./seeupo.ts";
import type { SeeupoConfig } from "./settings.ts";

function configWith(settings: Record<string, unknown> = {}): SeeupoConfig {
  return resolveAlgorithm({ kind: "seeupo-code", ...settings }) as SeeupoConfig;
}

async function updated({ table, groups }: World, settings: Record<string, unknown>, learningRate = 3) {
  const policy = new TablePolicy(table, learningRate);
  const reasons: (readonly TurnReason[])[] = [];
  const explained = Object.assign(policy, { explain: (of: readonly TurnReason[]) => reasons.push(of) });
  const result = await seeupoUpdate(explained, groups, configWith(settings), randomStream(5, "update"));
  return { policy, reasons, ...result };
}

const world: World = { table: randomWorld(11).table, groups: longGroups };

describe("the fused form", () => {
  const settings = fc.record({
    order: fc.constantFrom("reverse", "sequential", "random", [1, 0], [0, 2, 1]),
    level: fc.constantFrom("turn", "token"),
    normalisation: fc.constantFrom("batch", "group", "none"),
    advantageFactor: fc.boolean(),
    klCoef: fc.constantFrom(0, 0.1),
    epochs: fc.constantFrom(1, 2, 3),
    ratioTo: fc.constantFrom("turn", "iteration"),
    carryRatioTo: fc.constantFrom("turn", "iteration"),
    carryRatio: fc.constantFrom("geometric", "product"),
    carryClip: fc.constantFrom("off", { low: 0.2, high: 0.2 }),
    singletonGroups: fc.constantFrom("zero", "raw"),
    clip: fc.constantFrom({ low: 0.2, high: 0.2 }, { low: 0.02, high: 0.05 }),
  });

  test("moves the policy exactly as the textbook form does", async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), settings, async (seed, chosen) => {
        const textbook = await updated(randomWorld(seed), { ...chosen, form: "textbook" }, 1);
        const fused = await updated(randomWorld(seed), { ...chosen, form: "fused" }, 1);
        expect(fused.policy.table).toEqual(textbook.policy.table);
        expect(fused.policy.steps).toEqual(textbook.policy.steps);
        // The textbook form also takes the ratios that nothing reads.
        const { turnRatioMin, turnRatioMean, turnRatioMax, ...shared } = textbook.metrics;
        expect(fused.metrics).toMatchObject(shared);
        // Â and M of every turn, turn update by turn update; where Â is 0 nothing reads M.
        const read = (turnUpdates: readonly (readonly TurnReason[])[]) =>
          turnUpdates.map((of) => of.filter(({ advantage }) => advantage !== 0));
        expect(read(fused.reasons)).toEqual(read(textbook.reasons));
        expect(textbook.reasons.length).toBeGreaterThanOrEqual(textbook.policy.steps.length);
      }),
      { numRuns: 60 },
    );
  });

  test("takes no pass without a step, and looks back at a turn only where its ratio is read later", async () => {
    const rows = [5, 4, 2];
    const { policy: textbook } = await updated(world, { form: "textbook", klCoef: 0 });
    expect(textbook.passes).toEqual({ logprobs: 22, reference: 0, forwardBackward: 11, knownWeights: 0 });
    const { policy: fused } = await updated(world, { klCoef: 0 });
    // Last to first: 2 turns whose M is 1, then a look at 2 and a step on 4, then a look at 4 and a step on 5.
    expect(fused.passes).toEqual({ logprobs: 2 + 4, reference: 0, forwardBackward: 0, knownWeights: 2 + 4 + 5 });
    const { policy: sequential } = await updated(world, { klCoef: 0, order: "sequential" });
    // First to last: the turns of trajectories that have ended are not looked at.
    expect(sequential.passes).toEqual({ logprobs: 4 + 2, reference: 0, forwardBackward: 0, knownWeights: 5 + 4 + 2 });
    const { policy: withoutFactor } = await updated(world, { klCoef: 0, advantageFactor: false });
    expect(withoutFactor.passes).toEqual({ logprobs: 0, reference: 0, forwardBackward: 0, knownWeights: 11 });
    // With KL the weights need the turn update's own log-probs: one pass reads them and looks back.
    const { policy: withReference } = await updated(world, { klCoef: 0.002 });
    const all = rows.reduce((sum, n) => sum + n, 0);
    expect(withReference.passes).toEqual({ logprobs: 0, reference: all, forwardBackward: 2 + 4 + 2 + 5 + 4, knownWeights: 0 });
    // The paper's: the same passes, and one over all turns at the start.
    const { policy: paper } = await updated(world, { kind: "seeupo" });
    expect(paper.passes).toEqual({ logprobs: all, reference: 0, forwardBackward: 2 + 4 + 2 + 5 + 4, knownWeights: 0 });
    // Only M is taken to the start: weights are known as in the code's.
    const { policy: onlyCarry } = await updated(world, { klCoef: 0, carryRatioTo: "iteration" });
    expect(onlyCarry.passes).toEqual({ logprobs: all + 2 + 4, reference: 0, forwardBackward: 0, knownWeights: all });
  });
});

describe("a SeeUPO update", () => {
  test("is one clipped update where every trajectory has a single turn", async () => {
    const single: World = {
      ...world,
      groups: world.groups.map((g) => ({
        ...g,
        trajectories: g.trajectories.map((t) => ({ ...t, turns: t.turns.slice(0, 1) })),
      })),
    };
    const { policy, metrics } = await updated(single, { klCoef: 0 });

    const turns = single.groups.flatMap((g) => g.trajectories.flatMap((t) => t.turns));
    const advantages = seeupoAdvantages(single.groups, configWith());
    const reference = new TablePolicy(single.table, 3);
    await minimise(reference, turns, (logprobs) =>
      ppu(
        {
          logprobs,
          oldLogprobs: logprobs,
          advantages: turns.map(({ trajectory, action }) => action.map(() => advantages.get(trajectory) ?? Number.NaN)),
          tokenScales: turns.map(({ action }) => 1 / (turns.length * action.length)),
        },
        { level: "sequence", clip: { low: 0.2, high: 0.2 } },
      ),
    );
    expectClose(policy.table, reference.table);
    expect(metrics).toMatchObject({ turnUpdates: 1, optimiserSteps: 1, carriedMin: 1, carriedMax: 1 });
  });

  test("weighs every token by M·Â over the turn's length and the rows of the turn update", async () => {
    const { policy } = await updated(world, { klCoef: 0, order: [2] });
    const advantages = seeupoAdvantages(world.groups, configWith());
    const [first, second] = ["a-0", "a-2"].map((id) => advantages.get(id) ?? Number.NaN);
    expectClose(policy.weights, [[[first / 2], [second / 4, second / 4]]]);
  });

  test("leaves a trajectory alone in updates of turns that it lacks, its M too", async () => {
    const { policy, carriedRatios } = await updated(world, { klCoef: 0, form: "textbook", order: [2] });
    expect(policy.weights[0]).toHaveLength(2);
    expect([...carriedRatios.keys()]).toEqual(["a-0", "a-2"]);
  });

  test("carries each ratio to its own trajectory when the batch is reordered", async () => {
    const { policy, carriedRatios } = await updated(world, { form: "textbook" });
    const groups = [...world.groups].reverse().map((g) => ({ ...g, trajectories: [...g.trajectories].reverse() }));
    const reordered = await updated({ ...world, groups }, { form: "textbook" });
    expectClose(reordered.policy.table, policy.table);
    for (const [id, carried] of carriedRatios) expectClose(reordered.carriedRatios.get(id), carried);
  });

  test("does not care about a constant added to every return, nor about their scale", async () => {
    const { policy } = await updated(world, { klCoef: 0 });
    const changed = (change: (reward: number) => number): World => ({
      ...world,
      groups: world.groups.map((g) => ({ ...g, trajectories: g.trajectories.map((t) => ({ ...t, reward: change(t.reward) })) })),
    });
    expectClose(
      (
        await updated(
          changed((reward) => reward + 2),
          { klCoef: 0 },
        )
      ).policy.table,
      policy.table,
    );
    expectClose(
      (
        await updated(
          changed((reward) => reward * 8),
          { klCoef: 0 },
        )
      ).policy.table,
      policy.table,
    );
  });

  test("is not changed by groups without signal, other than that they count as rows", async () => {
    const silent = groupOf("silent", [
      { reward: 1, turns: [turn(3, [1]), turn(2, [2])] },
      { reward: 1, turns: [turn(3, [0])] },
    ]);
    const settings = { klCoef: 0, normalisation: "none", order: [1] };
    const alone = await updated(world, settings);
    const beside = await updated({ ...world, groups: [...world.groups, silent] }, settings);
    // 4 rows became 5 of which 4 move: the same gradient, divided by 5.
    expectClose(
      beside.policy.steps[0].gradient,
      alone.policy.steps[0].gradient.map((row) => row.map((value) => (value * 4) / 5)),
    );
    expect(beside.policy.passes).toEqual(alone.policy.passes);
    expect(beside.metrics).toMatchObject({ groups: 3, groupsWithoutSignal: 1, rowsPerUpdateMin: 5 });
  });

  test("takes no step without signal, and none on an empty batch", async () => {
    const silent = groupOf(
      "silent",
      [1, 1].map((reward) => ({ reward, turns: [turn(3, [1])] })),
    );
    const without = await updated({ ...world, groups: [silent] }, { klCoef: 0 });
    expect(without.policy.steps).toEqual([]);
    expect(without.metrics).toEqual({ groups: 1, groupsWithoutSignal: 1, turnUpdates: 0 });
    expect((await updated({ ...world, groups: [] }, {})).metrics).toEqual({ groups: 0, groupsWithoutSignal: 0, turnUpdates: 0 });
    const turnless = groupOf(
      "turnless",
      [0, 1].map((reward) => ({ reward, turns: [] })),
    );
    expect((await updated({ ...world, groups: [turnless] }, {})).policy.steps).toEqual([]);
  });

  test("counts the turns of each turn update", async () => {
    const { metrics } = await updated(world, {});
    expect(metrics).toMatchObject({ turnUpdates: 3, rowsPerUpdateMin: 2, rowsPerUpdateMax: 5, learningRate: 3 });
  });

  test("with the ratio to the iteration's start, stops pushing what the iteration has already moved out of the clip", async () => {
    const bound = { klCoef: 0, clip: { low: 0.01, high: 0.01 }, advantageFactor: false };
    const { policy, metrics } = await updated(world, { ...bound, ratioTo: "iteration" });
    expect((await updated(world, bound)).metrics).toMatchObject({ clipFraction: 0, optimiserSteps: 3 });
    expect(metrics.clipFraction).toBeGreaterThan(0);
    // The first turn update is at ratio 1 in both: nothing has moved yet.
    expect(policy.steps[0]).toEqual((await updated(world, bound)).policy.steps[0]);
    expect(policy.passes.logprobs).toBe(11);
  });

  test("reports how far the turn updates moved the turns", async () => {
    const { metrics } = await updated(world, { klCoef: 0.1 }, 10);
    const { turnRatioMin = NaN, turnRatioMean = NaN, turnRatioMax = NaN, carriedMin = NaN, carriedMax = NaN } = metrics;
    expect(turnRatioMin).toBeLessThan(turnRatioMean);
    expect(turnRatioMean).toBeLessThan(turnRatioMax);
    expect(carriedMin).toBeGreaterThanOrEqual(0.8);
    expect(carriedMin).toBeLessThan(carriedMax);
    expect(carriedMax).toBeLessThanOrEqual(1.2);
    expect(metrics.kl).toBeGreaterThan(0);
    expect(metrics.gradientNormMax).toBeGreaterThan(metrics.gradientNorm ?? NaN);
  });
});

/** Each setting, two values of it, and what else must be so for it to matter. */
const settingsThatMatter: readonly [name: keyof SeeupoConfig, one: unknown, other: unknown, beside?: Record<string, unknown>][] =
  [
    ["order", "reverse", "sequential"],
    ["order", "reverse", [0]],
    ["advantage", "trajectory", "tree"],
    ["normalisation", "batch", "none"],
    ["normalisation", "group", "none"],
    ["advantageBound", 3, 0.5],
    ["advantageBound", "off", 0.5],
    ["singletonGroups", "zero", "raw"],
    ["advantageFactor", true, false],
    ["clip", { low: 0.2, high: 0.2 }, { low: 0.01, high: 0.01 }, { epochs: 3 }],
    ["carryClip", { low: 0.2, high: 0.2 }, { low: 0.01, high: 0.01 }],
    ["carryClip", { low: 0.2, high: 0.2 }, "off"],
    ["carryRatio", "geometric", "product", { carryClip: "off" }],
    ["carryRatioTo", "turn", "iteration", { carryClip: "off" }],
    ["level", "turn", "token", { epochs: 3 }],
    ["dualClip", undefined, 1.01, { epochs: 3, level: "token", normalisation: "none", clip: { low: 1, high: 0 } }],
    ["klCoef", 0, 0.1],
    ["klEstimator", "k2", "k3", { klCoef: 0.5 }],
    ["klCutOff", 1e-4, 10, { klCoef: 0.5, epochs: 2 }],
    ["epochs", 1, 2],
    ["ratioTo", "turn", "iteration"],
  ];

describe("every setting has a reader", () => {
  const stem = turn(1, [2]);
  const tree = groupOf("d", [
    { id: "d0", reward: 1, turns: [stem, turn(2, [3])] },
    { id: "d1", reward: 0, turns: [stem, turn(2, [1])], branch: { from: "d0", turn: 1 } },
    { id: "d2", reward: 0, turns: [turn(1, [0])] },
  ]);
  const withSingle = { ...world, groups: [...world.groups, groupOf("c", [{ reward: 2, turns: [turn(2, [0, 1])] }]), tree] };

  test.each(settingsThatMatter)("%s: %j and %j move the policy differently", async (name, one, other, beside = {}) => {
    const first = await updated(withSingle, { ...beside, [name]: one }, 8);
    const second = await updated(withSingle, { ...beside, [name]: other }, 8);
    expect(second.policy.table).not.toEqual(first.policy.table);
  });

  test("form: the passes differ, the policy does not", async () => {
    const [textbook, fused] = [await updated(world, { form: "textbook" }), await updated(world, { form: "fused" })];
    expect(fused.policy.passes.logprobs).toBeLessThan(textbook.policy.passes.logprobs);
  });

  test("and is in the list above", () => {
    const listed = new Set<string>(settingsThatMatter.map(([name]) => name));
    expect(Object.keys(configWith({ dualClip: 3 })).filter((name) => !listed.has(name))).toEqual(["kind", "form"]);
  });
});

describe("what is broken is named", () => {
  test("a return that is not a number", async () => {
    const groups = [
      groupOf("a", [
        { reward: 0, turns: [] },
        { id: "broken", reward: Number.NaN, turns: [] },
      ]),
    ];
    await expect(updated({ ...world, groups }, {})).rejects.toThrow(EnvError);
    await expect(updated({ ...world, groups }, {})).rejects.toThrow(/broken/);
  });

  class BrokenPolicy extends TablePolicy {
    readonly broken: (logprobs: Logprobs) => Logprobs;
    constructor(broken: (logprobs: Logprobs) => Logprobs) {
      super(world.table, 1);
      this.broken = broken;
    }
    override async referenceLogprobs(...[samples]: Parameters<TablePolicy["referenceLogprobs"]>): Promise<Logprobs> {
      return this.broken(await super.referenceLogprobs(samples));
    }
    override forwardBackward(...[samples, decide]: Parameters<TablePolicy["forwardBackward"]>): Promise<Logprobs> {
      return super
        .forwardBackward(samples, typeof decide === "function" ? (logprobs) => decide(this.broken(logprobs)) : decide)
        .then(this.broken);
    }
  }

  test.each([0, 0.1])("a log-prob that is not finite, at klCoef %d; the policy has not moved", async (klCoef) => {
    const policy = new BrokenPolicy((rows) =>
      rows.map((row, i) => (i === 1 ? row.map((p, t) => (t === 1 ? Number.NaN : p)) : row)),
    );
    const update = seeupoUpdate(policy, world.groups, configWith({ klCoef }), randomStream(1));
    await expect(update).rejects.toThrow(EngineError);
    await expect(update).rejects.toThrow(/token 1 in turn 2 of trajectory a-2/);
    expect(policy.steps).toEqual([]);
  });

  test("an engine that answers with too few rows or tokens", async () => {
    const update = (broken: (rows: Logprobs) => Logprobs) =>
      seeupoUpdate(new BrokenPolicy(broken), world.groups, configWith({ klCoef: 0 }), randomStream(1));
    await expect(update((rows) => rows.slice(1))).rejects.toThrow(ShapeError);
    await expect(update((rows) => rows.map((row) => row.slice(1)))).rejects.toThrow(/turn 2 of trajectory a-0/);
  });

  const paper = (settings: object = {}) => resolveAlgorithm({ kind: "seeupo", ...settings }) as SeeupoConfig;

  test.each([
    ["no log-probs of the start", (rows: Logprobs) => rows.slice(1), ShapeError, /rows of log-probs/],
    [
      "one that is not finite",
      (rows: Logprobs) => rows.map((row) => row.map(() => Number.NaN)),
      EngineError,
      /log-prob of token 0/,
    ],
  ])("%s: no step is made", async (_, broken, kind, message) => {
    const policy = Object.assign(new TablePolicy(world.table, 1), {
      logprobs: async (samples: Parameters<TablePolicy["logprobs"]>[0]) =>
        broken(await new TablePolicy(world.table, 1).logprobs(samples)),
    });
    const update = seeupoUpdate(policy, world.groups, paper(), randomStream(1));
    await expect(update).rejects.toThrow(kind);
    await expect(update).rejects.toThrow(message);
    expect(policy.steps).toEqual([]);
  });

  test.each(["fused", "textbook"])(
    "an M beyond all numbers, %s: named with its trajectory before a step reads it",
    async (form) => {
      const groups = [
        groupOf("a", [
          { reward: 1, turns: [turn(0, [1]), turn(1, Array<number>(600).fill(2))] },
          { reward: 0, turns: [turn(0, [2]), turn(2, [3])] },
        ]),
      ];
      const policy = new TablePolicy([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], 50); // biome-ignore format: a table
      const update = seeupoUpdate(policy, groups, paper({ form, carryRatio: "product" }), randomStream(1));
      await expect(update).rejects.toThrow(EngineError);
      await expect(update).rejects.toThrow(
        /^M of trajectory a-0 after the update of turn 1 is Infinity; expected a finite number\..*carryClip/,
      );
      expect(policy.steps).toHaveLength(1);
      expect(
        (await seeupoUpdate(new TablePolicy(policy.table, 1), groups, paper({ form }), randomStream(1))).metrics.turnUpdates,
      ).toBe(2);
    },
  );
});
