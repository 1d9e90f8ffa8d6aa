import { hostname } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "../../../src/runs/files.ts";
import { readMetrics, readRun, readTimings } from "../../../src/runs/read.ts";
import { runPage } from "./html.ts";
import { asCsv, asJsonl, asParquet, stepTable, trajectoryTable } from "./tables.ts";
import { encodeEvents, type Scalar } from "./tensorboard.ts";

export const exportFormats = ["csv", "jsonl", "parquet", "tensorboard", "html"] as const;
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
  const encode = { csv: asCsv, jsonl: asJsonl, parquet: asParquet }[format];
  return [["steps", stepTable(folder)] as const, ["trajectories", trajectoryTable(folder)] as const].map(([name, table]) => {
    const path = join(into, `${name}.${format}`);
    writeFileAtomic(path, encode(table));
    return path;
  });
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
