import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { makeBenchmarks } from "./benchmarks.ts";
import { type measure, type Result, resultText } from "./measure.ts";
import type { findPython } from "./python.ts";
import type { RateMeter } from "./rate.ts";
import type { runProgram } from "./side.ts";

interface Options {
  readonly json?: string;
  readonly only?: readonly string[];
  readonly runs: number;
  readonly threads: number;
  readonly python?: string;
}

/** The machine and what runs on it. */
interface Surroundings {
  readonly measure: typeof measure;
  readonly runProgram: typeof runProgram;
  readonly findPython: typeof findPython;
  readonly openMeter: (threads: number) => Promise<Pick<RateMeter, "measure" | "close">>;
  readonly officeModel: () => Promise<string>;
  readonly bfloat16: boolean;
  readonly processor: string;
  /** Of the last minute. */
  readonly load: number;
  readonly say: (line: string) => void;
}

/** What setting up leaves behind is less. */
const busyLoad = 1;

/** The command line. */
export function programOf(): Command {
  const names = makeBenchmarks({ folder: "", officeModel: "", threads: 1, bfloat16: true }).map(({ name }) => name);
  const positiveInteger = (text: string) => {
    if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("Expected a whole number from 1.");
    return Number(text);
  };
  return new Command("npm run bench --")
    .description("Measures the local engine and its peers: rounds alternate, medians are compared.")
    .option("--json <file>", "write { machine, results } to a file, after each benchmark")
    .addOption(new Option("--only <names...>", "some of the benchmarks").choices(names))
    .option("--runs <n>", "rounds of each, a second or more long", positiveInteger, 2)
    .option("--threads <n>", "threads of every side", positiveInteger, 2)
    .option("--python <command>", "a Python with torch and transformers (default: $RETROGRADE_PYTHON, then python3)");
}

/** Runs the benchmarks one after the other. @throws ConfigError for a Python that lacks the packages */
export async function bench({ json, only, runs, threads, python: named }: Options, around: Surroundings): Promise<void> {
  const { say, bfloat16 } = around;
  const python = await around.findPython(named);
  if (python === undefined)
    say("No Python with torch and transformers: without these peers. Name one with --python or RETROGRADE_PYTHON.");
  const folder = await mkdtemp(join(tmpdir(), "retrograde-bench-"));
  const machine = `${around.processor}, ${threads} threads, node ${process.versions.node}`;
  say(`${machine}; medians of ${runs} rounds (lowest–highest)`);
  // PyTorch's threads wait for each other without sleeping: on a busy machine it slows down far more than ONNX Runtime does.
  if (around.load > busyLoad) say(`The machine is busy (load ${around.load.toFixed(1)}): these numbers will be off.`);
  try {
    const meter = await around.openMeter(threads);
    const benchmarks = makeBenchmarks({ folder, officeModel: await around.officeModel(), threads, bfloat16 });
    const results: Result[] = [];
    const prepared = new Set<string>();
    for (const benchmark of benchmarks.filter(({ name }) => only?.includes(name) ?? true)) {
      for (const each of benchmark.prepare) {
        if (!prepared.has(each.script)) await around.runProgram(each, python);
        prepared.add(each.script);
      }
      for (const result of await around.measure(benchmark, runs, python, meter)) {
        results.push(result);
        say(resultText(result));
      }
      if (json !== undefined) await writeFile(json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
    }
    await meter.close();
  } finally {
    await rm(folder, { recursive: true });
  }
}
