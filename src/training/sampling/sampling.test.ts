import "../../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { environmentSilentFor, lettersChat, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import type { Environment } from "../../environments/environment.ts";
import type { RewardPart } from "../../rewards/reward.ts";
import { checkpointSteps, readMetrics, readProgress, readTrajectories } from "../../runs/read.ts";
import { createRun } from "../../runs/write.ts";
import { resolveConfig } from "../config/config.ts";
import { trainingTasks } from "../config/tasks.ts";
import type { UserConfig } from "../config/user-config.ts";
import type { TrainingEvent } from "../record/events.ts";
import { train } from "../trainer.ts";
import { sampleGroups } from "./sampling.ts";

const tasksPerStep = 4;
const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep, groupSize: 3, maxTokens: 4 },
  optimizer: { learningRate: 0.05, schedule: "constant" },
  algorithm: { kind: "dapo", dynamicSampling: { maxBatches: 4 } },
  evaluation: { tasks: 0 },
  checkpoint: { every: 2 },
  steps: 5,
  seed: 5,
};

const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-sampling-")), "run");

async function run(folder: string, environment: Environment, changes: UserConfig = {}) {
  const config = resolveConfig(small, changes);
  createRun(folder, config);
  const warnings: string[] = [];
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "warning" && event.warning === undefined) warnings.push(event.message);
  };
  const engine = new TableEngine(lettersVocabulary);
  await train({ config, engine, chat: lettersChat(), environment, folder, onEvent });
  return { engine, warnings };
}

const recorded = (folder: string) => readMetrics(folder).map(({ step }) => readTrajectories(folder, step));

test("sampling continues until enough groups have returns that differ, and only these are trained", async () => {
  const folder = newFolder();
  const { warnings } = await run(folder, environmentSilentFor(["a"]));
  const metrics = readMetrics(folder).map((record) => record.metrics);
  expect(warnings).toEqual([]);
  expect(Math.max(...metrics.map(({ batchesSampled }) => Number(batchesSampled)))).toBeGreaterThan(1);
  for (const [i, step] of recorded(folder).entries()) {
    const { batchesSampled, groupsSampled, groupsDropped, groups, groupsWithoutSignal, episodes } = metrics[i];
    expect({ groups, groupsWithoutSignal }).toEqual({ groups: tasksPerStep, groupsWithoutSignal: 0 });
    expect(groupsSampled).toBe(Number(batchesSampled) * tasksPerStep);
    expect(groupsDropped).toBe(Number(groupsSampled) - tasksPerStep);
    expect(episodes).toBe(Number(groupsSampled) * 3);
    expect(step).toHaveLength(Number(episodes)); // dropped ones are recorded too
    expect(new Set(step.map(({ id }) => id)).size).toBe(Number(episodes));
  }
});

test("the position moves by the tasks that were taken: none is skipped, none comes twice", async () => {
  for (const size of [Number.POSITIVE_INFINITY, 50]) {
    const folder = newFolder();
    const environment = environmentSilentFor(["a"], size);
    await run(folder, environment);
    const taken = recorded(folder).flatMap((step) => step.filter((_, i) => i % 3 === 0).map(({ task }) => task));
    expect(taken.length).toBeGreaterThan(5 * tasksPerStep);
    expect(readProgress(folder, checkpointSteps(folder).at(-1) ?? 0).position).toBe(taken.length);
    expect(taken).toEqual((await trainingTasks(environment, 0, taken.length, 5)).map(({ id }) => id));
  }
});

test("where too few groups have signal, the update learns from these, and a warning says so", async () => {
  const folder = newFolder();
  const changes = { algorithm: { kind: "dapo", miniBatches: 4, dynamicSampling: { maxBatches: 2 } } } as const;
  const { warnings } = await run(folder, environmentSilentFor(["a", "c"]), changes);
  const few = readMetrics(folder).filter(({ metrics }) => Number(metrics.groups) < tasksPerStep);
  expect(few.length).toBeGreaterThan(0);
  expect(warnings).toHaveLength(few.length);
  const [{ step, metrics }] = few;
  expect(warnings[0]).toMatch(`Step ${step}: after 2 batches (algorithm.dynamicSampling.maxBatches) only ${metrics.groups} of 4`);
  expect(metrics).toMatchObject({ batchesSampled: 2, groupsDropped: 8 - Number(metrics.groups) });
});

test("without any signal nothing moves, and the tasks are taken nevertheless", async () => {
  const folder = newFolder();
  const { engine, warnings } = await run(folder, environmentSilentFor(["a", "b", "c"]));
  expect(engine.weightVersion).toBe(0);
  expect(warnings).toHaveLength(5);
  expect(readProgress(folder, 5).position).toBe(5 * 4 * tasksPerStep);
  for (const { metrics } of readMetrics(folder)) expect(metrics).toMatchObject({ groups: 0, groupsDropped: 16 });
});

test("one batch is no dynamic sampling: all groups count, as they do for other algorithms", async () => {
  const folder = newFolder();
  const changes = { algorithm: { kind: "dapo", dynamicSampling: { maxBatches: 1 } } } as const;
  const { warnings } = await run(folder, environmentSilentFor(["a"]), changes);
  const metrics = readMetrics(folder).map((record) => record.metrics);
  expect(warnings).toEqual([]);
  expect(Math.max(...metrics.map(({ groupsWithoutSignal }) => Number(groupsWithoutSignal)))).toBeGreaterThan(0);
  for (const each of metrics) {
    expect(each.groups).toBe(tasksPerStep);
    expect(each).not.toHaveProperty("batchesSampled");
  }
});

const part = (name: string, score: RewardPart["score"], weight = 1): RewardPart => ({ name, weight, isCost: false, score });

/** Groups that are sampled for one step, with what was said of it. */
async function sampled(changes: UserConfig, rewards: readonly RewardPart[], environment = environmentSilentFor(["a", "b", "c"])) {
  const config = resolveConfig(small, { rollout: { tasksPerStep: 2, groupSize: 2 }, ...changes });
  const events: TrainingEvent[] = [];
  const onEvent = (event: TrainingEvent) => events.push(event);
  const args = { config, chat: lettersChat(), environment, rewards, onEvent };
  return { ...(await sampleGroups(args, new TableEngine(lettersVocabulary), 3, 0)), events };
}
const dapo = (maxBatches: number) => ({ algorithm: { kind: "dapo", miniBatches: 1, dynamicSampling: { maxBatches } } }) as const;

test("with several batches the mean reward is that of all scored episodes, and counts of parts are sums", async () => {
  let asked = 0;
  /** Of three batches the first cannot score its first group. */
  const scored = part("x", (groups, { warn }) => {
    asked++;
    if (asked === 1) warn("one is left out");
    return {
      values: groups.map(({ trajectories }, g) => (asked === 1 && g === 0 ? undefined : trajectories.map(() => asked))),
      metrics: { "x/late": asked === 1 ? 1 : null },
    };
  });
  const { metrics, events, groups, trained, tasks, chosen, rolloutSeconds, rewardSeconds } = await sampled(dapo(3), [scored]);
  // Two episodes with 1, four with 2 and four with 3.
  expect(metrics).toEqual({
    ...{ "x/late": 1, reward: (2 * 1 + 4 * 2 + 4 * 3) / 10, maskedEpisodes: 0 },
    ...{ batchesSampled: 3, groupsSampled: 6, groupsDropped: 6 },
  });
  expect([groups.length, trained.length, tasks, chosen.length, asked]).toEqual([6, 0, 6, 6, 3]);
  expect(groups.map(({ id }) => id)).toEqual([
    "step-3/0",
    "step-3/1",
    ...[1, 2].flatMap((batch) => [0, 1].map((i) => `step-3/batch-${batch}/${i}`)),
  ]);
  expect(rolloutSeconds > 0 && rewardSeconds >= 0 && rolloutSeconds < 60 && rewardSeconds < 60).toBe(true);
  const said = events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
  expect(said[0]).toBe("Step 3: one is left out");
  const phases = events.flatMap((event) => (event.type === "phase" ? [[event.phase, event.step, event.total]] : []));
  expect(phases).toEqual(
    [1, 2, 3].flatMap(() => [
      ["rollout", 3, 4],
      ["reward", 3, 4],
    ]),
  );
});

test("without parts nothing is said of rewards; one batch has the metrics of its parts", async () => {
  const plain = await sampled(dapo(2), []);
  expect(plain.metrics).toEqual({ maskedEpisodes: 0, batchesSampled: 2, groupsSampled: 4, groupsDropped: 4 });
  expect(plain.events.some((event) => event.type === "phase" && event.phase === "reward")).toBe(false);
  const one = await sampled(dapo(1), [
    part("x", (groups) => ({ values: groups.map(({ trajectories }) => trajectories.map((_, i) => i)) })),
  ]);
  expect(one.metrics).toEqual({ reward: 0.5, maskedEpisodes: 0 });
  expect(one.trained).toHaveLength(2);
});

test("sampling stops as soon as enough groups differ, and the first ones are trained", async () => {
  const differing = part("x", (groups) => ({ values: groups.map(({ trajectories }) => trajectories.map((_, i) => i)) }));
  const { trained, metrics } = await sampled(dapo(4), [differing]);
  expect(trained.map(({ id }) => id)).toEqual(["step-3/0", "step-3/1"]);
  expect(metrics).toMatchObject({ batchesSampled: 1, groupsDropped: 0, reward: 0.5 });
  const once = part("x", (groups) => ({
    values: groups.map(({ trajectories }, g) => trajectories.map((_, i) => (g === 1 ? i : 0))),
  }));
  const half = await sampled(dapo(4), [once]);
  expect(half.trained.map(({ id }) => id)).toEqual(["step-3/1", "step-3/batch-1/1"]);
  expect(half.metrics).toMatchObject({ batchesSampled: 2, groupsSampled: 4, groupsDropped: 2 });
  expect(half.events.some(({ type }) => type === "warning")).toBe(false);
});
