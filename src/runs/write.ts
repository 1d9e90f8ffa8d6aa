import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { RunError } from "../core/errors.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { appendLine, writeFileAtomic, writeFolderAtomic } from "./files.ts";
import { indexLine, readIndexLines } from "./index-file.ts";
import { layout, stepOf } from "./layout.ts";
import { checkpointSteps, finishedNames, readMetrics, readRun, readTimings } from "./read.ts";
import type { EvaluationRecord, Progress, RunRecord, StepRecord, Summary, TimingRecord } from "./records.ts";
import { schemaVersion } from "./schema.ts";
import { encodeTrajectories } from "./trajectory-file.ts";

/** Settings that may change from one process of a run to the next: they move no number. */
const free: readonly string[] = ["out", "checkpoint", "limits", "record"];

/** @throws RunError where a folder is taken: by another run, or by other files */
export function requireFree(folder: string): void {
  if (existsSync(layout.run(folder)))
    throw new RunError(folder, "a run already", {
      expected: "a new folder",
      hint: "Continue that run with --resume, or choose another folder with --out.",
    });
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new RunError(folder, "a folder with other files", {
      expected: "a new or empty folder",
      hint: "Choose another one with --out.",
    });
}

/**
 * Starts a run's folder.
 * @param device what computes, for people
 * @throws RunError where it is taken
 */
export function createRun(
  folder: string,
  config: Readonly<Record<string, unknown>> & { readonly seed: number },
  device?: string,
): void {
  requireFree(folder);
  const record: RunRecord = {
    schema: schemaVersion,
    config,
    seed: config.seed,
    version: packageVersion(),
    node: process.version,
    device,
    created: new Date().toISOString(),
  };
  writeFileAtomic(layout.run(folder), json(record));
}

/**
 * @param recorded the configuration of the run in the folder, with settings that were added or moved since filled in
 * @throws RunError where a folder holds a run of another configuration, naming the first setting that differs
 */
export function requireSameRun(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  recorded: Readonly<Record<string, unknown>> = readRun(folder).config,
): void {
  const difference = firstDifference(JSON.parse(JSON.stringify(recorded)), JSON.parse(JSON.stringify(config)));
  if (difference === undefined) return;
  throw new RunError(`${difference.path} of the run in ${folder}`, difference.recorded, {
    expected: `${JSON.stringify(difference.wanted) ?? "nothing"}, as this configuration says`,
    hint: "A run continues only under its own configuration. Resume without other settings, or start a new run with --out.",
  });
}

/**
 * Takes a run's folder back to its newest checkpoint: what was written after it is made again.
 * @param recorded as `requireSameRun` takes it
 * @returns the step of that checkpoint; 0 where there is none yet
 * @throws RunError as `requireSameRun`
 */
export function reopenRun(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  recorded?: Readonly<Record<string, unknown>>,
): number {
  requireSameRun(folder, config, recorded);
  const step = checkpointSteps(folder).at(-1) ?? 0;
  keepLines(layout.metrics(folder), readMetrics(folder), step);
  keepLines(layout.timing(folder), readTimings(folder), step);
  keepLines(layout.index(folder), readIndexLines(folder), step);
  for (const parent of [
    layout.trajectoryFolder(folder),
    layout.evaluationFolder(folder),
    layout.creditFolder(folder),
    layout.checkpointFolder(folder),
    folder,
  ])
    if (existsSync(parent))
      for (const name of readdirSync(parent))
        if ((stepOf(name) ?? 0) > step || name.endsWith(".unfinished"))
          rmSync(join(parent, name), { recursive: true, force: true });
  return step;
}

/** The line of metrics goes last but one: where it is, the episodes and their line in the index are. */
export function writeStep(folder: string, record: StepRecord, timing: TimingRecord, trajectories: readonly Trajectory[]): void {
  const encoded = encodeTrajectories(trajectories);
  const file = layout.trajectories(folder, record.step);
  writeFileAtomic(file, encoded.bytes);
  const of = { file: nameIn(folder, file), source: "train", step: record.step } as const;
  appendLine(layout.index(folder), JSON.stringify(indexLine(of, trajectories, encoded.offsets)));
  appendLine(layout.metrics(folder), JSON.stringify(record));
  appendLine(layout.timing(folder), JSON.stringify(timing));
}

/** The record goes last: where it is, the episodes are. */
export function writeEvaluation(folder: string, record: EvaluationRecord, trajectories: readonly Trajectory[]): void {
  const encoded = encodeTrajectories(trajectories);
  const file = layout.episodes(folder, record);
  writeFileAtomic(file, encoded.bytes);
  const of = {
    file: nameIn(folder, file),
    source: record.when,
    split: record.split,
    decoding: record.decoding,
    step: record.step,
  };
  appendLine(layout.index(folder), JSON.stringify(indexLine(of, trajectories, encoded.offsets)));
  writeFileAtomic(layout.evaluation(folder, record), json({ schema: schemaVersion, ...record }));
}

/** An engine's states, for checkpoints. */
export interface StateKeeper {
  /** Writes the state, or a reference to it, into a folder. */
  saveState(folder: string): Promise<void>;
  /** Deletes what the state in a folder refers to outside of it. */
  dropState(folder: string): Promise<void>;
}

/** @param keep number of checkpoints that stay: the newest ones */
export async function writeCheckpoint(
  folder: string,
  progress: Progress,
  { saveState, dropState }: StateKeeper,
  keep: number,
): Promise<string> {
  const path = layout.checkpoint(folder, progress.step);
  await writeFolderAtomic(path, async (unfinished) => {
    mkdirSync(join(unfinished, "engine"));
    await saveState(join(unfinished, "engine"));
    writeFileAtomic(join(unfinished, "trainer.json"), json({ schema: schemaVersion, ...progress }));
  });
  for (const step of checkpointSteps(folder).slice(0, -keep)) {
    await dropState(engineStateFolder(folder, step));
    rmSync(layout.checkpoint(folder, step), { recursive: true, force: true });
  }
  return path;
}

/** The folder in which a checkpoint's engine state lies. */
export function engineStateFolder(folder: string, step: number): string {
  return join(layout.checkpoint(folder, step), "engine");
}

/** The end of a run: the trained model, then the summary. */
export async function finishRun(folder: string, summary: Summary, saveModel: (folder: string) => Promise<void>): Promise<void> {
  await writeFolderAtomic(layout.model(folder), saveModel);
  writeFileAtomic(layout.summary(folder), json({ schema: schemaVersion, ...summary }));
}

/** A name under `root` that no run has yet: "office-seeupo-1", "office-seeupo-2", … */
export function newRunFolder(root: string, name: string): string {
  const taken = new Set(finishedNames(root));
  for (let number = 1; ; number++) if (!taken.has(`${name}-${number}`)) return join(root, `${name}-${number}`);
}

interface Difference {
  readonly path: string;
  readonly recorded: unknown;
  readonly wanted: unknown;
}

function firstDifference(recorded: unknown, wanted: unknown, path: readonly string[] = []): Difference | undefined {
  if (path.length === 1 && free.includes(path[0])) return undefined;
  if (typeof recorded !== "object" || typeof wanted !== "object" || recorded === null || wanted === null)
    return recorded === wanted ? undefined : { path: path.join("."), recorded, wanted };
  const keys = new Set([...Object.keys(wanted), ...Object.keys(recorded)]);
  for (const key of keys) {
    const inner = [recorded, wanted].map((value) => (value as Record<string, unknown>)[key]);
    const difference = firstDifference(inner[0], inner[1], [...path, key]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function keepLines(path: string, records: readonly { readonly step: number }[], upTo: number): void {
  if (!existsSync(path)) return;
  const kept = records.filter(({ step }) => step <= upTo);
  writeFileAtomic(path, kept.map((record) => `${JSON.stringify(record)}\n`).join(""));
}

export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** A path as the index has it: relative to the run's folder, with slashes. */
function nameIn(folder: string, path: string): string {
  return relative(folder, path).replaceAll("\\", "/");
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
