import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { optionsDoor } from "../core/door.ts";
import { ConfigError, RunError } from "../core/errors.ts";
import { sampledTokens, type Trajectory } from "../core/trajectory.ts";
import type { Environment, Task } from "../environments/environment.ts";
import { whileOpen } from "../environments/lifetime.ts";
import { codeDigests } from "../files/code-digests.ts";
import { guarded } from "../guard/guarded.ts";
import type { HubEvent } from "../hub/fetch.ts";
import type { Decoding, EvaluationRecord } from "../runs/records.ts";
import { lockRun } from "../runs/run-lock.ts";
import { newRunFolder } from "../runs/write.ts";
import { filesOf } from "../training/config/config-file.ts";
import type { TrainingConfig } from "../training/config/settings.ts";
import { checkSplit, evaluationTasks } from "../training/config/tasks.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { compareOutcomes, type OutcomeComparison, outcomesOf } from "../training/evaluation/compare.ts";
import { requireComparable } from "../training/evaluation/differing.ts";
import { decodingPlans, evaluate as play } from "../training/evaluation/evaluate.ts";
import {
  askedOf,
  decodingsOf,
  type EvaluationReport,
  episodesOf,
  evaluationsFolder,
  finishEvaluation,
  keepEpisode,
  openEvaluation,
  readAsked,
  scoredIn,
  unfinishedEvaluation,
} from "../training/evaluation/folder.ts";
import { findPlayer, type OpenPlayer, type Player } from "./player.ts";
import { environmentOf, resolvePlayed } from "./run-environment.ts";

/** Events of an evaluation, in their order. */
export type EvaluationEvent =
  | {
      readonly type: "started";
      readonly folder: string;
      readonly player: string;
      readonly environment: string;
      readonly split: string;
      readonly tasks: number;
    }
  | { readonly type: "notice"; readonly message: string }
  | { readonly type: "warning"; readonly message: string }
  | { readonly type: "played"; readonly done: number; readonly total: number; readonly tokens: number };

export interface EvaluateOptions {
  /** Continues the evaluation in `out`, or else the newest one that has not finished. Default false. */
  readonly resume?: boolean;
  /** Ends the evaluation; episodes that have ended are kept. */
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: EvaluationEvent) => void;
  /** Downloads the model while it shows the progress. Default: shows nothing. */
  readonly download?: (fetch: (onDownload: (event: HubEvent) => void) => Promise<string>) => Promise<string>;
  /** Returns the report for people. Default: an empty one. */
  readonly page?: (report: EvaluationReport, trajectories: readonly Trajectory[]) => string;
}

/** A finished evaluation. */
export interface Evaluated {
  /** Absolute. It holds report.json and every episode. */
  readonly folder: string;
  readonly report: EvaluationReport;
  readonly trajectories: readonly Trajectory[];
}

const checkOptions = optionsDoor<EvaluateOptions>("evaluate", {
  ...{ resume: true, signal: true, onEvent: true, download: true, page: true },
});

/**
 * Evaluates a model on tasks of a split, greedily and sampled. Every episode is written as it ends. The model is one of this machine or, with
 * `evaluation.player`, one behind a chat endpoint.
 * @param user as for `train`; `evaluation` says which tasks, how many attempts and at which temperature
 * @throws ConfigError, ModelError, EngineError, EnvError; RunError if it was interrupted
 * @example
 * const { report } = await evaluate({ environment: "office", model: "runs/office-seeupo-1", evaluation: { tasks: 64 } });
 */
export async function evaluate(user: UserConfig = {}, options: EvaluateOptions = {}): Promise<Evaluated> {
  checkOptions({ ...options });
  return evaluateConfig(resolvePlayed(user, {}), user, options);
}

/** As `evaluate`, from a configuration that is resolved already. */
export async function evaluateConfig(
  config: TrainingConfig,
  user: UserConfig,
  options: EvaluateOptions = {},
): Promise<Evaluated> {
  const { signal: outer, onEvent = () => {}, download = (fetch) => fetch(() => {}) } = options;
  const environment = environmentOf(config, user);
  await checkSplit(environment, "evaluation.split", config.evaluation.split);
  if (config.evaluation.tasks === 0) throw new ConfigError("evaluation.tasks", 0, { expected: "at least one task to evaluate" });
  const player = await findPlayer(config, process.env, download);
  const guards = {
    limitMs: config.rollout.episodeTimeoutMs,
    subject: "eval",
    advice: "Mend the code. Episodes that have ended are kept: the same command with --resume continues.",
    warn: (message: string) => onEvent({ type: "warning", message }),
    signal: outer,
  };
  return guarded(guards, (signal) =>
    whileOpen(environment, { timeoutMs: guards.limitMs, signal }, (opened) =>
      evaluateInto({ config, environment: opened, source: environment, player, options, signal, onEvent }),
    ),
  );
}

interface Opened {
  readonly config: TrainingConfig;
  readonly environment: Environment;
  /** The environment as the configuration gave it. */
  readonly source: Environment;
  readonly player: Player;
  readonly options: EvaluateOptions;
  /** Aborted by the caller, or by a failure of other people's code. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: EvaluationEvent) => void;
}

/** Plays into a folder, which it locks. */
async function evaluateInto(opened: Opened): Promise<Evaluated> {
  const { config, environment, player, options, onEvent } = opened;
  const started = performance.now();
  const { split, tasks: wanted, k } = config.evaluation;
  const tasks = await evaluationTasks(environment, split, wanted);
  const asked = askedOf(config, player.identity, tasks, codeDigests(filesOf(opened.source)));
  const folder = resolve(folderOf(config, asked.model, options.resume === true));
  const lock = lockRun(folder);
  let open: OpenPlayer | undefined;
  try {
    const begun = openEvaluation(folder, asked, options.resume === true);
    const { actor, notices } = (open = await player.open(environment).catch((error: unknown) => {
      if (begun) rmSync(folder, { recursive: true }); // nothing was played
      throw error;
    }));
    onEvent({ type: "started", folder, player: player.name, environment: environment.name, split, tasks: tasks.length });
    for (const message of notices) onEvent({ type: "notice", message });
    const results: Awaited<ReturnType<typeof playOne>>[] = [];
    for (const plan of decodingPlans(config.evaluation, k)) results.push(await playOne(opened, actor, folder, tasks, plan));
    const trajectories = results.flatMap((result) => result.trajectories);
    const records = results.map(({ record }) => record);
    const page = (written: EvaluationReport) => options.page?.(written, trajectories) ?? "";
    const seconds = (performance.now() - started) / 1000;
    const report = finishEvaluation(folder, records, seconds, page);
    return { folder, report, trajectories };
  } finally {
    await open?.dispose();
    lock.release();
  }
}

/** Plays every attempt with one decoding. */
async function playOne(
  { config, environment, options: { signal: outer }, signal, onEvent }: Opened,
  actor: OpenPlayer["actor"],
  folder: string,
  tasks: readonly Task[],
  { decoding, temperature, k }: { readonly decoding: Decoding; readonly temperature: number; readonly k: number },
): Promise<{ readonly record: EvaluationRecord; readonly trajectories: readonly Trajectory[] }> {
  const played = scoredIn(folder, decoding);
  const total = tasks.length * k - played.size;
  let [done, tokens] = [0, 0];
  onEvent({ type: "played", done, total, tokens });
  const { split, tasks: wanted } = config.evaluation;
  const result = await play(actor, environment, {
    ...{ when: "after", step: 0, split, tasks: wanted, k, temperature },
    ...{ rollout: config.rollout, seed: config.seed, played, signal },
    onTrajectory: (trajectory) => {
      keepEpisode(folder, decoding, trajectory);
      tokens += trajectory.turns.reduce((sum, turn) => sum + sampledTokens(turn), 0);
      onEvent({ type: "played", done: ++done, total, tokens });
    },
  }).catch((error: unknown) => {
    requireGoingOn(folder, outer, signal);
    throw error;
  });
  requireGoingOn(folder, outer, signal);
  return result;
}

/** @throws RunError if the caller has ended the evaluation; the failure that has ended it otherwise */
function requireGoingOn(folder: string, outer: AbortSignal | undefined, signal: AbortSignal): void {
  if (outer?.aborted)
    throw new RunError(folder, "interrupted", { hint: "Episodes that have ended are kept: `resume` continues with them." });
  signal.throwIfAborted();
}

function folderOf({ out, environment }: TrainingConfig, model: string, resume: boolean): string {
  if (out !== undefined) return out;
  if (!resume)
    return newRunFolder(evaluationsFolder, `${environment.name}-${model.split(/[/\\@]/).findLast(Boolean) ?? "model"}`);
  const unfinished = unfinishedEvaluation(evaluationsFolder);
  if (unfinished !== undefined) return unfinished;
  throw new RunError("--resume", evaluationsFolder, {
    expected: "a folder with an unfinished evaluation",
    hint: "Name the evaluation's folder with --out, or start a new one without --resume.",
  });
}

/** The paired difference of two evaluations with one decoding, second minus first. */
export interface Comparison extends OutcomeComparison {
  readonly decoding: Decoding;
}

/** Two evaluations, task by task. */
export interface Comparisons {
  /** In words, the settings that differ and make the comparison one of more than the models. */
  readonly differs: readonly string[];
  readonly comparisons: readonly Comparison[];
}

/**
 * Compares two evaluations of the same tasks, task by task, second minus first.
 * @param a the folder of an evaluation, or what `evaluate` returned
 * @throws ConfigError if they are not of the same tasks and decoding
 * @example
 * const [{ success }] = compare("evaluations/base", "evaluations/trained").comparisons;
 */
export function compare(a: string | Evaluated, b: string | Evaluated): Comparisons {
  const folderOf = (side: string | Evaluated) => (typeof side === "string" ? side : side.folder);
  const [first, second] = [folderOf(a), folderOf(b)];
  const [asked, other] = [readAsked(first), readAsked(second)];
  const differs = requireComparable(asked, other);
  const shared = decodingsOf(second);
  const comparisons = decodingsOf(first)
    .filter((decoding) => shared.includes(decoding))
    .map((decoding) => {
      const outcomes = (folder: string) => outcomesOf(episodesOf(folder, decoding));
      return { decoding, ...compareOutcomes(outcomes(first), outcomes(second), asked.seed, [first, second]) };
    });
  return { differs, comparisons };
}
