import { reasonOf } from "../../core/errors.ts";
import { layout, runsFolder } from "../../runs/layout.ts";
import {
  listRuns,
  readEpisodes,
  readEvaluations,
  readMetrics,
  readRun,
  readSummary,
  readTimings,
  readTrajectories,
  trajectorySteps,
} from "../../runs/read.ts";
import type { RunRecord, StepRecord } from "../../runs/records.ts";
import { count, number, percent, sparkline, table } from "../../terminal/format.ts";
import { commandPrefix, quoted } from "../../terminal/invocation.ts";
import { evaluationLine, stepHeading, stepLine } from "../../terminal/progress.ts";
import type { Screen } from "../../terminal/screen.ts";
import { wrap } from "../../terminal/wrap.ts";

/** Every run under a folder, newest first. */
export function runsCommand(
  { in: root = runsFolder, json }: { readonly in?: string; readonly json?: boolean },
  screen: Screen,
): void {
  const { runs, damaged: unlisted } = listRuns(root);
  const damaged = [...unlisted];
  const stated = runs.flatMap(({ folder, record }) => {
    try {
      return [stateOf(folder, record)];
    } catch (error) {
      damaged.push({ folder, error: reasonOf(error) });
      return [];
    }
  });
  if (json === true) {
    screen.line(JSON.stringify({ runs: stated, damaged }, null, 1));
    return;
  }
  for (const { folder, error } of damaged)
    for (const line of wrap(`${folder} cannot be read: ${error}`, screen.width)) screen.line(screen.paint.yellow(line));
  if (runs.length === 0) {
    if (damaged.length > 0) return;
    screen.line(`There is no run in ${root}. Start one: ${commandPrefix()} train`);
    return;
  }
  for (const line of table([["run", "algorithm", "steps", "before", "after", "state", "started"], ...stated.map(rowOf)]))
    screen.line(line);
}

/** A run in the list. Scores are shares of successes, null where none was measured. */
function stateOf(folder: string, { config, created }: RunRecord) {
  const summary = readSummary(folder);
  const kind = (config.algorithm as { kind?: unknown } | undefined)?.kind;
  return {
    ...{ folder, algorithm: kind === undefined ? null : String(kind), steps: readMetrics(folder).length },
    ...{ plannedSteps: Number(config.steps), before: summary?.before?.mean ?? null, after: summary?.after?.mean ?? null },
    ...{ finished: summary !== undefined, created },
  };
}

function rowOf(state: ReturnType<typeof stateOf>): string[] {
  const { folder, algorithm, steps, plannedSteps, before, after, finished, created } = state;
  return [
    ...[folder, algorithm ?? "–", `${count(steps)}/${plannedSteps}`, percent(before), percent(after)],
    ...[finished ? "finished" : "unfinished", created.slice(0, 16).replace("T", " ")],
  ];
}

/** One run: its steps and metrics. */
export function showRunCommand(folder: string, { json }: { readonly json?: boolean }, screen: Screen): void {
  const record = readRun(folder);
  const { config } = record;
  if (json === true) {
    const [steps, evaluations, summary] = [readMetrics(folder), readEvaluations(folder), readSummary(folder) ?? null];
    screen.line(JSON.stringify({ ...stateOf(folder, record), config, evaluations, summary, metrics: steps }, null, 1));
    return;
  }
  const heading = (text: string) => {
    screen.line();
    screen.line(screen.paint.bold(text));
  };
  const steps = readMetrics(folder);
  const timings = new Map(readTimings(folder).map((timing) => [timing.step, timing]));
  const state =
    readSummary(folder) === undefined ? `unfinished: ${commandPrefix()} train --resume --out ${quoted(folder)}` : "finished";
  const of =
    typeof config.agent === "string"
      ? `an evaluation of ${config.agent} with ${String(config.model)}`
      : `${steps.length} of ${String(config.steps)} steps`;
  screen.line(`${folder}: ${of}, ${state}`);
  for (const record of readEvaluations(folder)) screen.line(evaluationLine(record));
  const [first] = steps;
  if (first === undefined) {
    for (const line of episodeHints(folder)) screen.line(line);
    return;
  }

  heading("Steps");
  screen.line(screen.paint.dim(stepHeading(first, screen.width)));
  for (const record of steps) {
    const timing = timings.get(record.step);
    if (timing !== undefined) screen.line(stepLine(record, timing, screen.width));
  }
  heading("Metrics");
  for (const line of metricLines(steps, screen.width)) screen.line(line);
  heading("Episodes");
  for (const line of episodeHints(folder)) screen.line(line);
}

/** Returns each metric's way through the run. Those that never moved share one line. */
function metricLines(steps: readonly StepRecord[], width: number): string[] {
  const names = [...new Set(steps.flatMap(({ metrics }) => Object.keys(metrics)))];
  const values = (name: string) => steps.map(({ metrics }) => metrics[name] ?? null);
  const knownValues = (name: string) => values(name).filter((value) => value !== null);
  const moves = (name: string) => new Set(knownValues(name)).size > 1;
  const still = names.filter((name) => !moves(name)).map((name) => `${name} ${number(knownValues(name)[0])}`);
  const rows = names.filter(moves).map((name) => {
    const known = knownValues(name);
    const ends = [known[0], known.at(-1), Math.min(...known), Math.max(...known)];
    return [name, ...ends.map((value) => number(value)), sparkline(values(name))];
  });
  return [
    ...(rows.length === 0 ? [] : table([["", "first", "last", "lowest", "highest", ""], ...rows])),
    ...(still.length === 0 ? [] : wrap(`The same in every step: ${still.join(", ")}`, width)),
  ];
}

function episodeHints(folder: string): string[] {
  const step = trajectorySteps(folder).at(-1);
  const [evaluation] = readEvaluations(folder);
  const [example] =
    step !== undefined ? readTrajectories(folder, step) : evaluation === undefined ? [] : readEpisodes(folder, evaluation);
  return [
    ...(step === undefined
      ? []
      : [`Of every step in ${layout.trajectoryFolder(folder)}, of every evaluation in ${layout.evaluationFolder(folder)}`]),
    ...(example === undefined ? [] : [`Read one: ${commandPrefix()} trajectory ${quoted(folder)} ${example.id}`]),
  ];
}
