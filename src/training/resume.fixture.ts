import "../../test/office.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { lookingChat, lookingEnvironment } from "../../test/arpo-world.ts";
import { duelEnvironment, environmentSilentFor, lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import type { Environment } from "../environments/environment.ts";
import { layout } from "../runs/layout.ts";
import { checkpointSteps, readEvaluations, readMetrics, readTrajectories } from "../runs/read.ts";
import { createRun, reopenRun } from "../runs/write.ts";
import { resolveConfig } from "./config/config.ts";
import type { UserConfig } from "./config/user-config.ts";
import type { TrainingEvent } from "./record/events.ts";
import { train } from "./trainer.ts";

/** The event at which a run is killed: its number, a share of all events, so many before the last, or the first that fits. */
export type Kill = number | { readonly share: number } | ((event: TrainingEvent) => boolean);

interface Kind {
  readonly config: UserConfig;
  readonly environment?: () => Environment;
  readonly chat?: typeof lettersChat;
  readonly kills: readonly Kill[];
  /** After so many events of what continues, it is killed again. */
  readonly again?: number;
  /** The checkpoints that the first kill leaves. */
  readonly kept?: readonly number[];
}

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
const critic = { algorithm: { kind: "ppo", miniBatches: 2, epochs: 2 }, optimizer: { learningRate: 0.02 } } as const;
const steppedThird = (event: TrainingEvent) => event.type === "stepped" && event.record.step === 3;
const firstCheckpoint = (event: TrainingEvent) => event.type === "checkpointed" && event.step === 1;

/** Rollouts that are sampled ahead of the updates. */
const ahead = (steps: number, more: UserConfig = {}): Kind => ({
  config: { evaluation: { tasks: 0 }, steps: 6, ...more, rollout: { tasksPerStep: 3, ahead: steps } },
  kills: [3, { share: 0.45 }, { share: 0.7 }, -4],
});

/** Every kind of run whose state differs. */
export const kinds = {
  "seeupo, with evaluations": { config: {}, kills: [2, 9, 30, 90, 155, { share: 0.7 }, -20, -1], again: 60 },
  "ppo with its critic": {
    config: { ...critic, algorithm: { ...critic.algorithm, advantage: { gamma: 1, lambda: 1 } } },
    kills: [2, { share: 0.5 }, { share: 0.7 }, -20],
  },
  "dapo, which samples until groups differ": {
    config: {
      algorithm: { kind: "dapo", dynamicSampling: { maxBatches: 4 } },
      rollout: { groupSize: 3 },
      optimizer: { learningRate: 0.05 },
      ...{ evaluation: { tasks: 0 }, steps: 5, checkpoint: { every: 2 } },
    },
    environment: () => environmentSilentFor(["a"]),
    kills: [steppedThird],
    kept: [1, 2],
  },
  "grpo, with two roles": {
    config: { algorithm: "grpo", rollout: { tasksPerStep: 3, groupSize: 4, maxTurns: 4 }, evaluation: { tasks: 2 }, steps: 4 },
    ...{ environment: duelEnvironment, kills: [{ share: 0.6 }] },
  },
  "arpo, which branches": {
    config: {
      ...{ environment: "looking", algorithm: "arpo", evaluation: { tasks: 2, k: 2 }, checkpoint: { every: 1 }, steps: 3 },
      rollout: { tasksPerStep: 3, groupSize: 6, maxTokens: 12, maxTurns: 5 },
    },
    ...{ environment: lookingEnvironment, chat: lookingChat, kills: [firstCheckpoint], kept: [1] },
  },
  "seeupo, one ahead": ahead(1),
  "seeupo, three ahead": ahead(3),
  "grpo, two ahead, sequences masked": ahead(2, { algorithm: "grpo", correction: { level: "sequence", beyond: "mask" } }),
  "ppo with its critic, two ahead": ahead(2, critic),
  "dapo, two ahead, whose batches have no fixed size": ahead(2, {
    algorithm: { kind: "dapo", dynamicSampling: { maxBatches: 3 } },
  }),
} as const satisfies Readonly<Record<string, Kind>>;

/** Stands for a kill: nothing is written after it. */
class Killed extends Error {}

interface Process {
  readonly resume?: boolean;
  readonly at?: (event: TrainingEvent, number: number) => boolean;
}

/** What one process does: a fresh engine, and all else from the run's folder. @returns the number of events */
async function work({ config: changes, environment, chat = lettersChat }: Kind, folder: string, { resume, at }: Process = {}) {
  const config = resolveConfig(small, changes);
  if (resume) reopenRun(folder, config);
  else createRun(folder, config);
  const engine = new TableEngine(lettersVocabulary);
  let events = 0;
  const onEvent = (event: TrainingEvent) => {
    if (at?.(event, ++events) !== true) return;
    engine.saveState = () => Promise.reject(new Killed());
    throw new Killed();
  };
  await train({ config, engine, chat: chat(), environment: environment?.() ?? lettersEnvironment(), folder, onEvent });
  return events;
}

const newFolder = () => join(mkdtempSync(join(tmpdir(), "retrograde-resume-")), "run");
const contentsOf = (folder: string) => ({
  metrics: readFileSync(layout.metrics(folder), "utf8"),
  evaluations: readEvaluations(folder),
  model: readFileSync(join(layout.model(folder), "table.json"), "utf8"),
  trajectories: readMetrics(folder).map(({ step }) => readTrajectories(folder, step)),
});

/** Runs a kind to its end, and once for each kill up to there and on: both have to write the same. */
export async function expectSameAfter(name: keyof typeof kinds, chosen?: readonly Kill[]): Promise<void> {
  const kind: Kind = kinds[name];
  const whole = newFolder();
  const events = await work(kind, whole, { at: () => false });
  const uninterrupted = contentsOf(whole);
  for (const kill of chosen ?? kind.kills) {
    const number = typeof kill === "object" ? Math.floor(events * kill.share) : kill;
    const at = (event: TrainingEvent, seen: number) =>
      typeof number === "function" ? number(event) : seen >= (number < 0 ? events + number : number);
    const killed = newFolder();
    await expect(work(kind, killed, { at })).rejects.toThrow(Killed);
    if (kind.kept !== undefined) expect(checkpointSteps(killed)).toEqual(kind.kept);
    const again = kind.again ?? Number.POSITIVE_INFINITY;
    await work(kind, killed, { resume: true, at: (_, seen) => seen >= again }).catch((error) =>
      expect(error).toBeInstanceOf(Killed),
    );
    if (kind.again !== undefined) await work(kind, killed, { resume: true });
    const where = `${name}, killed at ${JSON.stringify(kill)} of ${events} events`;
    expect(contentsOf(killed).metrics, where).toBe(uninterrupted.metrics);
    expect(contentsOf(killed), where).toEqual(uninterrupted);
  }
}
