import { hostname } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../../../src/runs/files.ts";
import { readLive } from "../../../src/runs/live.ts";
import { readMetrics, readRun, readSummary, readTimings, readTrajectories, trajectorySteps } from "../../../src/runs/read.ts";
import { atifOf } from "./atif.ts";
import { runPage } from "./html.ts";
import { type MlflowRun, sendToMlflow } from "./mlflow.ts";
import { asCsv, asJsonl, asParquet, stepTable, trajectoryTable } from "./tables.ts";
import { encodeEvents, type Scalar } from "./tensorboard.ts";
import { trainingTraceOf } from "./training-trace.ts";

export const exportFormats = ["csv", "jsonl", "parquet", "tensorboard", "atif", "training-trace", "html"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Writes a run's metrics and its index of trajectories in another format. @returns the files */
export function exportRun(folder: string, format: ExportFormat, into: string): string[] {
  if (format === "tensorboard") {
    const started = Math.floor(Date.parse(readRun(folder).created) / 1000);
    const path = join(into, `events.out.tfevents.${started}.${hostname()}.retrograde`);
    writeFileAtomic(path, encodeEvents(scalarsOf(folder), wallTimeOf(folder)));
    return [path];
  }
  if (format === "html") {
    const path = join(into, "run.html");
    writeFileAtomic(path, runPage(folder));
    return [path];
  }
  if (format === "atif" || format === "training-trace") return exportEpisodes(folder, format, join(into, format));
  const encode = { csv: asCsv, jsonl: asJsonl, parquet: asParquet }[format];
  return [["steps", stepTable(folder)] as const, ["trajectories", trajectoryTable(folder)] as const].map(([name, table]) => {
    const path = join(into, `${name}.${format}`);
    writeFileAtomic(path, encode(table));
    return path;
  });
}

/** Writes the episodes of training, a file for each. One that failed before its first message has nothing to write. @returns the files */
function exportEpisodes(folder: string, format: "atif" | "training-trace", into: string): string[] {
  const { model } = readRun(folder).config;
  return trajectorySteps(folder).flatMap((step) =>
    readTrajectories(folder, step)
      .filter(({ messages }) => messages.length > 0)
      .map((trajectory) => {
        const path = join(into, `${trajectory.id.replaceAll("/", "-")}.json`);
        const episode = format === "atif" ? atifOf(trajectory, String(model)) : trainingTraceOf(trajectory);
        writeFileAtomic(path, `${JSON.stringify(episode)}\n`);
        return path;
      }),
  );
}

/** Sends a run to an MLflow server. @returns its id there */
export function exportToMlflow(folder: string, server: string, experiment: string, name: string): Promise<string> {
  const { config, created } = readRun(folder);
  const [started, wallTime] = [Date.parse(created), wallTimeOf(folder)];
  const run: MlflowRun = {
    ...{ name, experiment, started, params: flat(config), scalars: scalarsOf(folder), wallTime },
    ...endOf(folder, started, wallTime),
  };
  return sendToMlflow(server, run);
}

/** Whether a run has ended, was left, or is trained now. */
function endOf(folder: string, started: number, wallTime: (step: number) => number): Pick<MlflowRun, "status" | "ended"> {
  const summary = readSummary(folder);
  if (summary !== undefined) return { status: "FINISHED", ended: Math.round(started + summary.wallSeconds * 1000) };
  if (readLive(folder) !== undefined) return { status: "RUNNING", ended: undefined };
  return { status: "KILLED", ended: Math.round(wallTime(readMetrics(folder).at(-1)?.step ?? 0) * 1000) };
}

/** Every metric of every step that exists. */
function scalarsOf(folder: string): Scalar[] {
  return readMetrics(folder).flatMap(({ step, metrics }) =>
    Object.entries(metrics).flatMap(([tag, value]) => (value === null ? [] : [{ step, tag, value }])),
  );
}

/** When a step ended, from the seconds that the steps took. */
function wallTimeOf(folder: string): (step: number) => number {
  const started = Date.parse(readRun(folder).created) / 1000;
  const ends = new Map<number, number>();
  let passed = 0;
  for (const { step, rolloutSeconds, updateSeconds, rewardSeconds = 0 } of readTimings(folder)) {
    passed += rolloutSeconds + rewardSeconds + updateSeconds;
    ends.set(step, started + passed);
  }
  return (step) => ends.get(step) ?? started;
}

function flat(value: unknown, path = ""): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, JSON.stringify(value) ?? ""]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, path === "" ? key : `${path}.${key}`));
}
