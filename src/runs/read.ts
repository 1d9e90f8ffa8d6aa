import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RunError, reasonOf } from "../core/errors.ts";
import type { Trajectory } from "../core/trajectory.ts";
import { largestRecord, readRunFile } from "./files.ts";
import { type EvaluationKey, layout, stepOf } from "./layout.ts";
import {
  decodings,
  type EvaluationRecord,
  evaluationRecordSchema,
  type Progress,
  progressSchema,
  type RunRecord,
  runRecordSchema,
  type StepRecord,
  type Summary,
  stepRecordSchema,
  summarySchema,
  type TimingRecord,
  timingRecordSchema,
} from "./records.ts";
import { requireKnownVersion } from "./schema.ts";
import { lostItsEnd, unsealed } from "./seal.ts";
import { decodeTrajectories } from "./trajectory-file.ts";

/** Folders of runs under a root, newest first. One whose `run.json` cannot be read is in `damaged`, and harms no other. */
export function listRuns(root: string): {
  readonly runs: readonly { readonly folder: string; readonly record: RunRecord }[];
  readonly damaged: readonly { readonly folder: string; readonly error: string }[];
} {
  const runs: { folder: string; record: RunRecord }[] = [];
  const damaged: { folder: string; error: string }[] = [];
  if (!existsSync(root)) return { runs, damaged };
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    const folder = join(root, entry.name);
    if (!entry.isDirectory() || !existsSync(layout.run(folder))) continue;
    try {
      runs.push({ folder, record: readRun(folder) });
    } catch (error) {
      damaged.push({ folder, error: reasonOf(error) });
    }
  }
  return { runs: runs.sort((a, b) => b.record.created.localeCompare(a.record.created)), damaged };
}

/** @throws RunError where the folder holds no run */
export function readRun(folder: string): RunRecord {
  if (!existsSync(layout.run(folder)))
    throw new RunError(folder, "no run", {
      expected: "a folder with a run.json",
      hint: "`retrograde-rl runs` lists the runs that are there.",
    });
  return readJson(layout.run(folder), runRecordSchema);
}

/** Steps that are done, in order. */
export function readMetrics(folder: string): StepRecord[] {
  const timings = readTimings(folder);
  return readLines(layout.metrics(folder), stepRecordSchema, (line) => timings[line]?.metricsCrc32);
}

export function readTimings(folder: string): TimingRecord[] {
  return readLines(layout.timing(folder), timingRecordSchema);
}

/** Undefined until the run has finished. */
export function readSummary(folder: string): Summary | undefined {
  return existsSync(layout.summary(folder)) ? readJson(layout.summary(folder), summarySchema) : undefined;
}

/** In the order of their steps; of each, sampled attempts before greedy ones. */
export function readEvaluations(folder: string): EvaluationRecord[] {
  return finishedNames(layout.evaluationFolder(folder))
    .filter((name) => name.endsWith(".json"))
    .map((name) => readJson(join(layout.evaluationFolder(folder), name), evaluationRecordSchema))
    .sort((a, b) => a.step - b.step || decodings.indexOf(a.decoding) - decodings.indexOf(b.decoding));
}

/** Undefined until that evaluation was made. */
export function readEvaluation(folder: string, of: EvaluationKey): EvaluationRecord | undefined {
  const path = layout.evaluation(folder, of);
  return existsSync(path) ? readJson(path, evaluationRecordSchema) : undefined;
}

/** Every attempt of an evaluation, those at the same task in one group. */
export function readEpisodes(folder: string, of: EvaluationKey): Trajectory[] {
  return readTrajectoryFile(layout.episodes(folder, of));
}

/** Steps whose trajectories are there. */
export function trajectorySteps(folder: string): number[] {
  return stepsIn(layout.trajectoryFolder(folder));
}

/** The trajectories that a step was trained on. @throws RunError where that step has none */
export function readTrajectories(folder: string, step: number): Trajectory[] {
  return readTrajectoryFile(layout.trajectories(folder, step));
}

/** Steps of the checkpoints, ascending. */
export function checkpointSteps(folder: string): number[] {
  return stepsIn(layout.checkpointFolder(folder));
}

/** Where a run stood at a checkpoint. */
export function readProgress(folder: string, step: number): Progress {
  return readJson(join(layout.checkpoint(folder, step), "trainer.json"), progressSchema);
}

/** Names in a folder, without unfinished ones. @throws RunError if it is not a folder */
export function finishedNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .sort();
  } catch (cause) {
    throw damaged(folder, cause);
  }
}

function stepsIn(folder: string): number[] {
  return finishedNames(folder)
    .map(stepOf)
    .filter((step) => step !== undefined);
}

function readTrajectoryFile(path: string): Trajectory[] {
  if (!existsSync(path)) throw new RunError(path, "missing", { expected: "a file of trajectories" });
  try {
    return decodeTrajectories(readRunFile(path));
  } catch (cause) {
    throw damaged(path, cause);
  }
}

/** Reads a whole file of JSON. @throws RunError naming a damaged file */
export function readJson<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> {
  try {
    return recordOf(path, readRunFile(path, largestRecord).toString("utf8"), schema);
  } catch (cause) {
    throw damaged(path, cause);
  }
}

/**
 * Reads whole lines only: the last one is half written while a run is killed.
 * @param checksum of a line, counted from 0, where another file has it
 * @throws RunError naming a damaged file
 */
export function readLines<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  checksum: (line: number) => number | undefined = () => undefined,
): z.output<Schema>[] {
  if (!existsSync(path)) return [];
  try {
    const lines = readRunFile(path).toString("utf8").split("\n");
    const rest = lines.pop() ?? "";
    if (lostItsEnd(rest)) throw new Error("its last line lost its end");
    return lines.map((line, at) => recordOf(path, line, schema, checksum(at)));
  } catch (cause) {
    throw damaged(path, cause);
  }
}

/** Parses a record. @throws Error or RunError if it is not as it was written, or of a newer version */
export function recordOf<Schema extends z.ZodType>(
  path: string,
  text: string,
  schema: Schema,
  checksum?: number,
): z.output<Schema> {
  const content = unsealed(text, checksum);
  requireKnownVersion(path, content);
  return schema.parse(content);
}

/** The error of a file that cannot be read. */
export function damaged(path: string, cause: unknown): RunError {
  if (cause instanceof RunError) return cause;
  const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : reasonOf(cause);
  return new RunError(path, `unreadable (${reason})`, { expected: "a file that this version of retrograde wrote", cause });
}
