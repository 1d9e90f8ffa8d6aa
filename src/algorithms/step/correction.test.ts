import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf, TableCritic, TablePolicy } from "../../../test/algorithms/table-policy.ts";
import { randomWorld } from "../../../test/algorithms/worlds.ts";
import { real } from "../../../test/reals.ts";
import { EngineError, ShapeError } from "../../core/errors.ts";
import { randomStream } from "../../core/random.ts";
import type { Group } from "../../core/trajectory.ts";
import { resolveAlgorithm, runUpdate } from "../algorithms.ts";
import { presetSettings } from "../presets/kinds.ts";
import { type Correction, correctionSchema, importanceOf } from "./correction.ts";
import type { Episode } from "./episodes.ts";

type Table = readonly (readonly number[])[];

/** The groups with what a sampler that is this table would have recorded. */
async function sampledBy(table: Table, groups: readonly Group[]): Promise<Group[]> {
  const behaviour = new TablePolicy(table, 0);
  return Promise.all(
    groups.map(async (group) => ({
      ...group,
      trajectories: await Promise.all(
        group.trajectories.map(async (trajectory) => {
          const logprobs = await behaviour.logprobs(trajectory.turns);
          return {
            ...trajectory,
            turns: trajectory.turns.map((turn, i) => ({ ...turn, samplerLogprobs: logprobs[i] })),
          };
        }),
      ),
    })),
  );
}

const correct = (settings: object = {}): Correction => correctionSchema.parse(settings);
const unbounded = { high: 1e6 };
const pi: Table = [
  [0.3, -0.2, 0.5],
  [-1, 0.4, 0.1],
  [0, 0.7, -0.6],
];
const mu: Table = [
  [-0.2, 0.4, 0.3],
  [0.2, -0.3, 0.6],
  [0.5, 0.1, -0.9],
];

describe("in a world that is enumerated", () => {
  const tokens = [0, 1, 2];
  /** Two turns, the first of two tokens, with any return for each of the 27 trajectories. */
  const all = tokens.flatMap((a) =>
    tokens.flatMap((b) =>
      tokens.map((c) =>
        groupOf(`${a}${b}${c}`, [
          {
            reward: Math.sin(7 * a + 3 * b + c) + 0.3,
            turns: [
              { context: [0], action: [a, b] },
              { context: [0, a, b], action: [c] },
            ],
          },
        ]),
      ),
    ),
  );

  /** Σ_τ p(τ)·g(τ), g the gradient of the first step of an update on τ alone, p that of the table that samples. */
  async function expectedGradient(sampler: Table, algorithm: object, correction?: Correction): Promise<number[][]> {
    const total = pi.map((row) => row.map(() => 0));
    for (const group of await sampledBy(sampler, all)) {
      const logs = group.trajectories[0].turns.flatMap(({ samplerLogprobs }) => samplerLogprobs);
      const probability = Math.exp(logs.reduce((sum, log) => sum + log, 0));
      const policy = new TablePolicy(pi, 1);
      await runUpdate(policy, [group], resolveAlgorithm(algorithm), randomStream(1), correction);
      policy.steps[0].gradient.forEach((row, c) => {
        row.forEach((value, a) => {
          total[c][a] += probability * value;
        });
      });
    }
    return total;
  }

  const bare = { kind: "group-relative", std: "none", singletonGroups: "raw" };
  const composed = (update: object) => ({ kind: "custom", advantage: bare, update, aggregation: { tokenSumOver: 1 } });
  const seeupo = {
    ...{ kind: "seeupo", klCoef: 0, normalisation: "none", singletonGroups: "raw" },
  };
  const algorithms: readonly (readonly [string, object])[] = [
    ["reinforce", composed({ kind: "reinforce" })],
    ["ppu per token", composed({ kind: "ppu" })],
    ["ppu per turn", composed({ kind: "ppu", level: "turn" })],
    ["ppu per sequence", composed({ kind: "ppu", level: "sequence" })],
    ["cispo", composed({ kind: "cispo" })],
    ["dro", composed({ kind: "dro" })],
    ["seeupo", seeupo],
    ["seeupo, textbook", { ...seeupo, form: "textbook" }],
  ];

  test.each(algorithms)("the gradient of stale rollouts by %s is that of fresh ones, in the mean", async (_, algorithm) => {
    const fresh = await expectedGradient(pi, algorithm);
    const stale = await expectedGradient(mu, algorithm, correct({ level: "sequence", ...unbounded }));
    expectClose(stale, fresh);
    const uncorrected = await expectedGradient(mu, algorithm);
    expect(Math.max(...uncorrected.flat().map((value, i) => Math.abs(value - fresh.flat()[i])))).toBeGreaterThan(0.01);
  });
});

const everyAlgorithm: readonly object[] = [
  ...presetSettings.map(({ shape }) => ({ kind: shape.kind.value })).filter(({ kind }) => kind !== "custom"),
  { kind: "grpo", epochs: 2, miniBatches: 2, klCoef: 0.1 },
  { kind: "grpo", klCoef: 0.1, klIn: "reward" },
  ...["gmpo", "sapo", "dppo", "dro", "clip-cov", "kl-cov"].map((update) => ({
    ...{ kind: "custom", advantage: { kind: "leave-one-out" }, update: { kind: update } },
  })),
  { kind: "seeupo" },
  { kind: "seeupo", form: "textbook", epochs: 2 },
];
const corrections = ["token", "turn", "sequence"].flatMap((level) =>
  ["truncate", "mask"].map((beyond) => correct({ level, beyond, low: 0.5 })),
);

describe.each(everyAlgorithm.map((algorithm) => [JSON.stringify(algorithm), algorithm] as const))("%s", (_, algorithm) => {
  const moved = async (groups: readonly Group[], table: Table, correction?: Correction) => {
    const policy = new TablePolicy(table, 0.5, new TableCritic([0.1, 0.2, 0.3, 0.4], 0.5));
    const metrics = await runUpdate(policy, groups, resolveAlgorithm(algorithm), randomStream(5), correction);
    return { table: policy.table, steps: policy.steps, metrics };
  };

  test("moves the policy by the same bits where the sampler was the policy itself", async () => {
    for (const seed of [1, 2, 3]) {
      const { table, groups } = randomWorld(seed);
      const own = await sampledBy(table, groups);
      const plain = await moved(own, table);
      for (const correction of corrections) {
        const { steps, metrics } = await moved(own, table, correction);
        expect(steps).toEqual(plain.steps);
        if ("importanceMean" in metrics)
          expect(metrics).toMatchObject({ importanceMean: 1, importanceBounded: 0, effectiveSampleShare: 1, behaviourKl: 0 });
      }
    }
  });

  test("moves it otherwise where the sampler was another", async () => {
    const { table, groups } = randomWorld(1);
    const others = await sampledBy(randomWorld(2).table, groups);
    expect((await moved(others, table, correct())).table).not.toEqual((await moved(others, table)).table);
  });
});

describe("weights", () => {
  const logprobs = real(-6, 0);
  const worlds = fc.record({
    rows: fc.array(fc.array(fc.tuple(logprobs, logprobs), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
    level: fc.constantFrom("token" as const, "turn" as const, "sequence" as const),
    low: real(0, 1),
    high: real(1, 4),
  });

  /** One trajectory with a turn for each row of [log π, log μ]. */
  function given(rows: readonly (readonly (readonly [number, number])[])[]) {
    const [group] = [groupOf("g", [{ reward: 1, turns: rows.map((row) => ({ context: [0], action: row.map(() => 0) })) }])];
    const [trajectory] = group.trajectories.map((each) => ({
      ...each,
      turns: each.turns.map((turn, i) => ({ ...turn, samplerLogprobs: rows[i].map(([, sampler]) => sampler) })),
    }));
    const policy = new TablePolicy([[0]], 0);
    policy.logprobs = async (samples) => samples.map(({ turn }) => rows[turn].map(([prox]) => prox));
    const episodes: Episode[] = [{ trajectory, turns: trajectory.turns }];
    return { policy, episodes, turns: trajectory.turns };
  }

  test("lie within their bounds if truncated, and within them or at 0 if masked", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, async ({ rows, level, low, high }) => {
        const { policy, episodes, turns } = given(rows);
        for (const beyond of ["truncate", "mask"] as const) {
          const { weights, metrics } = await importanceOf(policy, episodes, { level, beyond, low, high });
          const used = weights(turns).flat();
          for (const weight of used) expect((weight >= low && weight <= high) || (beyond === "mask" && weight === 0)).toBe(true);
          expect(metrics.effectiveSampleShare).toBeLessThanOrEqual(1 + 1e-12);
          expect(metrics.importanceMin).toBeLessThanOrEqual(metrics.importanceMax ?? 0);
        }
      }),
      { numRuns: 50 },
    );
  });

  //            turn 0        turn 1
  const rows = [
    [
      [-1, -2],
      [-1, -1.5],
    ],
    [[-3, -1]],
  ] as const;

  test.each([
    ["token", [[Math.exp(1), Math.exp(0.5)], [Math.exp(-2)]]],
    ["turn", [[Math.exp(1.5), Math.exp(1.5)], [Math.exp(-2)]]],
    ["sequence", [[Math.exp(-0.5), Math.exp(-0.5)], [Math.exp(-0.5)]]],
  ] as const)("are the ratios over a %s", async (level, expected) => {
    const { policy, episodes, turns } = given(rows);
    const { weights, metrics } = await importanceOf(policy, episodes, correct({ level, ...unbounded }));
    expectClose(weights(turns), expected);
    expect(metrics.behaviourKl).toBeCloseTo((-1 - 0.5 + 2) / 3, 12);
    const beside = correct({ level: "sequence", ...unbounded });
    const part = await importanceOf(policy, [{ ...episodes[0], turns: turns.slice(1) }], beside);
    expect(part.weights(turns.slice(1))[0][0]).toBeCloseTo(Math.exp(-0.5), 12); // turns that are not trained count
  });

  test("beyond their bounds are counted, and show in the effective sample", async () => {
    const { policy, episodes, turns } = given(rows);
    const truncated = await importanceOf(policy, episodes, correct({ low: 0.5 }));
    expectClose(truncated.weights(turns), [[2, Math.exp(0.5)], [0.5]]);
    expect(truncated.metrics.importanceBounded).toBeCloseTo(2 / 3, 12);
    expect(truncated.metrics.importanceMax).toBeCloseTo(Math.exp(1), 12);
    const masked = await importanceOf(policy, episodes, correct({ low: 0.5, beyond: "mask" }));
    expectClose(masked.weights(turns), [[0, Math.exp(0.5)], [0]]);
    expect(masked.metrics.effectiveSampleShare).toBeCloseTo(1 / 3, 12);
  });

  test("need what the sampler recorded, in numbers", async () => {
    const { policy, episodes, turns } = given(rows);
    const recorded = (samplerLogprobs: number[]) => {
      const [first, ...rest] = turns;
      return [{ ...episodes[0], turns: [{ ...first, samplerLogprobs }, ...rest] }];
    };
    await expect(importanceOf(policy, recorded([]), correct())).rejects.toThrow(ShapeError);
    await expect(importanceOf(policy, recorded([Number.NaN, 0]), correct())).rejects.toThrow(EngineError);
  });
});

test("a batch that is masked as a whole takes no step", async () => {
  const { table, groups } = randomWorld(3);
  const others = await sampledBy(randomWorld(4).table, groups);
  const policy = new TablePolicy(table, 0.5);
  const never = correct({ beyond: "mask", low: 999, high: 1000 });
  const metrics = await runUpdate(policy, others, resolveAlgorithm("grpo"), randomStream(1), never);
  expect(policy.table).toEqual(table);
  expect(metrics).toMatchObject({ optimiserSteps: 0, importanceBounded: 1, effectiveSampleShare: 0 });
});

describe("the KL term", () => {
  /** A policy that has moved away from its reference, on rollouts of another one, whose returns are all equal: only the KL term pulls. */
  async function pulled(kind: "grpo" | "seeupo", correction?: Correction) {
    const policy = new TablePolicy(pi, 1);
    policy.table = mu.map((row) => row.map((x) => x * 0.5));
    const groups = [
      groupOf("a", [
        { reward: 1, turns: [{ context: [0], action: [1, 2] }] },
        {
          reward: 1,
          turns: [
            { context: [1], action: [0] },
            { context: [2], action: [2, 1] },
          ],
        },
      ]),
    ];
    const config = resolveAlgorithm({ kind, klCoef: 0.3 });
    await runUpdate(policy, await sampledBy(mu, groups), config, randomStream(1), correction);
    return policy.weights;
  }

  test.each(["grpo", "seeupo"] as const)("is not weighted by the importance correction in %s", async (kind) => {
    const plain = await pulled(kind);
    expect(plain.flat(2).some((weight) => Math.abs(weight) > 1e-3)).toBe(true);
    expectClose(await pulled(kind, correct({ level: "token", ...unbounded })), plain);
    expectClose(await pulled(kind, correct({ level: "sequence", high: 1 })), plain);
  });
});

test("bounds of which the lower one is above the other are refused", () => {
  expect(correctionSchema.safeParse({ low: 2, high: 2 }).success).toBe(true);
  expect(correctionSchema.safeParse({ low: 2.1, high: 2 }).success).toBe(false);
});

test("rollouts of a group that teaches nothing are not weighted, and are in no measure of the weights", async () => {
  const table = randomWorld(3).table;
  const turns = [{ context: [1], action: [2] }];
  const of = (id: string, ...rewards: readonly number[]) =>
    groupOf(
      id,
      rewards.map((reward) => ({ reward, turns })),
    );
  const [own] = await sampledBy(table, [of("own", 0, 1)]);
  const [far] = await sampledBy(
    table.map((row) => row.map((logit, i) => logit + 5 * i)),
    [of("far", 1, 1)],
  );
  const metrics = await runUpdate(
    new TablePolicy(table, 0.1),
    [own, far],
    resolveAlgorithm("grpo"),
    randomStream(1),
    correctionSchema.parse({ level: "sequence" }),
  );
  expect(metrics).toMatchObject({ importanceMin: 1, importanceMax: 1, importanceMean: 1, groupsWithoutSignal: 1 });
});
