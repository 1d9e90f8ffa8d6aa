import { existsSync } from "node:fs";
import { ConfigError } from "../../core/errors.ts";
import { isScored, succeeded } from "../../core/outcome.ts";
import { layout } from "../../runs/layout.ts";
import { readEpisodes, readEvaluations, readMetrics } from "../../runs/read.ts";
import type { EvaluationRecord, Summary } from "../../runs/records.ts";
import { episodesPerStep, InterruptedError, openingLine, planRun, type RunPlan, runPlan } from "../../sdk/train.ts";
import { showProgress } from "../../terminal/display.ts";
import { plural } from "../../terminal/format.ts";
import { interruptedExitCode, listenForInterrupt } from "../../terminal/interrupt.ts";
import { quoted, shownPath } from "../../terminal/invocation.ts";
import { openBrowser } from "../../terminal/open-browser.ts";
import type { Screen } from "../../terminal/screen.ts";
import { wrap } from "../../terminal/wrap.ts";
import { loadConfigFile, loadConfigNotes } from "../../training/config/config-file.ts";
import type { UserConfig } from "../../training/config/user-config.ts";
import type { TrainingEvent } from "../../training/record/events.ts";
import { startBeside } from "../beside.ts";
import { showDownload } from "../download.ts";
import { dryRunLines } from "../dry-run.ts";
import { nextSteps, type RunState, trainingCommand } from "../next-steps.ts";
import { type EvaluatedChange, type EvaluatedSplit, type Report, reportLines } from "../report.ts";
import { settingsOf, type TrainFlags, trainFlags } from "../settings.ts";

/** @returns the exit code */
export async function trainCommand(flags: TrainFlags, screen: Screen): Promise<number> {
  const user = await loadConfigFile(flags.config);
  return runTraining(user, settingsOf(trainFlags, flags), flags, screen);
}

/**
 * Trains under a configuration, on a screen, or shows it with `dryRun`.
 * @param flags as they were given, for the commands that are suggested afterwards
 * @param implied where settings of `user` are from that are not in the configuration file, by their paths
 */
export async function runTraining(
  user: UserConfig,
  settings: UserConfig,
  flags: TrainFlags,
  screen: Screen,
  implied: Readonly<Record<string, string>> = {},
): Promise<number> {
  if (flags.dryRun) {
    if (flags.resume)
      throw new ConfigError("--dry-run", true, { expected: "no --resume: that run has a recorded configuration" });
    const { sources, notes } = await loadConfigNotes(flags.config);
    for (const line of dryRunLines(user, settings, { ...sources, ...implied }, notes)) screen.line(line);
    return 0;
  }
  const plan = await planRun(user, { flags: settings, resume: flags.resume, allowChanged: flags.allowChanged });
  const summary = await runShown(plan, flags, screen);
  if (summary === undefined) return interruptedExitCode;
  for (const line of reportLines(await reportOf(plan, summary, flags), screen.paint, screen.width)) screen.line(line);
  return 0;
}

/**
 * Runs a plan on a screen, with a dashboard beside it.
 * @returns undefined if it was interrupted, which is then said
 */
export async function runShown(
  plan: RunPlan,
  flags: TrainFlags,
  screen: Screen,
  run: typeof runPlan = runPlan,
): Promise<Summary | undefined> {
  for (const line of [...wrap(openingLine(plan), screen.width), `Run: ${shownPath(plan.folder)}`]) screen.line(line);

  const display = showProgress(screen, episodesPerStep(plan.config));
  const endDashboard =
    flags.dashboard === false
      ? () => {}
      : startBeside(plan.folder, (url) => {
          screen.line(`Dashboard: ${url}`);
          if (flags.open) openBrowser(url);
        });
  const stopping = () => {
    screen.clear();
    screen.line("Stopping: what is done will be kept. Ctrl-C again ends at once.");
  };
  // Everything is kept then; a pass of a large model that still runs would only be thrown away.
  const onLeave = () => {
    display.stop();
    if (display.interruptedAt() === undefined)
      for (const line of interruptedLines(plan.folder, display.saved(), flags)) screen.line(line);
    endDashboard();
  };
  const interrupt = listenForInterrupt(stopping, { isSaving: display.isSaving, onLeave });
  try {
    const onEvent = (event: TrainingEvent) => {
      display.onEvent(event);
      if (event.type !== "interrupted") return;
      display.stop();
      for (const line of interruptedLines(plan.folder, event.step, flags)) screen.line(line);
    };
    const summary = await run(plan, {
      ...{ onEvent, signal: interrupt.signal },
      download: (fetch) => showDownload(plan.config.model, screen, fetch),
    });
    display.stop();
    return summary;
  } catch (error) {
    display.stop();
    if (error instanceof InterruptedError) screen.line(notBegun);
    else if (display.interruptedAt() === undefined) throw error;
    return undefined;
  } finally {
    endDashboard();
    if (!interrupt.signal.aborted) interrupt.release(); // else its patience also ends what is left open
  }
}

const notBegun = "Interrupted before the run began: nothing was changed.";

function interruptedLines(folder: string, steps: number, flags: TrainFlags): string[] {
  if (flags.teacher !== undefined)
    return [`Interrupted. ${plural(steps, "finished step")} kept in ${shownPath(folder)}`, "Continue: the same command again"];
  if (!existsSync(layout.run(folder))) return [notBegun];
  return [
    `Interrupted. ${plural(steps, "finished step")} kept in ${shownPath(folder)}`,
    `Continue: ${trainingCommand(`--resume --out ${quoted(shownPath(folder))}`, flags)}`,
  ];
}

export async function reportOf(plan: RunState["plan"], summary: Summary, flags: TrainFlags): Promise<Report> {
  const { folder } = plan;
  const evaluations = evaluatedSplits(folder, summary);
  const main = evaluations[0]?.[0];
  const episodes = main === undefined ? [] : readEpisodes(folder, main.after);
  return {
    folder: shownPath(folder),
    summary,
    next: await nextSteps({ plan, summary, metrics: readMetrics(folder), flags }),
    evaluations,
    solved: episodes.filter(succeeded).sort(byLength).at(-1),
    failed: episodes
      .filter((episode) => isScored(episode) && !succeeded(episode))
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
    const withheld = differences?.withheld?.[decoding];
    return before === undefined ? [] : [{ before, after, ...found, ...(withheld === undefined ? {} : { withheld }) }];
  };
  return splits
    .toSorted((a, b) => Number(a === "challenge") - Number(b === "challenge"))
    .map((split) => all.filter((record) => record.when === "after" && record.split === split).flatMap(change))
    .flatMap(([first, ...others]) => (first === undefined ? [] : [[first, ...others]]));
}

function byLength(a: { readonly turns: readonly unknown[] }, b: { readonly turns: readonly unknown[] }): number {
  return a.turns.length - b.turns.length;
}
