import "../../../test/office.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { ConfigError, EngineError, RunError } from "../../core/errors.ts";
import type { FrozenPolicy } from "../../engines/engine.ts";
import type { Environment } from "../../environments/environment.ts";
import { layout } from "../../runs/layout.ts";
import { checkpointSteps, readMetrics, readTimings, readTrajectories } from "../../runs/read.ts";
import { createRun, reopenRun } from "../../runs/write.ts";
import { resolveConfig } from "../config/config.ts";
import type { UserConfig } from "../config/user-config.ts";
import type { TrainingEvent } from "../record/events.ts";
import { small as ofRecord } from "../record.fixture.ts";
import { train } from "../trainer.ts";
import { RolloutPipeline } from "./pipeline.ts";

const small: UserConfig = {
  ...ofRecord,
  rollout: { ...ofRecord.rollout, tasksPerStep: 3 },
  algorithm: { kind: "seeupo", klCoef: 0.002 },
};
const ahead = (steps: number, more: UserConfig = {}): UserConfig => ({ ...more, rollout: { ...more.rollout, ahead: steps } });

interface Process {
  readonly resume?: boolean;
  readonly onEvent?: (event: TrainingEvent) => void;
  readonly signal?: AbortSignal;
  readonly engine?: TableEngine;
  readonly environment?: Environment;
}

async function work(folder: string, changes: UserConfig, { resume = false, ...process }: Process = {}) {
  const config = resolveConfig(small, changes);
  if (resume) reopenRun(folder, config);
  else createRun(folder, config);
  const { engine = new TableEngine(lettersVocabulary), environment = lettersEnvironment(), ...rest } = process;
  return train({ config, engine, chat: lettersChat(), environment, folder, ...rest });
}

const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-ahead-")), "run");
const contentsOf = (folder: string) => ({
  metrics: readFileSync(layout.metrics(folder), "utf8"),
  model: readFileSync(join(layout.model(folder), "table.json"), "utf8"),
  trajectories: readMetrics(folder).map(({ step }) => readTrajectories(folder, step)),
});

/** Letters whose answers take a while: of some episodes long, so that batches end in another order than they begin. */
function slowLetters(milliseconds: (prompt: string) => number): Environment {
  const letters = lettersEnvironment();
  return {
    ...letters,
    start: async (task, seed) => {
      const episode = await letters.start(task as Parameters<typeof letters.start>[0], seed);
      return {
        ...episode,
        reply: async (message) => {
          await new Promise((resolve) => setTimeout(resolve, milliseconds(task.kind ?? "")));
          return episode.reply(message);
        },
      };
    },
  };
}

/** Of every step: optimiser steps that the trainer's weights and those that sampled had seen. */
function versionsOf(folder: string) {
  return readMetrics(folder).map(({ step, metrics }) => {
    const sampled = new Set(readTrajectories(folder, step).flatMap(({ turns }) => turns.map((turn) => turn.weightVersion)));
    expect(sampled.size).toBe(1);
    return { step, trainer: Number(metrics.weightVersion), sampler: [...sampled][0], staleness: metrics.staleness };
  });
}

test.each([1, 2, 4])("with %d steps ahead, rollouts are as many steps old, and never older", async (n) => {
  const folder = newFolder();
  await work(folder, ahead(n), { environment: slowLetters((prompt) => (prompt === "a" ? 4 : 0)) });
  const versions = versionsOf(folder);
  // The weights after step s are those that train step s + 1.
  const after = [...versions.map(({ trainer }) => trainer)];
  for (const { step, sampler, staleness } of versions) {
    expect(staleness).toBe(Math.min(step - 1, n));
    expect(sampler).toBe(after[Math.max(0, step - 1 - n)]);
  }
  for (const { metrics } of readMetrics(folder)) {
    expect(metrics.samplerGapMax).toBe(0);
    const turns = Number(metrics.turns) * Number(metrics.episodes);
    expect(metrics.staleTurns).toBeCloseTo(metrics.staleness === 0 ? 0 : turns, 6);
    expect(metrics.effectiveSampleShare).toBeGreaterThan(0);
  }
  for (const { waitedSeconds } of readTimings(folder)) expect(waitedSeconds).toBeGreaterThanOrEqual(0);
});

test("none ahead is the run without the setting, byte for byte", async () => {
  const [left, right] = [newFolder(), newFolder()];
  await work(left, {});
  await work(right, ahead(0, { correction: "off" }));
  expect(contentsOf(right)).toEqual(contentsOf(left));
  expect(readMetrics(left)[0].metrics).not.toHaveProperty("staleness");
});

test("the same seed writes the same bytes, also where answers take their time", async () => {
  const [first, second, instant] = [newFolder(), newFolder(), newFolder()];
  const environment = slowLetters((prompt) => (prompt === "a" ? 3 : 1));
  await work(first, ahead(2), { environment });
  await work(second, ahead(2), { environment: slowLetters((prompt) => (prompt === "c" ? 5 : 0)) });
  await work(instant, ahead(2));
  expect(contentsOf(second)).toEqual(contentsOf(first));
  expect(contentsOf(instant)).toEqual(contentsOf(first));
});

test("an interruption keeps every finished step, and what continues is the run that was not interrupted", async () => {
  const [whole, folder] = [newFolder(), newFolder()];
  await work(whole, ahead(2));
  const interrupt = new AbortController();
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "phase" && event.phase === "update" && event.step === 3) interrupt.abort();
  };
  await expect(work(folder, ahead(2), { signal: interrupt.signal, onEvent })).rejects.toThrow("continue with --resume");
  expect(checkpointSteps(folder).at(-1)).toBe(2); // the update of step 3 had moved nothing yet
  await work(folder, ahead(2), { resume: true });
  expect(contentsOf(folder)).toEqual(contentsOf(whole));
});

test("an error of rollouts in the background is the run's, once the steps before are done and kept", async () => {
  const folder = newFolder();
  const engine = new TableEngine(lettersVocabulary);
  const freeze = engine.freeze.bind(engine);
  let frozen = 0;
  engine.freeze = async () => {
    const policy = await freeze();
    if (++frozen !== 4) return policy;
    return { ...policy, sample: () => Promise.reject(new EngineError("the sampler", "broken")) };
  };
  await expect(work(folder, ahead(1), { engine })).rejects.toThrow("the sampler");
  expect(checkpointSteps(folder).at(-1)).toBe(3);
  expect(readMetrics(folder)).toHaveLength(3);
});

test("a tool that never answers holds up neither an interruption nor other batches", async () => {
  const folder = newFolder();
  const letters = lettersEnvironment();
  let started = 0;
  const stuck: Environment = {
    ...letters,
    start: async (task, seed) => {
      const episode = await letters.start(task as Parameters<typeof letters.start>[0], seed);
      const secondBatch = ++started > 12 && started <= 24;
      return secondBatch ? { ...episode, reply: () => new Promise<never>(() => {}) } : episode;
    },
  };
  const interrupt = new AbortController();
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "stepped" && event.record.step === 1) setTimeout(() => interrupt.abort(), 30);
  };
  const run = work(folder, ahead(2), { environment: stuck, signal: interrupt.signal, onEvent });
  await expect(run).rejects.toThrow(RunError);
  expect(checkpointSteps(folder)).toEqual([1]);

  started = 0;
  const timed = newFolder();
  await work(timed, ahead(2, { rollout: { episodeTimeoutMs: 50 } }), { environment: stuck });
  const timeouts = readMetrics(timed).map(({ metrics }) => Number(metrics["stop/environment-timeout"]));
  expect(timeouts.map((count) => count > 0)).toEqual([false, true, false, false, false, false]);
});

/** A run whose frozen policies are not what they should be. */
function withFrozen(change: (policy: FrozenPolicy, engine: TableEngine) => FrozenPolicy) {
  const engine = new TableEngine(lettersVocabulary);
  const freeze = engine.freeze.bind(engine);
  engine.freeze = async () => change(await freeze(), engine);
  return work(newFolder(), ahead(1), { engine, environment: slowLetters(() => 3) });
}

test("a sampler that disagrees with its own weights stops the run before anything is moved", async () => {
  const engine = new TableEngine(lettersVocabulary);
  engine.samplerError = 0.05;
  const run = work(newFolder(), ahead(1), { engine });
  await expect(run).rejects.toThrow(/log-prob gap is 0\.05\d*; expected at most 0\.02 nats \(limits\.logprobGap\)/);
  expect(engine.weightVersion).toBe(0);
});

test("a frozen policy that takes new weights stops the run", async () => {
  const run = withFrozen((policy, engine) => ({ ...policy, sample: (request) => engine.sample(request) }));
  await expect(run).rejects.toThrow(/weight version of turn \d of trajectory step-\d.*that of the frozen policy/);
});

test("stale rollouts are corrected unless it is switched off, and then train otherwise", async () => {
  expect(resolveConfig(small, ahead(1)).correction).toMatchObject({ level: "token", beyond: "truncate", high: 2 });
  expect(resolveConfig(small, ahead(1, { correction: "off" })).correction).toBe("off");
  expect(resolveConfig(small).correction).toBe("off");
  const [corrected, plain] = [newFolder(), newFolder()];
  await work(corrected, ahead(1));
  await work(plain, ahead(1, { correction: "off" }));
  const [first, second] = [readMetrics(corrected)[0].metrics, readMetrics(plain)[0].metrics];
  expect(first).toMatchObject({ importanceMean: 1, importanceBounded: 0, behaviourKl: 0, gradientNorm: second.gradientNorm });
  expect(contentsOf(corrected).model).not.toBe(contentsOf(plain).model);
});

test("sequences are not corrected where turns that branches share are trained once", () => {
  const tree = (attribution: string, level: string) => () =>
    resolveConfig(small, ahead(1, { algorithm: { kind: "arpo", attribution }, correction: { level } } as UserConfig));
  expect(tree("hard", "sequence")).toThrow(ConfigError);
  expect(tree("hard", "sequence")).toThrow(/correction\.level.*no one trajectory/);
  for (const each of [tree("soft", "sequence"), tree("hard", "turn")]) expect(each).not.toThrow();
});

test("training raises the reward, by rollouts that are two steps old", async () => {
  const folder = newFolder();
  await work(folder, ahead(2, { steps: 40 }));
  const rewards = readMetrics(folder).map(({ metrics }) => Number(metrics.reward));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  expect(mean(rewards.slice(-5))).toBeGreaterThan(mean(rewards.slice(0, 5)) + 0.2);
});

/** A pipeline by itself, and the events that it has passed on. */
async function opened(changes: UserConfig, environment: Environment = lettersEnvironment()) {
  const config = resolveConfig(small, changes);
  const events: TrainingEvent[] = [];
  const engine = new TableEngine(lettersVocabulary);
  const args = { config, engine, chat: lettersChat(), environment, onEvent: (event: TrainingEvent) => events.push(event) };
  const progress = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };
  return { pipeline: await RolloutPipeline.open(args, progress, undefined), events, engine };
}
const later = () => new Promise<void>((resolve) => setTimeout(resolve, 20));

test("what a batch reports in the background is held until the trainer waits for it, and one progress of many", async () => {
  const { pipeline, events } = await opened(ahead(1, { rollout: { tasksPerStep: 2, groupSize: 2 } }));
  await later();
  expect(events).toEqual([]);
  const first = await pipeline.take(1);
  const tokens = first.sampledTokens;
  expect(events).toEqual([
    { type: "phase", phase: "rollout", step: 1, total: 4 },
    { type: "progress", phase: "rollout", done: 4, total: 4, tokens },
  ]);
  expect(first).toMatchObject({ tasks: 2, ahead: { staleness: 0, gap: { samplerGapMax: 0 } } });
  const second = await pipeline.take(2);
  expect(second.ahead?.staleness).toBe(1);
  expect(events.slice(2).map((event) => "step" in event && event.step)).toEqual([2, false]);
  await expect(pipeline.take(9)).rejects.toThrow("the rollouts of step 9 is missing");
  await pipeline.close();
});

test("warnings of a batch in the background are passed on at once, its progress live once it is waited for", async () => {
  const none = { ...lettersEnvironment() };
  const silent: Environment = {
    ...none,
    start: async (task, seed) => ({ ...(await none.start(task as never, seed)), score: () => ({ reward: 1 }) }),
  };
  const dapo = { algorithm: { kind: "dapo", miniBatches: 1, dynamicSampling: { maxBatches: 2 } } } as const;
  const { pipeline, events } = await opened(ahead(1, { ...dapo, rollout: { tasksPerStep: 2, groupSize: 2 } }), silent);
  await later();
  const warned = events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
  expect(warned).toEqual(
    [1, 2].map(
      (step) =>
        `Step ${step}: after 2 batches (algorithm.dynamicSampling.maxBatches) only 0 of 2 groups have returns that differ; ` +
        "the update learns from these alone. The tasks are too easy or too hard.",
    ),
  );
  const { tasks, chosen, trained, ahead: measured } = await pipeline.take(1);
  expect([tasks, chosen.length, trained, measured?.gap.samplerGapMax]).toEqual([4, 4, [], 0]);
  await pipeline.close();
});
