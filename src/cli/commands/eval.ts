import { rmSync } from "node:fs";
import { resolve } from "node:path";
import { CompletionError } from "../../completions/errors.ts";
import { ConfigError, RunError } from "../../core/errors.ts";
import { sampledTokens, type Trajectory } from "../../core/trajectory.ts";
import type { Environment } from "../../environments/environment.ts";
import { whileOpen } from "../../environments/lifetime.ts";
import type { Lock } from "../../files/lock.ts";
import { guarded } from "../../guard/guarded.ts";
import { lockRun } from "../../runs/run-lock.ts";
import { newRunFolder } from "../../runs/write.ts";
import { findPlayer } from "../../sdk/player.ts";
import { environmentOf, resolvePlayed } from "../../sdk/run-environment.ts";
import { plural } from "../../terminal/format.ts";
import { interruptedExitCode, listenForInterrupt } from "../../terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../terminal/invocation.ts";
import { advance, nothingYet, statusLine } from "../../terminal/progress.ts";
import type { Screen } from "../../terminal/screen.ts";
import type { TrainingConfig, UserConfig } from "../../training/config.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import { decodingPlans, evaluate } from "../../training/evaluation/evaluate.ts";
import {
  askedOf,
  type EvaluationReport,
  evaluationsFolder,
  finishEvaluation,
  keepEpisode,
  openEvaluation,
  playedIn,
  unfinishedEvaluation,
} from "../../training/evaluation/folder.ts";
import { judgeEvaluation } from "../../training/evaluation/judging.ts";
import { succeeded } from "../../training/rollout-metrics.ts";
import { checkSplit, evaluationTasks } from "../../training/tasks.ts";
import { episodeLines } from "../conversation.ts";
import { showDownload } from "../download.ts";
import { costLines, evaluationLines, reportPage, tableLines, unbegunNotes } from "../evaluation-lines.ts";
import { type JudgeFlags, judgeOf, type PricedJudge } from "../question-judge.ts";
import { evaluationFlags, type SettingValues, settingsOf } from "../settings.ts";

export interface EvalFlags extends SettingValues, JudgeFlags {
  readonly resume?: boolean;
  readonly json?: boolean;
  /** Two models, or folders of evaluations. */
  readonly compare?: readonly string[];
}

/** Measures a model on tasks of a split, or compares two. @returns the exit code */
export async function evalCommand(flags: EvalFlags, output: Screen, notes: Screen): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const screen = flags.json === true ? notes : output;
  const judge = judgeOf(flags, process.env);
  if (flags.compare !== undefined) {
    const { compareCommand } = await import("./eval-compare.ts");
    return compareCommand(flags.compare, flags, user, output, screen);
  }
  const config = resolvePlayed(user, settingsOf(evaluationFlags, flags));
  const measured = await measure(config, user, flags.resume === true, screen, judge);
  if (measured === undefined) return interruptedExitCode;
  if (flags.json === true) output.line(JSON.stringify({ folder: measured.folder, ...measured.report }, null, 2));
  else showEvaluation(measured, screen);
  return 0;
}

export interface Measured {
  readonly folder: string;
  readonly report: EvaluationReport;
  readonly trajectories: readonly Trajectory[];
}

/**
 * Evaluates a model into a folder, greedily and sampled; every episode is written as it ends.
 * @returns undefined if it was interrupted
 */
export async function measure(
  config: TrainingConfig,
  user: UserConfig,
  resume: boolean,
  screen: Screen,
  judge?: PricedJudge,
): Promise<Measured | undefined> {
  const world = environmentOf(config, user);
  if (judge !== undefined && world.answer === undefined)
    throw new ConfigError("--judge-endpoint", judge.baseUrl, {
      expected: "an environment of questions with known answers, such as hotpotqa",
      hint: `The environment "${world.name}" scores its own episodes.`,
    });
  const { split, tasks: wanted, k } = config.evaluation;
  await checkSplit(world, "evaluation.split", split);
  if (wanted === 0) throw new ConfigError("evaluation.tasks", 0, { expected: "at least one task to evaluate" });
  const player = await findPlayer(config, process.env, (fetch) => showDownload(config.model, screen, fetch));
  const interrupt = listenForInterrupt(() => screen.clear());
  const seconds = () => performance.now() / 1000;
  const started = seconds();
  let lock: Lock | undefined;
  try {
    const guards = {
      limitMs: config.rollout.episodeTimeoutMs,
      subject: "eval",
      advice: "Mend the code. Episodes that have ended are kept: the same command with --resume continues.",
      warn: (message: string) => screen.line(screen.paint.yellow(`warning: ${message}`)),
      signal: interrupt.signal,
    };
    const inWorld = (work: (environment: Environment, signal: AbortSignal) => Promise<Measured | undefined>) =>
      guarded(guards, (signal) =>
        whileOpen(world, { timeoutMs: guards.limitMs, signal }, (environment) => work(environment, signal)),
      );
    return await inWorld(async (environment, signal) => {
      const tasks = await evaluationTasks(environment, split, wanted);
      const asked = askedOf(config, player.identity, tasks);
      const folder = resolve(folderOf(config, asked.model, resume));
      lock = lockRun(folder);
      const begun = openEvaluation(folder, asked, resume);
      const { actor, notices, dispose } = await player.open(environment).catch((error: unknown) => {
        if (begun) rmSync(folder, { recursive: true }); // nothing was played
        throw error;
      });
      try {
        const plans = decodingPlans(config.evaluation, k);
        screen.line(`Evaluating ${player.name} in "${environment.name}": ${plural(tasks.length, `${split} task`)}`);
        for (const notice of notices) screen.line(notice);
        const results = [];
        for (const { decoding, temperature, k: attempts } of plans) {
          const played = playedIn(folder, decoding);
          const total = tasks.length * attempts;
          let progress = advance(
            nothingYet,
            { type: "phase", phase: "evaluate", step: 0, total: total - played.size },
            seconds(),
          );
          let tokens = 0;
          const result = await evaluate(actor, environment, {
            ...{ when: "after", step: 0, split, tasks: wanted, k: attempts, temperature },
            ...{ rollout: config.rollout, seed: config.seed, played, signal },
            onTrajectory: (trajectory) => {
              keepEpisode(folder, decoding, trajectory);
              tokens += trajectory.turns.reduce((sum, turn) => sum + sampledTokens(turn), 0);
              const done = progress.done + 1;
              progress = advance(
                progress,
                { type: "progress", phase: "evaluate", done, total: total - played.size, tokens },
                seconds(),
              );
              screen.status(statusLine(progress, seconds()));
            },
          });
          const judged =
            judge === undefined || interrupt.signal.aborted
              ? undefined
              : await judgeEvaluation(environment, tasks, result.trajectories, {
                  ...{ settings: judge, folder, seed: config.seed, signal: interrupt.signal },
                  onJudged: (done, all) => screen.status(`judging by ${judge.model}: ${done} of ${all} answers`),
                }).catch((error: unknown) => {
                  if (!interrupt.signal.aborted) throw error;
                  return undefined;
                });
          screen.clear();
          if (signal.aborted && !interrupt.signal.aborted) throw signal.reason;
          if (interrupt.signal.aborted) {
            screen.line(`Interrupted. Episodes that have ended are kept in ${shownPath(folder)}`);
            screen.line(`Continue: the same command with --resume --out ${quoted(shownPath(folder))}`);
            return undefined;
          }
          results.push(judged === undefined ? result : { ...result, record: { ...result.record, judged } });
        }
        const records = results.map(({ record }) => record);
        const prices = config.engine.kind === "openai" ? config.engine.prices : undefined;
        const trajectories = results.flatMap((result) => result.trajectories);
        const page = (written: EvaluationReport) => reportPage(written, unbegunNotes(trajectories));
        const report = finishEvaluation(folder, records, seconds() - started, page, prices, judge?.prices);
        return { folder, report, trajectories };
      } catch (error) {
        throw continuable(error, folder);
      } finally {
        await dispose();
      }
    });
  } finally {
    screen.clear();
    if (!interrupt.signal.aborted) interrupt.release(); // else its patience also ends what is left open
    lock?.release();
  }
}

/** An endpoint that fails in the end costs only the episodes in flight. */
function continuable(error: unknown, folder: string): unknown {
  if (!(error instanceof CompletionError)) return error;
  const { subject, value, expected, hint, failure } = error;
  return new CompletionError(subject, value, failure, {
    expected,
    hint: `${hint ?? ""} What is done is kept: the same command with --resume --out ${quoted(shownPath(folder))} continues.`.trim(),
    cause: error,
  });
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

function showEvaluation({ folder, report, trajectories }: Measured, screen: Screen): void {
  const { paint, width } = screen;
  const greedyFirst = report.evaluations.toSorted((a, b) => a.decoding.localeCompare(b.decoding));
  for (const record of greedyFirst) for (const line of evaluationLines(record, paint)) screen.line(line);
  // Tables are of the evaluation with the most episodes.
  for (const line of tableLines(report.evaluations[0])) screen.line(line);
  for (const line of costLines(report)) screen.line(line);
  const refused = trajectories.filter(({ stopReason }) => stopReason === "actor-error");
  if (refused.length > 0)
    screen.line(
      paint.yellow(`The server refused ${plural(refused.length, "conversation")}, counted as failures: ${refused[0].error}`),
    );
  for (const note of unbegunNotes(trajectories)) screen.line(paint.yellow(note));
  const failed = trajectories.find((trajectory) => !succeeded(trajectory));
  if (failed !== undefined && report.evaluations.some(({ measure }) => measure !== "reward")) {
    screen.line();
    screen.line(paint.bold("An episode that it fails"));
    for (const line of episodeLines(failed, paint, width, { maxLines: 24 })) screen.line(line);
  }
  screen.line();
  screen.line(`${shownPath(folder)}: report.md, report.json, and every episode`);
  screen.line(`Compare: ${commandPrefix()} eval --compare ${quoted(shownPath(folder))} OTHER`);
}
