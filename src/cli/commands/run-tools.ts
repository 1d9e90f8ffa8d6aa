import { basename, resolve } from "node:path";
import { ConfigError } from "../../core/errors.ts";
import { compareRuns } from "../../runs/compare.ts";
import { type ControlRequest, controlRequestSchema, requestControl } from "../../runs/control.ts";
import { type ExportFormat, exportFormats, exportRun, exportToMlflow } from "../../runs/export/export.ts";
import { readIndex } from "../../runs/index-file.ts";
import { readLive } from "../../runs/live.ts";
import { readMetrics, readRun } from "../../runs/read.ts";
import { writeCheckpointModel } from "../../sdk/checkpoint.ts";
import { bar, percent, plural, points, pText, sparkline, table } from "../../terminal/format.ts";
import type { Screen } from "../../terminal/screen.ts";

/** Two runs side by side: their curves, and their last evaluations task by task. */
export function compareCommand(a: string, b: string, screen: Screen): void {
  const read = (folder: string) => ({ record: readRun(folder), index: readIndex(folder) });
  const [first, second] = [read(a), read(b)];
  const curve = (folder: string) => readMetrics(folder).map(({ metrics }) => metrics.success ?? metrics.reward ?? null);
  for (const [name, folder] of [
    ["A", a],
    ["B", b],
  ] as const)
    screen.line(`${name}  ${sparkline(curve(folder))}  ${folder}`);
  const comparisons = compareRuns(first, second);
  if (comparisons.length === 0) screen.line("The two were not evaluated on the same split.");
  for (const { split, decoding, meanA, meanB, paired, pairs } of comparisons) {
    screen.line();
    screen.line(screen.paint.bold(`${split}, ${decoding}: ${plural(paired.tasks, "task")} that both attempted`));
    screen.line(`A ${bar(meanA, 20)} ${percent(meanA)}`);
    screen.line(`B ${bar(meanB, 20)} ${percent(meanB)}`);
    screen.line(`B − A ${points(paired.difference)}, ${pText(paired.pValue)}`);
    screen.line(
      `      ${plural(paired.better, "task")} better, ${paired.worse} worse; ${(paired.smallest * 100).toFixed(1)} points or more would have been detected in four of five such comparisons`,
    );
    const rows = pairs.slice(0, 10).map((pair) => [pair.task, pair.kind || "–", percent(pair.a), percent(pair.b)]);
    if (rows.length > 0) for (const line of table([["task", "kind", "A", "B"], ...rows])) screen.line(line);
  }
}

/** Leaves a request for a run's trainer. @throws ConfigError for an unknown action or a wrong value */
export function controlCommand(folder: string, action: string, value: string | undefined, screen: Screen): void {
  readRun(folder);
  const request = requestOf(action, value);
  requestControl(folder, request);
  const live = readLive(folder);
  screen.line(
    live === undefined
      ? "Recorded. Nothing trains this run now: it takes effect when it is resumed."
      : `Takes effect before the step after ${live.step}.`,
  );
}

function requestOf(action: string, value: string | undefined): ControlRequest {
  const parsed = controlRequestSchema.safeParse(action === "learning-rate" ? { action, value: Number(value) } : { action });
  if (parsed.success) return parsed.data;
  if (action === "learning-rate") throw new ConfigError("the learning rate", value, { expected: "a number above 0" });
  throw new ConfigError("the action", action, { expected: ["pause", "resume", "stop", "learning-rate"] });
}

interface ModelFlags {
  readonly out: string;
  readonly step?: string;
}

/** Writes the model of a run's checkpoint. */
export async function checkpointModelCommand(folder: string, { out, step }: ModelFlags, screen: Screen): Promise<void> {
  readRun(folder);
  if (step !== undefined && !/^[1-9]\d*$/.test(step))
    throw new ConfigError("--step", step, { expected: "a whole number above 0" });
  const written = await writeCheckpointModel(folder, out, step === undefined ? undefined : Number(step));
  screen.line(`Wrote the model after step ${written} to ${out}`);
}

interface ExportFlags {
  readonly format: string;
  readonly out?: string;
  readonly mlflow?: string;
  readonly experiment: string;
}

/** Writes a run in another format, or sends it to an MLflow server. */
export async function exportCommand(
  folder: string,
  { format, out, mlflow, experiment }: ExportFlags,
  screen: Screen,
): Promise<void> {
  readRun(folder);
  if (mlflow !== undefined) {
    screen.line(`MLflow run ${await exportToMlflow(folder, mlflow, experiment, basename(resolve(folder)))} on ${mlflow}`);
    return;
  }
  if (!isFormat(format)) throw new ConfigError("--format", format, { expected: exportFormats });
  for (const path of exportRun(folder, format, out ?? folder)) screen.line(path);
}

function isFormat(text: string): text is ExportFormat {
  return exportFormats.some((format) => format === text);
}
