import { CompletionError } from "../../completions/errors.ts";
import { isScored, succeeded } from "../../core/outcome.ts";
import { type Evaluated, type EvaluationEvent, evaluateConfig, type PricedJudge } from "../../sdk/evaluate.ts";
import { resolvePlayed } from "../../sdk/run-environment.ts";
import { plural } from "../../terminal/format.ts";
import { interruptedExitCode, listenForInterrupt } from "../../terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../terminal/invocation.ts";
import { advance, nothingYet, statusLine } from "../../terminal/progress.ts";
import type { Screen } from "../../terminal/screen.ts";
import { loadConfigFile } from "../../training/config-file.ts";
import type { TrainingConfig } from "../../training/settings.ts";
import type { UserConfig } from "../../training/user-config.ts";
import { episodeLines } from "../conversation.ts";
import { showDownload } from "../download.ts";
import { costLines, evaluationLines, evaluationNotes, reportPage, tableLines } from "../evaluation-lines.ts";
import { type JudgeFlags, judgeOf } from "../question-judge.ts";
import { evaluationFlags, type SettingValues, settingsOf } from "../settings.ts";

export interface EvalFlags extends SettingValues, JudgeFlags {
  readonly resume?: boolean;
  readonly json?: boolean;
  /** Two models, or folders of evaluations. */
  readonly compare?: readonly string[];
  readonly agent?: string;
  readonly reward?: string;
}

/** Measures a model on tasks of a split, or compares two. @returns the exit code */
export async function evalCommand(flags: EvalFlags, output: Screen, notes: Screen): Promise<number> {
  if (flags.agent !== undefined) {
    const { evalAgentCommand } = await import("./eval-agent.ts");
    return evalAgentCommand(flags.agent, flags, output, flags.json === true ? notes : output);
  }
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

/**
 * Evaluates a model into a folder and shows its progress.
 * @returns undefined if it was interrupted
 */
export async function measure(
  config: TrainingConfig,
  user: UserConfig,
  resume: boolean,
  screen: Screen,
  judge?: PricedJudge,
): Promise<Evaluated | undefined> {
  const interrupt = listenForInterrupt(() => screen.clear());
  const show = evaluationDisplay(screen);
  let folder: string | undefined;
  try {
    return await evaluateConfig(config, user, {
      ...{ resume, judge, signal: interrupt.signal },
      download: (fetch) => showDownload(config.model, screen, fetch),
      page: (report, trajectories) => reportPage(report, evaluationNotes(trajectories)),
      onEvent: (event) => {
        if (event.type === "started") folder = event.folder;
        show(event);
      },
    });
  } catch (error) {
    if (folder === undefined) throw error;
    if (!interrupt.signal.aborted) throw continuable(error, folder);
    screen.line(`Interrupted. Episodes that have ended are kept in ${shownPath(folder)}`);
    screen.line(`Continue: the same command with --resume --out ${quoted(shownPath(folder))}`);
    return undefined;
  } finally {
    screen.clear();
    interrupt.release();
  }
}

/** Shows how far an evaluation is, in one line that is written over. */
function evaluationDisplay(screen: Screen): (event: EvaluationEvent) => void {
  const seconds = () => performance.now() / 1000;
  let progress = nothingYet;
  return (event) => {
    switch (event.type) {
      case "started":
        return screen.line(`Evaluating ${event.player} in "${event.environment}": ${plural(event.tasks, `${event.split} task`)}`);
      case "notice":
        return screen.line(event.message);
      case "warning":
        return screen.line(screen.paint.yellow(`warning: ${event.message}`));
      case "played": {
        const { done, total, tokens } = event;
        if (done === 0) {
          screen.clear();
          progress = advance(nothingYet, { type: "phase", phase: "evaluate", step: 0, total }, seconds());
          return undefined;
        }
        progress = advance(progress, { type: "progress", phase: "evaluate", done, total, tokens }, seconds());
        return screen.status(statusLine(progress, seconds()));
      }
      case "judged":
        return screen.status(`judging by ${event.model}: ${event.done} of ${event.total} answers`);
    }
  };
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

function showEvaluation({ folder, report, trajectories }: Evaluated, screen: Screen): void {
  const { paint, width } = screen;
  const greedyFirst = report.evaluations.toSorted((a, b) => a.decoding.localeCompare(b.decoding));
  for (const record of greedyFirst) for (const line of evaluationLines(record, paint)) screen.line(line);
  // Tables are of the evaluation with the most episodes.
  const [most] = report.evaluations;
  if (most !== undefined) for (const line of tableLines(most)) screen.line(line);
  for (const line of costLines(report)) screen.line(line);
  const refused = trajectories.filter(({ stopReason }) => stopReason === "actor-error");
  const [first] = refused;
  if (first !== undefined)
    screen.line(
      paint.yellow(`The server refused ${plural(refused.length, "conversation")}, which have no score: ${first.error}`),
    );
  for (const note of evaluationNotes(trajectories)) screen.line(paint.yellow(note));
  const failed = trajectories.find((trajectory) => isScored(trajectory) && !succeeded(trajectory));
  if (failed !== undefined && report.evaluations.some(({ measure }) => measure !== "reward")) {
    screen.line();
    screen.line(paint.bold("An episode that it fails"));
    for (const line of episodeLines(failed, paint, width, { maxLines: 24 })) screen.line(line);
  }
  screen.line();
  screen.line(`${shownPath(folder)}: report.md, report.json, and every episode`);
  screen.line(`Compare: ${commandPrefix()} eval --compare ${quoted(shownPath(folder))} OTHER`);
}
