import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { crc32 } from "node:zlib";
import { RunError } from "../core/errors.ts";
import { runtime } from "../core/runtime.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { isUnfinished } from "../files/atomic.ts";
import { makeFolder } from "../files/folder.ts";
import { packageFolder } from "../files/package-folder.ts";
import { newestWhole } from "./checkpoints.ts";
import { writeChecksums } from "./checksums.ts";
import {
  appendLine,
  appendRecord,
  readRunFile,
  requireOwnFolder,
  systemError,
  writeFileAtomic,
  writeFolderAtomic,
  writeOwnRecord,
  writeRecord,
} from "./files.ts";
import { type IndexLine, indexLine, readIndexLines } from "./index-file.ts";
import { layout, stepOf } from "./layout.ts";
import { readMessages } from "./live.ts";
import { finishedNames, readEpisodes, readEvaluation, readEvaluations, readMetrics, readRun, readTimings } from "./read.ts";
import type { EvaluationRecord, RunRecord, StepRecord, Summary, TimingRecord } from "./records.ts";
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
  if (existsSync(folder) && !statSync(folder).isDirectory())
    throw new RunError(folder, "a file", { expected: "a new or empty folder", hint: "Choose another one with --out." });
  requireEmpty(folder);
}

/** Half-written files of a killed process do not count. @throws RunError where a folder has files */
export function requireEmpty(folder: string): void {
  if (finishedNames(folder).length > 0)
    throw new RunError(folder, "a folder with other files", {
      expected: "a new or empty folder",
      hint: "Choose another one with --out.",
    });
}

/**
 * Starts a run's folder.
 * @param device what computes, for people
 * @param madeOf digests of what decides the run beside its configuration
 * @throws RunError where it is taken
 */
export function createRun(
  folder: string,
  config: Readonly<Record<string, unknown>> & { readonly seed: number },
  device?: string,
  madeOf?: Readonly<Record<string, string>>,
): void {
  requireFree(folder);
  const record: RunRecord = {
    schema: schemaVersion,
    config,
    seed: config.seed,
    version: packageVersion(),
    node: runtime().version,
    device,
    ...(madeOf === undefined ? {} : { madeOf: { ...madeOf } }),
    created: new Date().toISOString(),
  };
  writeOwnRecord(layout.run(folder), record);
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
 * Checks that a run continues over what it began with.
 * @returns a warning where something has changed and `allowed` says to go on
 * @throws RunError where something has changed
 */
export function requireSameParts(folder: string, madeOf: Readonly<Record<string, string>>, allowed: boolean): string | undefined {
  const before = readRun(folder).madeOf;
  if (before === undefined) return undefined;
  const names = [...new Set([...Object.keys(before), ...Object.keys(madeOf)])].filter((name) => before[name] !== madeOf[name]);
  if (names.length === 0) return undefined;
  const what = `${names.join(", ")} ${names.length === 1 ? "has" : "have"} changed since the run began`;
  if (allowed) return `${what}: evaluations before and after that are not compared`;
  throw new RunError(folder, what, {
    expected: "the tasks, data and code that it began with",
    hint: "Put them back, start a new run with --out, or continue knowingly with --allow-changed (allowChanged in code).",
  });
}

/**
 * Takes a run's folder back to its newest checkpoint that is whole: what was written after it is computed again.
 * @param recorded as `requireSameRun` takes it
 * @param warn is given a sentence about each damaged checkpoint, which is removed
 * @returns the step of that checkpoint; 0 where there is none yet
 * @throws RunError as `requireSameRun`, and if every checkpoint is damaged
 */
export function reopenRun(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  recorded?: Readonly<Record<string, unknown>>,
  warn: (message: string) => void = () => {},
): number {
  requireSameRun(folder, config, recorded);
  const parents = [
    layout.trajectoryFolder(folder),
    layout.evaluationFolder(folder),
    layout.creditFolder(folder),
    layout.checkpointFolder(folder),
  ];
  for (const parent of [...parents, join(folder, "judge")]) requireOwnFolder(parent);
  const step = newestWhole(folder, warn);
  const ofSteps = (record: { readonly step: number }) => record.step <= step;
  const [metrics, timings] = [readMetrics(folder), readTimings(folder)];
  for (const [path, records] of [
    [layout.metrics(folder), metrics],
    [layout.timing(folder), timings],
  ] as const) {
    requireSteps(path, records, step);
    keepLines(path, records, ofSteps);
  }
  // The line of an evaluation is written before its record: where a kill came between, the evaluation is played again.
  keepLines(layout.index(folder), readIndexLines(folder), (line) => ofSteps(line) && isRecorded(folder, line));
  // Of these nothing is computed again, but the next line must not continue half of one.
  keepLines(layout.messages(folder), readMessages(folder), () => true);
  for (const parent of [...parents, folder])
    if (existsSync(parent))
      for (const name of readdirSync(parent))
        if ((stepOf(name) ?? 0) > step || isUnfinished(name)) rmSync(join(parent, name), { recursive: true, force: true });
  return step;
}

/** The line of metrics goes last but one: where it is, the episodes and their line in the index are. */
export function writeStep(folder: string, record: StepRecord, timing: TimingRecord, trajectories: readonly Trajectory[]): void {
  const { step } = record;
  writeEpisodes(folder, layout.trajectories(folder, step), { source: "train", step }, trajectories);
  const line = JSON.stringify(record);
  appendLine(layout.metrics(folder), line);
  appendRecord(layout.timing(folder), { ...timing, metricsCrc32: crc32(line) });
}

/** The record goes last: where it is, the episodes are. */
export function writeEvaluation(folder: string, record: EvaluationRecord, trajectories: readonly Trajectory[]): void {
  const { when: source, split, decoding, step } = record;
  writeEpisodes(folder, layout.episodes(folder, record), { source, split, decoding, step }, trajectories);
  writeRecord(layout.evaluation(folder, record), { schema: schemaVersion, ...record });
}

/** Writes a file of trajectories, then its line in the index. */
function writeEpisodes(
  folder: string,
  path: string,
  of: Pick<IndexLine, "source" | "split" | "decoding" | "step">,
  trajectories: readonly Trajectory[],
): void {
  const { bytes, offsets } = encodeTrajectories(trajectories);
  writeFileAtomic(path, bytes);
  const file = relative(folder, path).replaceAll("\\", "/"); // as the index has it
  appendRecord(layout.index(folder), indexLine({ file, ...of }, trajectories, offsets));
}

/** Copies the evaluations at the end of a run as those at the start of one that begins with its model. Those that are there stay. */
export function carryEvaluations(from: string, to: string): void {
  for (const record of readEvaluations(from)) {
    const start = { ...record, when: "before", step: 0 } as const;
    if (record.when === "after" && readEvaluation(to, start) === undefined)
      writeEvaluation(to, start, readEpisodes(from, record));
  }
}

/** The end of a run: the trained model, then the summary. */
export async function finishRun(folder: string, summary: Summary, saveModel: (folder: string) => Promise<void>): Promise<void> {
  await writeFolderAtomic(layout.model(folder), async (into) => {
    await saveModel(into);
    writeChecksums(into);
  });
  writeRecord(layout.summary(folder), { schema: schemaVersion, ...summary });
}

/**
 * Creates an empty folder under `root` with a name that no run has yet: "office-seeupo-1", "office-seeupo-2", … Two processes never get the
 * same one.
 * @param name becomes part of a path: characters that mean something there are replaced
 * @throws RunError if the folder cannot be created
 */
export function newRunFolder(root: string, name: string): string {
  const safe =
    name
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, "-")
      .replace(/^[.-]+/, "")
      .slice(0, 100) || "run";
  const taken = new Set(finishedNames(root));
  for (let number = 1; ; number++) {
    const folder = join(root, `${safe}-${number}`);
    if (!taken.has(`${safe}-${number}`) && createFolder(folder)) return folder;
  }
}

/** Removes the folder of a run that ended before anything was written into it. */
export function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It has files, or is gone.
  }
}

/** @returns false if it is there already */
function createFolder(folder: string): boolean {
  try {
    makeFolder(dirname(folder));
    mkdirSync(folder);
    return true;
  } catch (cause) {
    if (!existsSync(folder)) throw systemError(folder, cause);
    return false;
  }
}

interface Difference {
  readonly path: string;
  readonly recorded: unknown;
  readonly wanted: unknown;
}

function firstDifference(recorded: unknown, wanted: unknown, path: readonly string[] = []): Difference | undefined {
  if (path.length === 1 && free.includes(path.join())) return undefined;
  if (typeof recorded !== "object" || typeof wanted !== "object" || recorded === null || wanted === null)
    return recorded === wanted ? undefined : { path: path.join("."), recorded, wanted };
  const keys = new Set([...Object.keys(wanted), ...Object.keys(recorded)]);
  for (const key of keys) {
    const of = (value: object) => (value as Record<string, unknown>)[key];
    const difference = firstDifference(of(recorded), of(wanted), [...path, key]);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** Writes those lines of a file again that are kept, byte for byte. @param records of all its lines, in order */
function keepLines<Record>(path: string, records: readonly Record[], keep: (record: Record) => boolean): void {
  if (!existsSync(path)) return;
  const lines = readRunFile(path).toString("utf8").split("\n");
  writeFileAtomic(path, records.map((record, at) => (keep(record) ? `${lines[at]}\n` : "")).join(""));
}

/** @throws RunError where a line of a step that is done is missing */
function requireSteps(path: string, records: readonly { readonly step: number }[], done: number): void {
  const missing = Array.from({ length: done }, (_, at) => at + 1).find((step, at) => records[at]?.step !== step);
  if (missing === undefined) return;
  throw new RunError(path, `without the line of step ${missing}`, {
    expected: `a line for each of the ${done} steps up to the newest checkpoint`,
    hint: "The file was damaged. Restore it, or start a new run with --out.",
  });
}

function isRecorded(folder: string, { source, step, split = "", decoding = "sampled" }: IndexLine): boolean {
  return source === "train" || existsSync(layout.evaluation(folder, { when: source, step, split, decoding }));
}

export function packageVersion(): string {
  const text = readFileSync(join(packageFolder, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
