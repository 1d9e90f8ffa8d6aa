/**
 * Peak memory of work with a model of known sizes and random weights, beside the estimate: `npx jiti research/bench/memory.ts --help`. One process each,
 * since peaks cannot be reset.
 */
import { Argument, Command, Option } from "commander";
import { LocalEngine } from "../../extensions/local/engine.ts";
import { estimateMemory, type MemoryUse, totalBytes } from "../../extensions/local/memory.ts";
import { type RoundedMatrix, roundLayers } from "../../extensions/local/model/rounded.ts";
import { denseBatch, quickModel, randomTokens } from "./model.ts";
import { type ShapeName, shapeOf, shapes } from "./shapes.ts";

interface Options {
  readonly model: ShapeName;
  readonly tokens: number;
  readonly rows: number;
  readonly layers?: number;
  readonly threads: number;
  readonly base: "float32" | "int8" | "int4";
  readonly updates: number;
}

const program = new Command("npx jiti research/bench/memory.ts")
  .addArgument(new Argument("<what>", "what is trained, if anything is").choices(["lora", "full", "sampling"]).argRequired())
  .option("--tokens <n>", "tokens of a trajectory", Number, 2048)
  .option("--rows <n>", "trajectories of an update, sharing nothing", Number, 1)
  .addOption(new Option("--model <name>", "whose sizes").choices(Object.keys(shapes)).default("qwen2.5-0.5b"))
  .option("--layers <n>", "layers of the model (default: its own)", Number)
  .option("--threads <n>", "threads of ONNX Runtime", Number, 2)
  .addOption(
    new Option("--base <precision>", "of an adapter's frozen layers").choices(["float32", "int8", "int4"]).default("float32"),
  )
  .option("--updates <n>", "updates to make", Number, 2)
  .parse();
const { model, tokens, rows, layers, threads, base, updates } = program.opts<Options>();
const [what] = program.args;
const sampled = 8;
const shape = shapeOf(model);
const config = { ...shape, layers: layers ?? shape.layers };
const lora = what === "lora" ? ({ rank: 16, alpha: 32, targets: "all-linear", seed: 1, base } as const) : undefined;
const training = what !== "sampling";
const length = training ? tokens + sampled : tokens;
const use: MemoryUse = { training, length, trajectories: rows, concurrency: rows, lora };

const rounded = new Map<string, RoundedMatrix>();
const weights = quickModel(config, lora && base !== "float32" ? roundLayers(rounded, base) : undefined);
const options = { model: "random", threads, lora, slots: rows, maxLength: tokens + 64 };
const engine = new LocalEngine(weights, options, undefined, rounded);

async function sample(): Promise<void> {
  const contexts = Array.from({ length: rows }, (_, row) => randomTokens(config.vocabSize, tokens - sampled, "context", row));
  await Promise.all(
    contexts.map((context, seed) => engine.sample({ context, maxTokens: sampled, stopTokens: [], seed, cacheKey: `${seed}` })),
  );
  for (let seed = 0; seed < rows; seed++) engine.release(`${seed}`);
}

await sample();
if (training) {
  const samples = denseBatch(config.vocabSize, rows, tokens);
  const equal = samples.map(({ action }) => action.map(() => 1 / action.length));
  for (let update = 1; update <= updates; update++) {
    const started = performance.now();
    await engine.forwardBackward(samples, equal, { temperature: 1 });
    await engine.step({ learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
    console.log(`update ${update}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
  await sample();
}
await engine.dispose();
const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(2).padStart(6);
const parts = estimateMemory(config, use);
for (const { name, bytes } of parts) console.log(`  ${name.padEnd(32)} ${gib(bytes)} GiB`);
const [peak, estimate] = [1024 * process.resourceUsage().maxRSS, totalBytes(parts)];
console.log(`peak ${gib(peak)} GiB   estimate ${gib(estimate)} GiB   estimate / peak ${(estimate / peak).toFixed(2)}`);
