/** `npx jiti studies/arpo-tool-calls.ts --help`: does ARPO need half of the tool calls (arXiv:2507.19849, §4)? docs/studies.md tells more. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { interruptedExitCode, listenForInterrupt } from "../src/cli/interrupt.ts";
import { evaluationLine, stepLine } from "../src/cli/progress.ts";
import { type SettingValues, settingsOf, trainFlags } from "../src/cli/settings.ts";
import { RetrogradeError } from "../src/core/errors.ts";
import { resolveConfig, type TrainingConfig } from "../src/training/config.ts";
import type { TrainingEvent } from "../src/training/events.ts";
import { armConfig, armNames, armsByDefault, sharedConfig } from "./tool-calls/arms.ts";
import { curvesSvg } from "./tool-calls/figure.ts";
import { reportLines } from "./tool-calls/report.ts";
import { resultsOf } from "./tool-calls/results.ts";
import { type FinishedRun, finishRun } from "./tool-calls/runs.ts";

interface Options extends SettingValues {
  readonly out: string;
  readonly seeds: readonly number[];
  readonly arms: readonly string[];
  readonly evaluateEvery: number;
  readonly evaluationTasks: number;
}

const settingFlags = trainFlags.filter(({ path }) => !["algorithm.kind", "seed", "out"].includes(path));
const program = new Command("npx jiti studies/arpo-tool-calls.ts")
  .description(
    "Trains every arm with every seed, and writes results.json, results.md and curves.svg. Finished runs are kept, broken ones go on.",
  )
  .requiredOption("--out <folder>", "where runs and results go")
  .option("--seeds <list>", "seeds, with commas between them", numbers, [1, 2, 3])
  .option("--arms <list>", `some of ${armNames.join(", ")}; or all`, names, armsByDefault)
  .option("--evaluate-every <n>", "steps between evaluations", positiveInteger, 5)
  .option("--evaluation-tasks <n>", "held-out tasks, one attempt at each", positiveInteger, 256)
  .option("--set <path=value...>", "any other setting of all runs");
for (const { flag, description } of settingFlags) program.option(flag, description);
const options = program.parse().opts<Options>();

const interrupt = listenForInterrupt(() => console.log("Stopping: what is done is kept. The same command goes on."));
try {
  await study(options);
} catch (error) {
  if (!(error instanceof RetrogradeError)) throw error;
  console.error(error.message);
  process.exitCode = interrupt.signal.aborted ? interruptedExitCode : 1;
} finally {
  interrupt.release();
}

async function study({ out, seeds, arms, evaluateEvery, evaluationTasks, ...flags }: Options): Promise<void> {
  const shared = resolveConfig(sharedConfig({ every: evaluateEvery, tasks: evaluationTasks }), settingsOf(settingFlags, flags));
  for (const arm of arms) resolveConfig(armConfig(arm, shared));
  mkdirSync(out, { recursive: true });
  const runs: FinishedRun[] = [];
  for (const [i, seed] of seeds.entries()) {
    for (const arm of arms) {
      const onEvent = (event: TrainingEvent) => print(`${arm}, seed ${seed}`, event);
      runs.push(await finishRun({ arm, seed, out, shared }, { onEvent, signal: interrupt.signal }));
    }
    write(out, runs, shared);
    console.log(`${i + 1} of ${seeds.length} seeds done`);
  }
  console.log(`${out}/results.md, results.json, curves.svg`);
}

function write(out: string, runs: readonly FinishedRun[], shared: TrainingConfig): void {
  const results = resultsOf(runs, shared);
  writeFileSync(join(out, "results.json"), `${JSON.stringify(results)}\n`);
  writeFileSync(join(out, "results.md"), `${reportLines(results).join("\n")}\n`);
  writeFileSync(join(out, "curves.svg"), curvesSvg(results));
}

function print(run: string, event: TrainingEvent): void {
  if (event.type === "stepped") console.log(`${run}  ${stepLine(event.record, event.timing)}`);
  if (event.type === "evaluated") console.log(`${run}  ${evaluationLine(event.record)}`);
  if (event.type === "warning" || event.type === "notice") console.log(`${run}  ${event.message}`);
}

function names(list: string): readonly string[] {
  return list === "all" ? armNames : [...new Set(list.split(","))];
}

function numbers(list: string): number[] {
  const values = [...new Set(list.split(",").map(Number))];
  if (values.length === 0 || !values.every(Number.isInteger)) throw new InvalidArgumentError("Expected whole numbers: 1,2,3.");
  return values;
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("Expected a whole number from 1.");
  return value;
}
