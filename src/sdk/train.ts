import { resolve } from "node:path";
import { factsOf } from "../algorithms/algorithms.ts";
import { withinTime } from "../core/deadline.ts";
import { optionsDoor } from "../core/door.ts";
import { ConfigError, RunError } from "../core/errors.ts";
import type { Engine } from "../engines/engine.ts";
import { engineKind } from "../engines/registry.ts";
import type { Environment } from "../environments/environment.ts";
import { whileOpen } from "../environments/lifetime.ts";
import { guarded } from "../guard/guarded.ts";
import type { HubEvent } from "../hub/fetch.ts";
import { createRewards } from "../rewards/create.ts";
import type { RewardPart } from "../rewards/reward.ts";
import { layout, runsFolder } from "../runs/layout.ts";
import { appendMessage } from "../runs/live.ts";
import { listRuns, readSummary } from "../runs/read.ts";
import type { Summary } from "../runs/records.ts";
import { lockRun } from "../runs/run-lock.ts";
import { keepTokenizer } from "../runs/tokenizer-files.ts";
import {
  carryEvaluations,
  createRun,
  newRunFolder,
  removeIfEmpty,
  reopenRun,
  requireFree,
  requireSameParts,
  requireSameRun,
} from "../runs/write.ts";
import { showProgress } from "../terminal/display.ts";
import { plural } from "../terminal/format.ts";
import { listenForInterrupt } from "../terminal/interrupt.ts";
import { shownPath } from "../terminal/invocation.ts";
import { createScreen } from "../terminal/screen.ts";
import { checkEnvironment, checkOpened } from "../training/checks.ts";
import { requireCapabilities } from "../training/config/capabilities.ts";
import { resolveConfig, rewardsFromCode } from "../training/config/config.ts";
import type { TrainingConfig } from "../training/config/settings.ts";
import { withOnlySplit } from "../training/config/tasks.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import type { OnEvent, TrainingEvent } from "../training/record/events.ts";
import { train as trainWith } from "../training/trainer.ts";
import { codeAndData, type MadeOf, tasksOf } from "./made-of.ts";
import { findModel, type Model, modelFolder, openChat, openModel, samplingUse, trainingUse } from "./model.ts";
import { environmentOf, wholeConfig, withRunEnvironment } from "./run-environment.ts";

export interface PlanOptions {
  /** Settings above those of the configuration. */
  readonly flags?: UserConfig;
  /** Continue the run in `out`, or the newest that has not finished, under the configuration that it recorded. */
  readonly resume?: boolean;
  /** Continue also over tasks, data or code that have changed since the run began. Default false. */
  readonly allowChanged?: boolean;
}

/** A run that can begin: all that can be known before anything is loaded has been checked. */
export interface RunPlan {
  readonly config: TrainingConfig;
  readonly environment: Environment;
  /** The parts that the reward is made of; none where it is the environment's. */
  readonly rewards: readonly RewardPart[];
  /** Absolute: a tool may change the current folder. */
  readonly folder: string;
  readonly resume: boolean;
  readonly allowChanged: boolean;
  /** Digests of code and conversations. */
  readonly madeOf: MadeOf;
  /** Warnings about the configuration, shown when the run begins. */
  readonly warnings: readonly string[];
  /** A finished run whose model this one begins with: what was measured of it at its end is not measured again. */
  readonly measured?: string;
}

/**
 * Checks all that this machine knows of a run. Nothing is downloaded or opened.
 * @throws ConfigError naming the first setting that is wrong
 * @throws RunError if the run's folder does not fit: taken by another run or by other files, or nothing to resume
 */
export async function planRun(user: UserConfig = {}, options: PlanOptions = {}): Promise<RunPlan> {
  const { flags = {}, resume = false, allowChanged = false } = options;
  const resumed = resume ? resolve(flags.out ?? user.out ?? newestUnfinished()) : undefined;
  const chosen = resumed === undefined ? resolveConfig(withRunEnvironment(user, flags), flags) : continuedConfig(resumed, flags);
  const plan = await planned(chosen, [user, flags]);
  const { algorithm, out } = plan.config;
  if (resumed === undefined && out !== undefined) requireFree(out);
  const folder = resumed ?? resolve(out ?? newRunFolder(runsFolder, `${plan.environment.name}-${algorithm.kind}`));
  try {
    return { ...plan, allowChanged, rewards: rewardsOf(plan.config, user, folder), folder, resume };
  } catch (error) {
    if (resumed === undefined && out === undefined) removeIfEmpty(folder);
    throw error;
  }
}

/** The configuration of a run that continues. @throws ConfigError if a flag changes what its numbers depend on */
function continuedConfig(folder: string, flags: UserConfig): TrainingConfig {
  const recorded = wholeConfig(folder);
  const config = resolveConfig(recorded, flags);
  requireSameRun(folder, config, recorded);
  return config;
}

type OnDownload = (event: HubEvent) => void;

/** The folders of a run's models, fetched where they are not here. @throws ConfigError for a second model with other tokens */
async function modelFolders(config: TrainingConfig, onDownload?: OnDownload): Promise<[string, string?]> {
  const folder = await modelFolder(config, onDownload, trainingUse(config));
  const { model } = factsOf(config.algorithm);
  if (model === undefined) return [folder];
  const setting = `algorithm.${model.setting}`;
  const use = samplingUse(config);
  const otherFolder = await modelFolder({ ...config, model: model.name }, onDownload, use).catch((error: unknown) => {
    if (!(error instanceof ConfigError) || error.subject !== "model") throw error;
    throw new ConfigError(setting, model.name, error);
  });
  const [own, other] = [folder, otherFolder].map((of) => openChat(of).tokenizer.vocabulary.tokens);
  for (const [id, token] of own ?? [])
    if (other?.get(id) !== token)
      throw new ConfigError(setting, model.name, {
        expected: `a model with the tokens of ${config.model}: its token ${id} is ${JSON.stringify(other?.get(id))}, not ${JSON.stringify(token)}`,
        hint: "It scores ids: choose a model of the same family.",
      });
  return [folder, otherFolder];
}

/** Checks all that can be known of a run without a model, its download or a folder. @throws ConfigError as `planRun` */
export async function checkPlan(user: UserConfig): Promise<Pick<RunPlan, "config" | "environment">> {
  return planned(resolveConfig(user), [user, {}]);
}

export interface TrainOptions {
  readonly onEvent?: OnEvent;
  /** Ends the run cleanly; it can be resumed. */
  readonly signal?: AbortSignal;
}

export interface RunOptions extends TrainOptions {
  /** Has the models fetched, and may show how far that is. */
  readonly download?: <T>(fetch: (onDownload?: OnDownload) => Promise<T>) => Promise<T>;
}

/**
 * Trains as planned. The models are downloaded first if they are on the Hub.
 * @param open makes the engine, where it is not to be the configuration's alone
 * @throws RunError when interrupted; ModelError, EngineError or EnvError where these fail
 */
export async function runPlan(plan: RunPlan, options: RunOptions = {}, open = openModel): Promise<Summary> {
  const { onEvent, signal, download = (fetch) => fetch() } = options;
  const { config, folder } = plan;
  const lock = lockRun(folder);
  const guards = {
    limitMs: config.rollout.episodeTimeoutMs,
    subject: folder,
    advice: `Mend the code, then continue from the last checkpoint: --resume --out ${folder}`,
    messages: layout.messages(folder),
    warn: (message: string) => warnOfRun(folder, message, onEvent),
    signal,
  };
  try {
    const fetched = () => download((onDownload) => modelFolders(config, onDownload));
    const [modelFolder, otherFolder] = await withinTime(fetched, Number.POSITIVE_INFINITY, signal);
    return await guarded(guards, async (either) => {
      const use = { use: trainingUse(config), seed: config.seed };
      const model = await open(modelFolder, config.engine, use, config.chat);
      const other =
        otherFolder === undefined
          ? undefined
          : await open(otherFolder, config.engine, { ...use, use: samplingUse(config) }, config.chat);
      try {
        return await trainOpened(plan, modelFolder, model, { onEvent, signal: either }, other?.engine);
      } finally {
        await other?.engine.dispose();
      }
    });
  } catch (error) {
    // Before the trainer began, which has its own error for it.
    if (signal?.aborted === true && isOf(error, signal.reason)) throw new InterruptedError(folder, error);
    throw error;
  } finally {
    lock.release();
    removeIfEmpty(folder);
  }
}

/** True for an error that another one is the cause of. */
function isOf(error: unknown, cause: unknown): boolean {
  return error === cause || (error instanceof Error && error.cause !== undefined && isOf(error.cause, cause));
}

async function trainOpened(
  { config, environment: world, rewards, folder, resume, allowChanged, madeOf: own, warnings, measured }: RunPlan,
  modelFolder: string,
  { engine, chat, device }: Model,
  { onEvent, signal }: TrainOptions,
  otherModel?: Engine,
): Promise<Summary> {
  try {
    return await whileOpen(world, { timeoutMs: config.rollout.episodeTimeoutMs, signal }, async (environment) => {
      const notices = await checkOpened(config, { engine, chat, environment, rewards }); // before there is a folder
      const tasks = await tasksOf(config, environment);
      const madeOf = { ...own, ...tasks.madeOf };
      const changed = resume ? requireSameParts(folder, madeOf, allowChanged) : undefined;
      if (resume) reopenRun(folder, config, wholeConfig(folder), (message) => warnOfRun(folder, message, onEvent));
      else createRun(folder, config, device, madeOf);
      for (const message of [...warnings, changed, tasks.shared]) if (message !== undefined) warnOfRun(folder, message, onEvent);
      if (measured !== undefined) carryEvaluations(measured, folder);
      await keepTokenizer(folder, modelFolder);
      if (device !== "cpu") onEvent?.({ type: "notice", message: `Computing on ${device}` });
      for (const message of notices) onEvent?.({ type: "notice", message });
      return trainWith({ config, engine, otherModel, chat, environment, rewards, folder, madeOf, onEvent, signal });
    });
  } finally {
    await engine.dispose();
  }
}

/** A warning before the trainer keeps the run's messages. */
function warnOfRun(folder: string, message: string, onEvent: OnEvent = () => {}): void {
  appendMessage(folder, { level: "warning", step: 0, message });
  onEvent({ type: "warning", message });
}

export interface CodeOptions extends PlanOptions, TrainOptions {
  /** Where the model is downloaded: how far that is. */
  readonly onDownload?: OnDownload;
  /** Whether progress is printed, as `retrograde-rl train` does. Default false. */
  readonly print?: boolean;
  /** Whether Ctrl-C and SIGTERM end the run cleanly, if no `signal` does. Default: as `print`. */
  readonly interruptible?: boolean;
}

/** A run was interrupted before its first step: while its model, environment or rewards were opened. */
export class InterruptedError extends RunError {
  constructor(folder: string, cause: unknown) {
    super(folder, "interrupted", { hint: "It had not begun, and nothing in its folder was changed.", cause });
  }
}

export interface TrainedRun {
  /** Absolute. */
  readonly folder: string;
  readonly summary: Summary;
}

const checkOptions = optionsDoor<CodeOptions>("train", {
  ...{ flags: true, resume: true, allowChanged: true, onDownload: true, onEvent: true, signal: true },
  ...{ print: true, interruptible: true },
});

/**
 * Trains from a configuration, all in one. With `print` it prints its progress, and Ctrl-C keeps the finished steps; `resume: true` continues.
 * @example
 * const { folder, summary } = await train({ algorithm: "grpo", steps: 5 });
 * @throws ConfigError, ModelError, RunError, EngineError, EnvError; RunError when interrupted
 */
export async function train(user: UserConfig = {}, options: CodeOptions = {}): Promise<TrainedRun> {
  checkOptions({ ...options });
  return runPrinted(await planRun(user, options), options);
}

/**
 * Runs a plan as `train` does: with its progress, and interruptible, as the options say.
 * @param open as `runPlan` takes it
 */
export async function runPrinted(plan: RunPlan, options: CodeOptions, open = openModel): Promise<TrainedRun> {
  const { print = false, interruptible = print, onEvent, onDownload } = options;
  const screen = createScreen(print ? process.stdout : { write: () => true });
  screen.line(openingLine(plan));
  screen.line(`Run: ${shownPath(plan.folder)}`);
  const display = showProgress(screen, episodesPerStep(plan.config));
  const { isSaving } = display;
  const listens = interruptible && options.signal === undefined;
  const interrupt = listens ? listenForInterrupt(() => screen.clear(), { isSaving }) : undefined;
  try {
    const tell = (event: TrainingEvent) => {
      display.onEvent(event);
      onEvent?.(event);
    };
    const signal = options.signal ?? interrupt?.signal;
    const summary = await runPlan(plan, { onEvent: tell, signal, download: (fetch) => fetch(onDownload) }, open);
    return { folder: plan.folder, summary };
  } finally {
    display.stop();
    interrupt?.release();
  }
}

export interface SftConfig extends Omit<UserConfig, "algorithm"> {
  /** Conversations in JSONL. Default: demonstrations by the environment's expert. */
  readonly data?: string;
  /** Tokens of conversations in a step. Default 2000. */
  readonly tokensPerStep?: number;
}

/**
 * Supervised fine-tuning from code: as `train`, on conversations instead of rollouts.
 * @example
 * const { folder } = await sft({ data: "conversations.jsonl", model: "Qwen/Qwen3-0.6B", steps: 50 });
 */
export function sft({ data, tokensPerStep, ...user }: SftConfig = {}, options: CodeOptions = {}): Promise<TrainedRun> {
  return train({ ...user, algorithm: { kind: "sft", data, tokensPerStep } }, options);
}

/** Returns a description of a run in one line. */
export function openingLine({ config, environment, resume }: Pick<RunPlan, "config" | "environment" | "resume">): string {
  const { algorithm, model, rollout, steps } = config;
  const size =
    algorithm.kind === "sft"
      ? `about ${algorithm.tokensPerStep} tokens of ${algorithm.data ?? "the expert's demonstrations"}`
      : `${plural(rollout.tasksPerStep, "task")} × ${rollout.groupSize} rollouts`;
  const what = `${resume ? "Continuing" : "Training"} ${model === "default" ? "the default model" : model}`;
  return `${what} in "${environment.name}" by ${algorithm.kind}: ${plural(steps, "step")} of ${size}`;
}

export function episodesPerStep({ algorithm, rollout }: TrainingConfig): number {
  return algorithm.kind === "sft" ? 0 : rollout.tasksPerStep * rollout.groupSize;
}

async function planned(
  resolved: TrainingConfig,
  written: readonly [UserConfig, UserConfig],
): Promise<Pick<RunPlan, "config" | "environment" | "warnings" | "madeOf">> {
  const { player } = resolved.evaluation;
  if (player !== undefined)
    throw new ConfigError("evaluation.player", player.baseUrl, {
      expected: "none where a model is trained: it plays its own evaluations",
      hint: "A chat endpoint gives messages and no tokens: `retrograde-rl eval` measures it, and nothing trains it.",
    });
  const environment = environmentOf(resolved, written[0]);
  const { config, warnings } = withOnlySplit(resolved, environment, written);
  await checkEnvironment(config, environment);
  // Those of the engine that only its opening shows are checked then.
  requireCapabilities(config, {
    name: `the engine "${config.engine.kind}"`,
    capabilities: engineKind(config.engine).capabilities(config.engine).possible,
  });
  findModel(config);
  return { config, environment, warnings, madeOf: await codeAndData(config, environment, written[0]) };
}

/** @throws ConfigError where a judge's key or a reward from code is missing */
function rewardsOf(config: TrainingConfig, user: UserConfig, folder: string): RewardPart[] {
  const code = rewardsFromCode(user);
  const timeoutMs = config.rollout.episodeTimeoutMs;
  const context = { code, limits: config.limits, timeoutMs, folder, env: process.env };
  return createRewards(config.rewards ?? [], context);
}

function isFinished(folder: string): boolean {
  try {
    return readSummary(folder) !== undefined;
  } catch {
    return true; // a damaged summary: it was finished once
  }
}

function newestUnfinished(): string {
  const run = listRuns(runsFolder).runs.find(({ folder }) => !isFinished(folder));
  if (run !== undefined) return run.folder;
  throw new RunError("--resume", runsFolder, {
    expected: "a folder with an unfinished run",
    hint: "Name the run's folder with --out, or start a new run without --resume.",
  });
}
