/**
 * Peak memory of work with a model of known sizes and random weights, beside the estimate: `npx jiti research/bench/memory.ts --help`. One process each,
 * since peaks cannot be reset.
 */
import { fileURLToPath } from "node:url";
import { Argument, Command, Option } from "commander";
import { LocalEngine } from "../../extensions/local/engine.ts";
import { estimateMemory, type MemoryPart, totalBytes } from "../../extensions/local/memory.ts";
import { type RoundedMatrix, roundLayers } from "../../extensions/local/model/rounded.ts";
import { benchmarkAdapter, denseBatch, quickModel, randomTokens } from "./model.ts";
import { type Measured, peakMegabytes, update } from "./ours/rounds.ts";
import { type ShapeName, shapeOf, shapes } from "./shapes.ts";

interface Work {
  readonly tokens: number;
  readonly rows: number;
  readonly updates: number;
}

interface Options extends Work {
  readonly model: ShapeName;
  readonly layers?: number;
  readonly threads: number;
  readonly base: "float32" | "int8" | "int4";
}

const sampled = 8;

/** Samples, makes updates, and samples again; without updates it samples once. */
export async function work(engine: Measured, { tokens, rows, updates }: Work, say: (line: string) => void): Promise<void> {
  const { vocabularySize } = engine.info;
  const sample = async (): Promise<void> => {
    const contexts = Array.from({ length: rows }, (_, row) => randomTokens(vocabularySize, tokens - sampled, "context", row));
    await Promise.all(
      contexts.map((context, seed) => engine.sample({ context, maxTokens: sampled, stopTokens: [], seed, cacheKey: `${seed}` })),
    );
    for (let seed = 0; seed < rows; seed++) engine.release(`${seed}`);
  };
  await sample();
  const samples = denseBatch(vocabularySize, rows, tokens);
  for (let made = 1; made <= updates; made++) {
    const started = performance.now();
    await update(engine, samples);
    say(`update ${made}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
  if (updates > 0) await sample();
}

const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(2).padStart(6);

/** The parts of an estimate, and its sum beside the peak. */
export function peakLines(parts: readonly MemoryPart[], peak: number): string[] {
  const estimate = totalBytes(parts);
  return [
    ...parts.map(({ name, bytes }) => `  ${name.padEnd(32)} ${gib(bytes)} GiB`),
    `peak ${gib(peak)} GiB   estimate ${gib(estimate)} GiB   estimate / peak ${(estimate / peak).toFixed(2)}`,
  ];
}

async function main(): Promise<void> {
  const bases = ["float32", "int8", "int4"];
  const program = new Command("npx jiti research/bench/memory.ts")
    .addArgument(new Argument("<what>", "what is trained, if anything is").choices(["lora", "full", "sampling"]).argRequired())
    .option("--tokens <n>", "tokens of a trajectory", Number, 2048)
    .option("--rows <n>", "trajectories of an update, sharing nothing", Number, 1)
    .addOption(new Option("--model <name>", "whose sizes").choices(Object.keys(shapes)).default("qwen2.5-0.5b"))
    .option("--layers <n>", "layers of the model (default: its own)", Number)
    .option("--threads <n>", "threads of ONNX Runtime", Number, 2)
    .addOption(new Option("--base <precision>", "of an adapter's frozen layers").choices(bases).default("float32"))
    .option("--updates <n>", "updates to make", Number, 2)
    .parse();
  const { model, tokens, rows, layers, threads, base, updates } = program.opts<Options>();
  const [what] = program.args;
  const shape = shapeOf(model);
  const config = { ...shape, layers: layers ?? shape.layers };
  const lora = what === "lora" ? { ...benchmarkAdapter, seed: 1, base } : undefined;
  const training = what !== "sampling";
  const length = training ? tokens + sampled : tokens;

  const rounded = new Map<string, RoundedMatrix>();
  const weights = quickModel(config, lora && base !== "float32" ? roundLayers(rounded, base) : undefined);
  const options = { model: "random", threads, lora, slots: rows, maxLength: tokens + 64 };
  const engine = new LocalEngine(weights, options, undefined, rounded);
  await work(engine, { tokens, rows, updates: training ? updates : 0 }, console.log);
  await engine.dispose();
  const parts = estimateMemory(config, { training, length, trajectories: rows, concurrency: rows, lora });
  for (const line of peakLines(parts, 2 ** 20 * peakMegabytes())) console.log(line);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
