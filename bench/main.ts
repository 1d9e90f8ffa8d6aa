/** `npm run bench -- --help`: speed of the local engine, beside PyTorch and transformers where Python has them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Engine } from "../src/engines/engine.ts";
import { createLocalEngine } from "../src/engines/local/engine.ts";
import { type Benchmark, benchmarks } from "./benchmarks.ts";
import { writeBenchmarkModel } from "./model.ts";
import { startPeer } from "./peer.ts";
import { findPython } from "./python.ts";

interface Options {
  readonly json?: string;
  readonly only?: string;
  readonly runs: number;
  readonly threads: number;
  readonly python?: string;
}

/** Of several rounds. `peer`, `peerName` and `ratio` are null where there is no Python with PyTorch and transformers. */
interface Result {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number | null;
  readonly peerName: string | null;
  readonly ratio: number | null;
}

const program = new Command("npm run bench --")
  .description(
    "Measures the local engine, and in the same invocation PyTorch with transformers: rounds alternate, medians are compared.",
  )
  .option("--json <file>", "write the results as a list of { name, unit, ours, peer, peerName, ratio }")
  .addOption(new Option("--only <name>", "one benchmark").choices(benchmarks.map(({ name }) => name)))
  .option("--runs <n>", "rounds of each, a second or more long", positiveInteger, 3)
  .option("--threads <n>", "threads of both engines", positiveInteger, 2)
  .option("--python <command>", "a Python with torch and transformers (default: $RETROGRADE_PYTHON, then python3)")
  .parse();
const options = program.opts<Options>();

const python = await findPython(options.python).catch((error: Error) => program.error(error.message));
if (python === undefined)
  console.log("No Python with torch and transformers: ours alone. Name one with --python or RETROGRADE_PYTHON.");
console.log(
  `${cpus()[0].model}, ${options.threads} threads, node ${process.versions.node}; median of rounds (lowest–highest), ${options.runs} of each`,
);

const folder = await mkdtemp(join(tmpdir(), "retrograde-bench-"));
try {
  await writeBenchmarkModel(folder);
  const results: Result[] = [];
  for (const benchmark of benchmarks) {
    if (options.only === undefined || options.only === benchmark.name) results.push(await measure(benchmark));
  }
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}

/** Alternates rounds of both sides, so that what else the machine does meets both alike; each idles while the other runs. */
async function measure(benchmark: Benchmark): Promise<Result> {
  const { name, unit, peer: program } = benchmark;
  const engine = await createLocalEngine({ model: folder, threads: options.threads });
  const peer =
    python === undefined ? undefined : await startPeer(python, program.script, [folder, options.threads, ...program.args]);
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    await benchmark.work(engine);
    for (let round = 0; round < options.runs; round++) {
      ours.push(await roundOf(benchmark, engine));
      if (peer !== undefined) theirs.push(await peer.round());
    }
  } finally {
    peer?.stop();
    await engine.dispose();
  }
  const result = { name, unit, ours: median(ours), peer: null, peerName: null, ratio: null };
  const row = `${name.padEnd(18)} ${describe(ours)} ${unit}`;
  if (peer === undefined) {
    console.log(row);
    return result;
  }
  const ratio = median(ours) / median(theirs);
  console.log(`${row}   peer ${describe(theirs)}   ratio ${ratio.toFixed(2)}   ${peer.name}`);
  return { ...result, peer: median(theirs), peerName: peer.name, ratio };
}

/** Tokens per second over repeated work for at least a second. */
async function roundOf({ tokens, work }: Benchmark, engine: Engine): Promise<number> {
  const start = performance.now();
  let calls = 0;
  let seconds = 0;
  while (seconds < 1) {
    await work(engine);
    calls++;
    seconds = (performance.now() - start) / 1000;
  }
  return (calls * tokens) / seconds;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function describe(values: readonly number[]): string {
  return `${median(values).toFixed(0).padStart(7)} (${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)})`;
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("Expected a whole number from 1.");
  return value;
}
