import { ConfigError, RunError } from "../core/errors.ts";
import type { Environment } from "../environments/environment.ts";
import { whileOpen } from "../environments/lifetime.ts";
import { createEnvironment } from "../environments/registry.ts";
import type { HubEvent } from "../hub/model.ts";
import { createRewards } from "../rewards/create.ts";
import type { RewardPart } from "../rewards/reward.ts";
import { type ControlRecord, readControl, recordControl } from "../runs/control.ts";
import { runsFolder } from "../runs/layout.ts";
import { listRuns, readRun, readSummary } from "../runs/read.ts";
import type { Summary } from "../runs/records.ts";
import { keepTokenizer } from "../runs/tokenizer-files.ts";
import { createRun, newRunFolder, reopenRun, requireFree, requireSameRun } from "../runs/write.ts";
import { checkBranching } from "../training/branching.ts";
import { requireCapabilities } from "../training/capabilities.ts";
import {
  isEnvironment,
  resolveConfig,
  rewardsFromCode,
  rolloutAlgorithms,
  type TrainingConfig,
  type UserConfig,
} from "../training/config.ts";
import type { OnEvent } from "../training/events.ts";
import { checkSplits } from "../training/tasks.ts";
import { train as trainWith } from "../training/trainer.ts";
import { requireTurnRewards } from "../training/turn-rewards.ts";
import { findModel, modelFolder, openModel, trainingUse } from "./model.ts";

export interface PlanOptions {
  /** Settings above those of the configuration. */
  readonly flags?: UserConfig;
  /** Continue the run in `out`, or the newest that has not finished, under the configuration that it recorded. */
  readonly resume?: boolean;
  /** Start a new run under the configuration of the run in this folder, with the changes that were made to it while it went on. */
  readonly replay?: string;
  /** Where the model is downloaded: how far that is. */
  readonly onDownload?: (event: HubEvent) => void;
}

/** A run that can begin: all that can be known before anything is loaded has been checked. */
export interface RunPlan {
  readonly config: TrainingConfig;
  readonly environment: Environment;
  /** What the reward is made of; none where it is the environment's. */
  readonly rewards: readonly RewardPart[];
  readonly folder: string;
  readonly modelFolder: string;
  readonly resume: boolean;
  /** Changes of the learning rate that a replayed run makes again, at the same steps. */
  readonly replayed: readonly ControlRecord[];
}

/**
 * Checks all that can be known, then downloads the model if it is on the Hub.
 * @throws ConfigError naming the first setting that is wrong
 * @throws ModelError if the model cannot be downloaded
 * @throws RunError if the run's folder does not fit: taken by another run or by other files, or nothing to resume
 */
export async function planRun(user: UserConfig = {}, options: PlanOptions = {}): Promise<RunPlan> {
  const { flags = {}, resume = false, replay, onDownload } = options;
  if (resume) {
    const folder = flags.out ?? user.out ?? newestUnfinished();
    const recorded = recordedConfig(folder);
    const config = resolveConfig(recorded, flags);
    requireSameRun(folder, config, recorded);
    const plan = { ...(await planned(config, user)), rewards: rewardsOf(config, user, folder), folder, resume, replayed: [] };
    return { ...plan, modelFolder: await modelFolder(config, onDownload, trainingUse(config)) };
  }
  const plan = await planned(replay === undefined ? resolveConfig(user, flags) : replayedConfig(replay, flags), user);
  const { algorithm, out } = plan.config;
  const folder = out ?? newRunFolder(runsFolder, `${plan.environment.name}-${algorithm.kind}`);
  requireFree(folder);
  const rewards = rewardsOf(plan.config, user, folder);
  const replayed = replay === undefined ? [] : readControl(replay).filter(({ request }) => request.action === "learning-rate");
  const found = await modelFolder(plan.config, onDownload, trainingUse(plan.config));
  return { ...plan, rewards, folder, resume, replayed, modelFolder: found };
}

export interface TrainOptions {
  readonly onEvent?: OnEvent;
  /** Ends the run cleanly; it can be resumed. */
  readonly signal?: AbortSignal;
}

/** Trains as planned. @throws RunError when interrupted; ModelError, EngineError or EnvError where these fail */
export async function runPlan(plan: RunPlan, { onEvent, signal }: TrainOptions = {}): Promise<Summary> {
  const { config, environment, rewards, folder, modelFolder, resume } = plan;
  const { engine, chat, device } = await openModel(
    modelFolder,
    config.engine,
    { use: trainingUse(config), seed: config.seed },
    config.chat,
  );
  try {
    requireCapabilities(config, engine.info); // before there is a folder
    return await whileOpen(environment, async () => {
      await checkBranching(config, environment);
      if (resume) reopenRun(folder, config, recordedConfig(folder));
      else createRun(folder, config, device);
      await keepTokenizer(folder, modelFolder);
      for (const { step, request } of resume ? [] : plan.replayed) recordControl(folder, step, request);
      if (device !== "cpu") onEvent?.({ type: "notice", message: `Computing on ${device}` });
      return trainWith({ config, engine, chat, environment, rewards, folder, onEvent, signal });
    });
  } finally {
    await engine.dispose();
  }
}

/**
 * A run from a configuration, all in one.
 * @example
 * const { folder, summary } = await train({ algorithm: "grpo", steps: 5 });
 */
export async function train(
  user: UserConfig = {},
  options: PlanOptions & TrainOptions = {},
): Promise<{ folder: string; summary: Summary }> {
  const plan = await planRun(user, options);
  return { folder: plan.folder, summary: await runPlan(plan, options) };
}

async function planned(config: TrainingConfig, user: UserConfig): Promise<Pick<RunPlan, "config" | "environment">> {
  if (config.algorithm.kind === "sft")
    throw new ConfigError("algorithm.kind", "sft", {
      expected: rolloutAlgorithms,
      hint: "sft learns from demonstrations, not from rollouts: recipes/make-model.ts shows how.",
    });
  const environment = environmentOf(config, user);
  await checkSplits(environment, config);
  requireTurnRewards(config, environment);
  findModel(config);
  return { config, environment };
}

/** @throws ConfigError where a judge's key or a reward from code is missing */
function rewardsOf(config: TrainingConfig, user: UserConfig, folder: string): RewardPart[] {
  const surroundings = { code: rewardsFromCode(user), limits: config.limits, folder, env: process.env };
  return createRewards(config.rewards ?? [], surroundings);
}

/** The user's own environment, unless a flag names another. @throws ConfigError if there is none of that name */
export function environmentOf({ environment: { name, settings } }: TrainingConfig, { environment }: UserConfig): Environment {
  return isEnvironment(environment) && environment.name === name ? environment : createEnvironment(name, settings);
}

/** The configuration that a run recorded, with settings that were added or moved since filled in. */
function recordedConfig(folder: string): TrainingConfig {
  return resolveConfig(readRun(folder).config as UserConfig);
}

/** The recorded configuration without its folder. */
function replayedConfig(folder: string, flags: UserConfig): TrainingConfig {
  const { out: _, ...recorded } = readRun(folder).config;
  return resolveConfig(recorded as UserConfig, flags);
}

function newestUnfinished(): string {
  const run = listRuns(runsFolder).find(({ folder }) => readSummary(folder) === undefined);
  if (run !== undefined) return run.folder;
  throw new RunError("--resume", runsFolder, {
    expected: "a folder with an unfinished run",
    hint: "Name the run's folder with --out, or start a new run without --resume.",
  });
}
