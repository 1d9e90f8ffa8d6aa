import { wholeNumber } from "../../../src/cli/numbers.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { readMetrics, readRun } from "../../../src/runs/read.ts";
import { bar, percent, plural, points, pText, sparkline, table } from "../../../src/terminal/format.ts";
import type { Screen } from "../../../src/terminal/screen.ts";
import { writeCheckpointModel } from "../checkpoint-model.ts";
import { compareRuns } from "../compare.ts";
import { exportFormats, exportRun } from "../export/export.ts";
import { readIndex } from "../read-index.ts";

/** Two runs side by side: their curves, and their last evaluations task by task. */
export function compareCommand(a: string, b: string, screen: Screen): void {
  const read = (folder: string) => ({ record: readRun(folder), index: readIndex(folder) });
  const [first, second] = [read(a), read(b)];
  const curve = (folder: string) => readMetrics(folder).map(({ metrics }) => metrics.success ?? metrics.reward ?? null);
  screen.line(`A  ${sparkline(curve(a))}  ${a}`);
  screen.line(`B  ${sparkline(curve(b))}  ${b}`);
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

export async function checkpointModelCommand(
  folder: string,
  { out, step }: { readonly out: string; readonly step?: string },
  screen: Screen,
): Promise<void> {
  readRun(folder);
  const written = await writeCheckpointModel(folder, out, wholeNumber("--step", step));
  screen.line(`Wrote the model after step ${written} to ${out}`);
}

export function exportCommand(
  folder: string,
  { format, out }: { readonly format: string; readonly out?: string },
  screen: Screen,
): void {
  readRun(folder);
  const known = exportFormats.find((each) => each === format);
  if (known === undefined) throw new ConfigError("--format", format, { expected: exportFormats });
  for (const path of exportRun(folder, known, out ?? folder)) screen.line(path);
}
