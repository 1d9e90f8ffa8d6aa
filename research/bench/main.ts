/** `npm run bench -- --help`: the local engine beside PyTorch, TRL and llama.cpp where they are installed (docs/performance.md). */
import "../../extensions/engines.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { modelFolder } from "../../src/sdk/model.ts";
import { makeBenchmarks } from "./benchmarks.ts";
import { measure, type Result, resultText } from "./measure.ts";
import { findPython } from "./python.ts";
import { hasBfloat16, RateMeter } from "./rate.ts";
import { runProgram } from "./side.ts";

interface Options {
  readonly json?: string;
  readonly only?: readonly string[];
  readonly runs: number;
  readonly threads: number;
  readonly python?: string;
}

/** Of the last minute; what setting up leaves behind is less. */
const busyLoad = 1;
const names = makeBenchmarks({ folder: "", officeModel: "", threads: 1, bfloat16: true }).map(({ name }) => name);
const positiveInteger = (text: string) => {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError("Expected a whole number from 1.");
  return Number(text);
};
const program = new Command("npm run bench --")
  .description("Measures the local engine and its peers: rounds alternate, medians are compared.")
  .option("--json <file>", "write { machine, results } to a file, after each benchmark")
  .addOption(new Option("--only <names...>", "some of the benchmarks").choices(names))
  .option("--runs <n>", "rounds of each, a second or more long", positiveInteger, 2)
  .option("--threads <n>", "threads of every side", positiveInteger, 2)
  .option("--python <command>", "a Python with torch and transformers (default: $RETROGRADE_PYTHON, then python3)")
  .parse();

const { json, only, runs, threads, python: named } = program.opts<Options>();
const python = await findPython(named).catch((error: Error) => program.error(error.message));
if (python === undefined)
  console.log("No Python with torch and transformers: without these peers. Name one with --python or RETROGRADE_PYTHON.");
const folder = await mkdtemp(join(tmpdir(), "retrograde-bench-"));
const machine = `${cpus().length} × ${cpus()[0].model}, ${threads} threads, node ${process.versions.node}`;
console.log(`${machine}; medians of ${runs} rounds (lowest–highest)`);
// PyTorch's threads wait for each other without sleeping: on a busy machine it slows down far more than ONNX Runtime does.
const [load] = loadavg();
if (load > busyLoad) console.log(`The machine is busy (load ${load.toFixed(1)}): these numbers will be off.`);
try {
  const meter = await RateMeter.open(threads);
  const officeModel = await modelFolder({ model: "default", environment: { name: "office" } });
  const results: Result[] = [];
  const prepared = new Set<string>();
  for (const benchmark of makeBenchmarks({ folder, officeModel, threads, bfloat16: hasBfloat16() })) {
    if (only !== undefined && !only.includes(benchmark.name)) continue;
    for (const each of benchmark.prepare) {
      if (!prepared.has(each.script)) await runProgram(each, python);
      prepared.add(each.script);
    }
    for (const result of await measure(benchmark, runs, python, meter)) {
      results.push(result);
      console.log(resultText(result));
    }
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  }
  await meter.close();
} finally {
  await rm(folder, { recursive: true });
}
