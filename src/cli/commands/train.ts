import { existsSync } from "node:fs";
import { ConfigError } from "../../core/errors.ts";
import { isScored, succeeded } from "../../core/outcome.ts";
import { splitsOf } from "../../environments/environment.ts";
import { layout } from "../../runs/layout.ts";
import { readEpisodes, readEvaluations } from "../../runs/read.ts";
import type { EvaluationRecord, Summary } from "../../runs/records.ts";
import { episodesPerStep, InterruptedError, openingLine, planRun, type RunPlan, runPlan } from "../../sdk/train.ts";
import { showProgress } from "../../terminal/display.ts";
import { plural } from "../../terminal/format.ts";
import { interruptedExitCode, listenForInterrupt } from "../../terminal/interrupt.ts";
import { commandPrefix, quoted, shownPath } from "../../terminal/invocation.ts";
import { openBrowser } from "../../terminal/open-browser.ts";
import type { Screen } from "../../terminal/screen.ts";
import { wrap } from "../../terminal/wrap.ts";
import { loadConfigFile, loadConfigNotes } from "../../training/config-file.ts";
import type { TrainingEvent } from "../../training/events.ts";
import type { UserConfig } from "../../training/user-config.ts";
import { startDashboardBeside } from "../dashboard-process.ts";
import { showDownload } from "../download.ts";
import { dryRunLines } from "../dry-run.ts";
import { type EvaluatedChange, type EvaluatedSplit, type Report, reportLines } from "../report.ts";
import { optionName, type SettingValues, settingsOf, trainFlags } from "../settings.ts";

export interface TrainFlags extends SettingValues {
  readonly resume?: boolean;
  readonly replay?: string;
  readonly allowChanged?: boolean;
  /** False with --no-dashboard. */
  readonly dashboard?: boolean;
  readonly open?: boolean;
  readonly dryRun?: boolean;
  /** The agent that `train-agent` trains, as words, and its two files. */
  readonly agent?: readonly string[];
  readonly tasks?: string;
  readonly reward?: string;
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
  return runTraining(user, settings, flags, screen);
}

/**
 * Trains under a configuration, on a screen.
 * @param flags as they were given, for the commands that are suggested afterwards
 */
export async function runTraining(user: UserConfig, settings: UserConfig, flags: TrainFlags, screen: Screen): Promise<number> {
  const plan = await showDownload(settings.model ?? user.model ?? "the model", screen, (onDownload) =>
    planRun(user, { flags: settings, resume: flags.resume, replay: flags.replay, allowChanged: flags.allowChanged, onDownload }),
  );
  for (const line of [...wrap(openingLine(plan), screen.width), `Run: ${shownPath(plan.folder)}`]) screen.line(line);

  const display = showProgress(screen, episodesPerStep(plan.config));
  const endDashboard =
    flags.dashboard === false
      ? () => {}
      : startDashboardBeside(plan.folder, (url) => {
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
    const summary = await runPlan(plan, { onEvent, signal: interrupt.signal });
    display.stop();
    for (const line of reportLines(await reportOf(plan, summary, flags), screen.paint, screen.width)) screen.line(line);
    return 0;
  } catch (error) {
    display.stop();
    if (error instanceof InterruptedError) screen.line(notBegun);
    else if (display.interruptedAt() === undefined) throw error;
    return interruptedExitCode;
  } finally {
    endDashboard();
    if (!interrupt.signal.aborted) interrupt.release(); // else its patience also ends what is left open
  }
}

const notBegun = "Interrupted before the run began: nothing was changed.";

function interruptedLines(folder: string, steps: number, flags: TrainFlags): string[] {
  if (!existsSync(layout.run(folder))) return [notBegun];
  return [
    `Interrupted. ${plural(steps, "finished step")} kept in ${shownPath(folder)}`,
    `Continue: ${trainingCommand(`--resume --out ${quoted(shownPath(folder))}`, flags)}`,
  ];
}

async function reportOf(plan: RunPlan, summary: Summary, flags: TrainFlags): Promise<Report> {
  const { folder } = plan;
  const evaluations = evaluatedSplits(folder, summary);
  const main = evaluations[0]?.[0];
  const episodes = main === undefined ? [] : readEpisodes(folder, main.after);
  return {
    folder: shownPath(folder),
    summary,
    next: await nextCommands(plan, flags),
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
    .filter((changes) => changes.length > 0);
}

/** Commands that work when they are copied: a run's folder brings its environment, a configuration file has to be named again. */
async function nextCommands({ environment, folder, config }: RunPlan, flags: TrainFlags): Promise<Report["next"]> {
  const command = commandPrefix();
  const run = quoted(shownPath(folder));
  const file = configFlag(flags);
  return [
    [`${command} dashboard --open`, "look at it: curves, episodes, and why each token moved"],
    [`${command} runs show ${run}`, "every step and metric"],
    ...useOfModel(run, config.model, flags),
    ...(splitsOf(environment).includes("challenge") && (await environment.size("challenge")) > 0
      ? [
          [
            `${command} eval --model ${run} --split challenge${file}`,
            "requests in combinations that it was not trained on",
          ] as const,
        ]
      : []),
    ...(config.algorithm.kind === "sft"
      ? [[`${command} train --model ${run}${file}`, "continue by reinforcement learning"] as const]
      : otherAlgorithm(config, flags)),
  ];
}

/** The same command with another algorithm; none where the old one's settings were given. */
function otherAlgorithm({ algorithm }: RunPlan["config"], flags: TrainFlags): Report["next"] {
  const set = flags.set ?? [];
  if (flags.resume === true || flags.replay !== undefined || set.some((assignment) => assignment.startsWith("algorithm.")))
    return [];
  const other = algorithm.kind.startsWith("seeupo") ? "grpo" : "seeupo";
  const kept = trainFlags.flatMap(({ flag }) => {
    const [option = ""] = flag.split(" ");
    const value = flags[optionName(flag)];
    if (["--algorithm", "--out"].includes(option) || value === undefined || value === false) return [];
    return value === true ? [option] : [`${option} ${quoted(String(value))}`];
  });
  const assignments = set.map((assignment) => `--set ${quoted(assignment)}`);
  const words = [`--algorithm ${other}`, ...kept, ...assignments];
  return [[trainingCommand(words.join(" "), flags), "the same with another algorithm"]];
}

/** An agent is measured with both models, and nobody can talk to it. */
function useOfModel(run: string, before: string, flags: TrainFlags): Report["next"] {
  if (flags.agent === undefined)
    return [[`${commandPrefix()} chat --model ${run}${configFlag(flags)}`, "talk to the trained model"]];
  const [file = "", ...more] = flags.agent;
  if (more.length > 0) return [];
  const compared = `eval --agent ${quoted(file)}${agentFiles(flags)} --k 4 --compare ${quoted(before)} ${run}`;
  return [[`${commandPrefix()} ${compared}`, "measure the agent with both models, task by task"]];
}

function trainingCommand(options: string, flags: TrainFlags): string {
  const { agent } = flags;
  if (agent === undefined) return `${commandPrefix()} train ${options}${configFlag(flags)}`;
  return `${commandPrefix()} train-agent${agentFiles(flags)} ${options}${configFlag(flags)} -- ${agent.map(quoted).join(" ")}`;
}

function agentFiles({ tasks = "", reward = "" }: TrainFlags): string {
  return ` --tasks ${quoted(tasks)} --reward ${quoted(reward)}`;
}

function configFlag({ config }: SettingValues): string {
  return config === undefined ? "" : ` --config ${quoted(config)}`;
}

function byLength(a: { readonly turns: readonly unknown[] }, b: { readonly turns: readonly unknown[] }): number {
  return a.turns.length - b.turns.length;
}
