/** `npm run bench -- --help`: the local engine beside PyTorch, transformers and TRL where Python has them. docs/performance.md tells more. */
import "../../extensions/engines.ts";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Command, Option } from "commander";
import { isGpu, type Provider } from "../../extensions/local/machine/device.ts";
import { modelFolder } from "../../src/sdk/model.ts";
import { makeBenchmarks, nowhere } from "./benchmarks.ts";
import { benchmarkDevices, chooseDevice } from "./device.ts";
import { type Measured, measure, type Result } from "./measure.ts";
import { positiveInteger } from "./options.ts";
import { findPython } from "./python.ts";
import { hasBfloat16, RateMeter } from "./rate.ts";
import { type Program, runProgram } from "./side.ts";
import { figure, spread } from "./statistics.ts";

interface Options {
  readonly json?: string;
  readonly only?: readonly string[];
  readonly runs: number;
  readonly threads: number;
  readonly python?: string;
  readonly device: Provider;
}

/** Of the last minute; what setting up leaves behind is less. */
const busyLoad = 1;

const names = makeBenchmarks(nowhere).map(({ name }) => name);
const program = new Command("npm run bench --")
  .description("Measures the local engine, and in the same invocation its peers: rounds alternate, medians are compared.")
  .option(
    "--json <file>",
    "write { machine, results }: of each name, unit, ours, peer, peerName, ratio (ours / peer), limit, gflops, cores, load, rounds, setAside",
  )
  .addOption(new Option("--only <names...>", "some of the benchmarks").choices(names))
  .option("--runs <n>", "rounds of each, a second or more long", positiveInteger, 3)
  .option("--threads <n>", "threads of every side", positiveInteger, 2)
  .addOption(new Option("--device <name>", "what computes; on a GPU peers take CUDA").choices(benchmarkDevices).default("cpu"))
  .option("--python <command>", "a Python with torch and transformers (default: $RETROGRADE_PYTHON, then python3)")
  .parse();

const options = program.opts<Options>();
chooseDevice(options.device);
const python = await findPython(options.python).catch((error: Error) => program.error(error.message));
const folder = await mkdtemp(join(tmpdir(), "retrograde-bench-"));
try {
  await main(options);
} finally {
  await rm(folder, { recursive: true });
}

async function main({ json, only, runs, threads, device }: Options): Promise<void> {
  if (python === undefined)
    console.log("No Python with torch and transformers: ours alone. Name one with --python or RETROGRADE_PYTHON.");
  const officeModel = await modelFolder({ model: "default", environment: { name: "office" } });
  const machine = `${device}, ${cpus().length} × ${cpus()[0].model}, ${threads} threads, node ${process.versions.node}`;
  console.log(`${machine}; median of rounds (lowest–highest), ${runs} of each`);
  // PyTorch's threads wait for each other without sleeping: on a busy machine it slows down far more than ONNX Runtime does.
  const [load] = loadavg();
  if (load > busyLoad) console.log(`The machine is busy (load ${load.toFixed(1)}): these numbers will be off.`);

  const bfloat16 = isGpu(device) || hasBfloat16();
  const meter = await RateMeter.open(threads, isGpu(device) ? device : "cpu");
  const results: Result[] = [];
  const prepared = new Set<string>();
  for (const { prepare, ...benchmark } of makeBenchmarks({ folder, officeModel, threads, bfloat16 })) {
    if (only !== undefined && !only.includes(benchmark.name)) continue;
    for (const each of prepare) await once(each, prepared);
    const started = performance.now();
    for (const measured of await measure({ ...benchmark, prepare }, runs, python, meter)) {
      results.push(measured.result);
      console.log(rowOf(measured));
    }
    console.log(`  ${benchmark.name} took ${((performance.now() - started) / 1000).toFixed(0)} s`);
    if (json !== undefined) await writeFile(json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
  }
  await meter.close();
}

async function once(program: Program, done: Set<string>): Promise<void> {
  const key = JSON.stringify(program);
  if (!done.has(key)) await runProgram(program, undefined);
  done.add(key);
}

function rowOf({
  result: { name, unit, ratio, peerName, limit, gflops, cores, peerCores, load, setAside },
  ours,
  peer,
  entry,
}: Measured): string {
  const { target } = entry;
  const row = `${name.padEnd(32)} ${spread(ours).padStart(22)} ${unit}`;
  const wanted =
    target === undefined ? "" : "atLeast" in target ? ` (target ≥ ${target.atLeast})` : ` (target ≤ ${target.atMost})`;
  const beside = `   ${limit === null ? "" : `limit ${figure(limit)}, `}products ${gflops.toFixed(0)} GFLOP/s, load ${load.toFixed(1)}${cores === null ? "" : `, cores ${cores.toFixed(2)}${peerCores === null ? "" : ` / ${peerCores.toFixed(2)}`}`}${setAside > 0 ? `, ${setAside} rounds set aside` : ""}`;
  if (ratio !== null) return `${row}   peer ${spread(peer)}   ratio ${ratio.toFixed(2)}${wanted}   ${peerName}${beside}`;
  return entry.peer === undefined ? row + wanted + beside : row + beside;
}
