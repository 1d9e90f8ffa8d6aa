import "../../test/office.ts";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { updateMetrics } from "../algorithms/glossary.ts";
import { EngineError, RunError } from "../core/errors.ts";
import { layout } from "../runs/layout.ts";
import { checkpointSteps, readEvaluations, readMetrics, readSummary, readTrajectories } from "../runs/read.ts";
import { createRun, reopenRun } from "../runs/write.ts";
import { resolveConfig, rolloutAlgorithms } from "./config/config.ts";
import type { UserConfig } from "./config/user-config.ts";
import type { TrainingEvent } from "./record/events.ts";
import { train } from "./trainer.ts";

const chat = lettersChat();
const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep: 4, groupSize: 4, maxTokens: 4 },
  optimizer: { learningRate: 0.1, schedule: "constant" },
  algorithm: { kind: "seeupo", klCoef: 0.002 },
  evaluation: { tasks: 6, k: 2, during: { every: 3, tasks: 3 } },
  checkpoint: { every: 2, keep: 2 },
  steps: 7,
  seed: 5,
};

interface Process {
  readonly resume?: boolean;
  readonly config?: UserConfig;
  readonly onEvent?: (event: TrainingEvent) => void;
  readonly signal?: AbortSignal;
  readonly engine?: TableEngine;
}

/** What one process does: a fresh engine, and all else from the run's folder. */
async function work(folder: string, { resume = false, config: changes, engine, ...rest }: Process = {}) {
  const config = resolveConfig(small, changes);
  if (resume) reopenRun(folder, config);
  else createRun(folder, config);
  return train({
    config,
    engine: engine ?? new TableEngine(lettersVocabulary),
    chat,
    environment: lettersEnvironment(),
    folder,
    ...rest,
  });
}

const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-train-")), "run");
const contentsOf = (folder: string) => ({
  metrics: readFileSync(layout.metrics(folder), "utf8"),
  evaluations: readEvaluations(folder),
  model: readFileSync(join(layout.model(folder), "table.json"), "utf8"),
  trajectories: readMetrics(folder).map(({ step }) => readTrajectories(folder, step)),
});

test("a run with the same seed writes the same bytes, with another seed others", async () => {
  const [first, second, other] = [newFolder(), newFolder(), newFolder()];
  await work(first);
  await work(second);
  await work(other, { config: { seed: 6 } });
  expect(contentsOf(second)).toEqual(contentsOf(first));
  expect(readFileSync(layout.metrics(other), "utf8")).not.toBe(contentsOf(first).metrics);
});

const sampledEvaluations = (folder: string) => readEvaluations(folder).filter(({ decoding }) => decoding === "sampled");

test("training raises the success of the evaluation, and the summary says by how much", async () => {
  const folder = newFolder();
  const summary = await work(folder, { config: { steps: 40, evaluation: { tasks: 40, during: { every: 0 } } } });
  const [before, after] = sampledEvaluations(folder);
  expect(after.reward.mean).toBeGreaterThan(before.reward.mean + 0.2);
  expect(summary).toMatchObject({ steps: 40, episodes: 40 * 16, before: { split: "test", tasks: 40, k: 2 } });
  expect(readSummary(folder)).toEqual(summary);
  expect(summary.before?.sampled?.mean).toBe(summary.before?.mean);
  expect(summary.after?.greedy?.mean).toBeGreaterThanOrEqual(0);
  const { sampled, reward } = summary.difference ?? {};
  expect(sampled?.mean).toBeCloseTo((summary.after?.mean ?? 0) - (summary.before?.mean ?? 0), 12);
  expect(reward?.sampled?.mean).toBeCloseTo(after.reward.mean - before.reward.mean, 12);
  expect(reward?.sampled?.low).toBeGreaterThan(0);
  expect(reward?.sampled?.pValue).toBeLessThan(0.05);
});

test("a finished run is not trained again", async () => {
  const folder = newFolder();
  const summary = await work(folder);
  const events: TrainingEvent[] = [];
  expect(await work(folder, { resume: true, onEvent: (event) => events.push(event) })).toEqual(summary);
  expect(events).toEqual([]);
});

test("an interrupted run keeps every finished step and continues from there", async () => {
  const folder = newFolder();
  const interrupt = new AbortController();
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "stepped" && event.record.step === 3) interrupt.abort();
  };
  await expect(work(folder, { onEvent, signal: interrupt.signal })).rejects.toThrow("continue with --resume");
  expect(checkpointSteps(folder).at(-1)).toBe(3);
  await work(folder, { resume: true });
  const uninterrupted = newFolder();
  await work(uninterrupted);
  expect(contentsOf(folder)).toEqual(contentsOf(uninterrupted));
});

test("an interruption while sampling keeps the steps before", async () => {
  const folder = newFolder();
  const interrupt = new AbortController();
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "progress" && event.phase === "rollout" && checkpointSteps(folder).includes(2)) interrupt.abort();
  };
  await expect(work(folder, { onEvent, signal: interrupt.signal })).rejects.toThrow(RunError);
  expect(readMetrics(folder)).toHaveLength(2);
});

test("a sampler that disagrees with the trainer stops the run before anything is moved", async () => {
  const folder = newFolder();
  const engine = new TableEngine(lettersVocabulary);
  engine.samplerError = 0.05;
  const run = work(folder, { engine, config: { evaluation: { tasks: 0 } } });
  await expect(run).rejects.toThrow(EngineError);
  await expect(run).rejects.toThrow(/log-prob gap is 0\.05\d*; expected at most 0\.02 nats \(limits\.logprobGap\)/);
  expect(engine.weightVersion).toBe(0);
});

test("the limit follows the engine's precision unless a number is set", async () => {
  const engine = () => {
    const rough = new TableEngine(lettersVocabulary);
    rough.samplerError = 0.05;
    return Object.defineProperty(rough, "info", { value: { ...rough.info, logprobTolerance: 0.1 } });
  };
  const config = { evaluation: { tasks: 0 }, steps: 1 };
  await expect(work(newFolder(), { engine: engine(), config })).resolves.toBeDefined();
  const strict = work(newFolder(), { engine: engine(), config: { ...config, limits: { logprobGap: 0.03 } } });
  await expect(strict).rejects.toThrow(/at most 0\.03 nats/);
});

test("a rollout of other weights than the trainer's stops the run before anything is moved", async () => {
  const engine = new TableEngine(lettersVocabulary);
  const sample = engine.sample.bind(engine);
  engine.sample = async (request) => ({ ...(await sample(request)), weightVersion: 7 });
  const run = work(newFolder(), { engine, config: { evaluation: { tasks: 0 } } });
  await expect(run).rejects.toThrow(/weights that sampled \d+ turns of step 1 is \[7\]; expected 0, the trainer's/);
  expect(engine.weightVersion).toBe(0);
});

test.each(rolloutAlgorithms.filter((kind) => kind !== "custom"))(
  "%s: a gap in the first turns alone stops the run before anything is moved",
  async (kind) => {
    const engine = new TableEngine(lettersVocabulary);
    const sample = engine.sample.bind(engine);
    // Contexts of first turns are a letter, its role, an end and the prompt: shorter than those of any later one.
    engine.sample = async (request) => {
      const action = await sample(request);
      return request.context.length > 4 ? action : { ...action, logprobs: action.logprobs.map((logprob) => logprob + 0.05) };
    };
    const run = work(newFolder(), {
      engine,
      config: { algorithm: kind, rollout: { branching: "off" }, evaluation: { tasks: 0 } },
    });
    await expect(run).rejects.toThrow(/log-prob gap is 0\.05\d*; expected at most 0\.02 nats/);
    expect(engine.weightVersion).toBe(0);
  },
);

/** The newest checkpoint of a run whose engine is broken after five steps. */
async function checkpointAfter(breakEngine: (engine: TableEngine) => void): Promise<number | undefined> {
  const folder = newFolder();
  const engine = new TableEngine(lettersVocabulary);
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "stepped" && event.record.step === 5) breakEngine(engine);
  };
  await expect(work(folder, { engine, onEvent, config: { checkpoint: { every: 4 } } })).rejects.toThrow("the engine");
  return checkpointSteps(folder).at(-1);
}
const broken = () => Promise.reject(new EngineError("the engine", "broken"));

test("an error while sampling loses no finished step", async () => {
  const newest = await checkpointAfter((engine) => {
    engine.sample = broken;
  });
  expect(newest).toBe(5);
});

test("an error after a step of the critic alone leaves the last checkpoint too", async () => {
  const folder = newFolder();
  const engine = new TableEngine(lettersVocabulary);
  const critic = await engine.critic();
  const onEvent = (event: TrainingEvent) => {
    if (event.type !== "phase" || event.phase !== "update" || event.step !== 6) return;
    critic.step({ learningRate: 0.1, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0, clipNorm: 1 });
    engine.forwardBackward = broken;
  };
  await expect(work(folder, { engine, onEvent, config: { ...ppo, checkpoint: { every: 4 } } })).rejects.toThrow("the engine");
  expect(checkpointSteps(folder).at(-1)).toBe(4);
});

test("an error between the optimiser steps of an update leaves the last checkpoint, as the weights are of no step", async () => {
  const newest = await checkpointAfter((engine) => {
    const step = engine.step.bind(engine);
    let taken = 0;
    engine.step = (options) => (++taken === 2 ? broken() : step(options));
  });
  expect(newest).toBe(4);
});

const ppo: UserConfig = {
  // γ = 1 and λ = 1: what values should become is the return itself.
  algorithm: { kind: "ppo", miniBatches: 2, epochs: 2, advantage: { gamma: 1, lambda: 1 } },
  optimizer: { learningRate: 0.02 },
};

test("a critic learns the returns, and the policy from it", async () => {
  const folder = newFolder();
  await work(folder, { config: { ...ppo, steps: 40, evaluation: { tasks: 40, during: { every: 0 } } } });
  const last = readMetrics(folder)
    .slice(-10)
    .map(({ metrics }) => metrics);
  const mean = (name: string) => last.reduce((sum, metrics) => sum + Number(metrics[name]), 0) / last.length;
  // Values of 0 would have a loss of ½·mean R², and the returns have risen.
  expect(mean("valueLoss")).toBeLessThan((0.2 * mean("reward") ** 2) / 2);
  const [before, after] = sampledEvaluations(folder);
  expect(after.reward.mean).toBeGreaterThan(before.reward.mean + 0.1);
});

test("an entropy bonus holds the policy's entropy up", async () => {
  const entropyAtTheEnd = async (entropyCoef: number) => {
    const folder = newFolder();
    await work(folder, { config: { algorithm: { kind: "grpo", entropyCoef }, steps: 20, evaluation: { tasks: 0 } } });
    return Number(readMetrics(folder).at(-1)?.metrics.entropy);
  };
  expect(await entropyAtTheEnd(1)).toBeGreaterThan((await entropyAtTheEnd(0)) + 0.2);
});

test("every step measures the gap, the weight versions and what the algorithm reports", async () => {
  const folder = newFolder();
  await work(folder);
  for (const { step, metrics } of readMetrics(folder)) {
    expect(metrics.samplerGapMax, `step ${step}`).toBe(0);
    expect(metrics.samplerGapTokens).toBeGreaterThan(4);
    expect(metrics.staleTurns).toBe(0);
    expect(metrics.episodes).toBe(16);
    expect(metrics.turns).toBeLessThanOrEqual(2);
    expect(metrics).toHaveProperty("groupsWithoutSignal");
    expect(metrics).toHaveProperty("gradientNorm");
  }
});

test("every metric of a step is explained, in the table of runs or in that of updates", async () => {
  const folder = newFolder();
  await work(folder);
  const page = readFileSync(join(import.meta.dirname, "../../docs/runs.md"), "utf8");
  for (const name of Object.keys(readMetrics(folder)[0].metrics))
    if (!(name in updateMetrics)) expect(page, name).toContain(`\`${name.replace(/\/.*/, "/…")}\``);
});

test("only checkpoints, records and the model are left in the folder", async () => {
  const folder = newFolder();
  await work(folder);
  // messages.jsonl is there where something was announced.
  expect(
    readdirSync(folder)
      .filter((name) => name !== "messages.jsonl")
      .sort(),
  ).toEqual([
    "checkpoints",
    "credits",
    "evaluations",
    "index.jsonl",
    "metrics.jsonl",
    "model",
    "run.json",
    "summary.json",
    "timing.jsonl",
    "trajectories",
  ]);
  expect(checkpointSteps(folder)).toEqual([6, 7]);
});
