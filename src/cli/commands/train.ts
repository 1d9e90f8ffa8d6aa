import { ConfigError } from "../../core/errors.ts";
import { splitsOf } from "../../environments/environment.ts";
import { readEpisodes, readEvaluations } from "../../runs/read.ts";
import type { EvaluationRecord, Summary } from "../../runs/records.ts";
import { planRun, type RunPlan, runPlan } from "../../sdk/train.ts";
import { loadConfigFile, loadConfigNotes } from "../../training/config-file.ts";
import type { TrainingEvent } from "../../training/events.ts";
import { succeeded } from "../../training/rollout-metrics.ts";
import { startDashboardBeside } from "../dashboard-process.ts";
import { showDownload } from "../download.ts";
import { dryRunLines } from "../dry-run.ts";
import { count, plural } from "../format.ts";
import { interruptedExitCode, listenForInterrupt } from "../interrupt.ts";
import { commandPrefix, quoted } from "../invocation.ts";
import { advance, evaluationLine, nothingYet, phaseLine, statusLine, stepHeading, stepLine } from "../progress.ts";
import { type EvaluatedChange, type EvaluatedSplit, type Report, reportLines } from "../report.ts";
import type { Screen } from "../screen.ts";
import { type SettingValues, settingsOf, trainFlags } from "../settings.ts";
import { openBrowser } from "./dashboard.ts";

interface TrainFlags extends SettingValues {
  readonly resume?: boolean;
  readonly replay?: string;
  /** False with --no-dashboard. */
  readonly dashboard?: boolean;
  readonly open?: boolean;
  readonly dryRun?: boolean;
}

/** @returns the exit code */
export async function trainCommand(flags: TrainFlags, screen: Screen): Promise<number> {
  const user = await loadConfigFile(flags.config);
  const settings = settingsOf(trainFlags, flags);
  if (flags.dryRun) {
    if (flags.resume || flags.replay !== undefined)
      throw new ConfigError("--dry-run", true, {
        expected: "neither --resume nor --replay: those runs have recorded configurations",
      });
    const { sources, notes } = await loadConfigNotes(flags.config);
    for (const line of dryRunLines(user, settings, sources, notes)) screen.line(line);
    return 0;
  }
  const plan = await showDownload(settings.model ?? user.model ?? "the model", screen, (onDownload) =>
    planRun(user, { flags: settings, resume: flags.resume, replay: flags.replay, onDownload }),
  );
  for (const line of openingLines(plan)) screen.line(line);

  const interrupt = listenForInterrupt(() => {
    screen.clear();
    screen.line("Stopping: what is done will be kept. Ctrl-C again ends at once.");
  });
  const display = showProgress(screen);
  const endDashboard =
    flags.dashboard === false
      ? () => {}
      : startDashboardBeside(plan.folder, (url) => {
          screen.line(`Dashboard: ${url}`);
          if (flags.open) openBrowser(url);
        });
  try {
    const summary = await runPlan(plan, { onEvent: display.onEvent, signal: interrupt.signal });
    display.stop();
    for (const line of reportLines(await reportOf(plan, summary), screen.paint, screen.width)) screen.line(line);
    return 0;
  } catch (error) {
    display.stop();
    const kept = display.interruptedAt();
    if (kept === undefined) throw error;
    for (const line of interruptedLines(plan.folder, kept)) screen.line(line);
    return interruptedExitCode;
  } finally {
    endDashboard();
    interrupt.release();
  }
}

function openingLines({ config, environment, folder, resume }: RunPlan): string[] {
  const { algorithm, model, rollout, steps } = config;
  return [
    `${resume ? "Continuing" : "Training"} ${model === "default" ? "the default model" : model} in "${environment.name}" by ${algorithm.kind}: ` +
      `${plural(steps, "step")} of ${rollout.tasksPerStep} tasks × ${rollout.groupSize} rollouts`,
    `Run: ${folder}`,
  ];
}

/** Lines for what happened, and on a terminal one more for what is happening. */
function showProgress(screen: Screen): {
  onEvent: (event: TrainingEvent) => void;
  stop: () => void;
  interruptedAt: () => number | undefined;
} {
  let progress = nothingYet;
  let interruptedAt: number | undefined;
  let headed = false;
  const seconds = () => performance.now() / 1000;
  const refresh = () => screen.status(statusLine(progress, seconds()));
  const timer = screen.live ? setInterval(refresh, 200) : undefined;
  return {
    onEvent: (event) => {
      progress = advance(progress, event, seconds());
      if (event.type === "stepped" && !headed) {
        screen.line(screen.paint.dim(stepHeading()));
        headed = true;
      }
      const line = eventLine(event, screen);
      if (line !== undefined) screen.line(line);
      if (event.type === "interrupted") interruptedAt = event.step;
    },
    stop: () => {
      clearInterval(timer);
      screen.clear();
    },
    interruptedAt: () => interruptedAt,
  };
}

/** What stays on the screen of an event. */
function eventLine(event: TrainingEvent, { live, paint }: Screen): string | undefined {
  switch (event.type) {
    case "run-started":
      return event.resumedAt > 0 ? `${plural(event.resumedAt, "step")} of ${count(event.steps)} are done already` : undefined;
    case "phase":
      return live ? undefined : phaseLine(event);
    case "evaluated":
      return evaluationLine(event.record);
    case "stepped":
      return stepLine(event.record, event.timing);
    case "notice":
      return event.message;
    case "warning":
      return paint.yellow(`warning: ${event.message}`);
    default:
      return undefined;
  }
}

function interruptedLines(folder: string, steps: number): string[] {
  return [
    `Interrupted. ${plural(steps, "finished step")} kept in ${folder}`,
    `Continue: ${commandPrefix()} train --resume --out ${quoted(folder)}`,
  ];
}

async function reportOf(plan: RunPlan, summary: Summary): Promise<Report> {
  const { folder } = plan;
  const evaluations = evaluatedSplits(folder, summary);
  const episodes = evaluations.length === 0 ? [] : readEpisodes(folder, evaluations[0][0].after);
  return {
    folder,
    summary,
    next: await nextCommands(plan),
    evaluations,
    solved: episodes.filter(succeeded).sort(byLength).at(-1),
    failed: episodes
      .filter((episode) => !succeeded(episode))
      .sort(byLength)
      .at(0),
  };
}

/** Start, end and difference by split and decoding, the main split and sampled attempts first. */
function evaluatedSplits(folder: string, summary: Summary): EvaluatedSplit[] {
  const all = readEvaluations(folder);
  const splits = [...new Set(all.filter(({ when }) => when === "after").map(({ split }) => split))];
  const change = (after: EvaluationRecord): EvaluatedChange[] => {
    const { split, decoding } = after;
    const before = all.find((record) => record.when === "before" && record.split === split && record.decoding === decoding);
    const differences = split === summary.after?.split ? summary.difference : summary.challenge?.difference;
    const found = { difference: differences?.[decoding], rewardDifference: differences?.reward?.[decoding] };
    return before === undefined ? [] : [{ before, after, ...found }];
  };
  return splits
    .toSorted((a, b) => Number(a === "challenge") - Number(b === "challenge"))
    .map((split) => all.filter((record) => record.when === "after" && record.split === split).flatMap(change))
    .filter((changes) => changes.length > 0);
}

async function nextCommands({ environment, folder, config }: RunPlan): Promise<Report["next"]> {
  const command = commandPrefix();
  const run = quoted(folder);
  const other = config.algorithm.kind === "seeupo" ? "grpo" : "seeupo";
  return [
    [`${command} dashboard --open`, "look at it: curves, episodes, and why each token moved"],
    [`${command} runs show ${run}`, "every step and metric"],
    [`${command} chat --model ${run}`, "talk to the trained model"],
    ...(splitsOf(environment).includes("challenge") && (await environment.size("challenge")) > 0
      ? [[`${command} eval --model ${run} --split challenge`, "requests in combinations that it was not trained on"] as const]
      : []),
    [`${command} train --algorithm ${other}`, "the same with another algorithm"],
  ];
}

function byLength(a: { readonly turns: readonly unknown[] }, b: { readonly turns: readonly unknown[] }): number {
  return a.turns.length - b.turns.length;
}
