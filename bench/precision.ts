/**
 * Sampling with weights of float32, 8 and 4 bits, in turns in one process: `npx jiti bench/precision.ts --help`. Tokens per second of processor time,
 * which other programs disturb less than tokens per second.
 */
import { Command, Option } from "commander";
import { randomStream } from "../src/core/random.ts";
import { roundedOf } from "../src/engines/local/model/rounded.ts";
import { LocalSampler } from "../src/engines/local/sampling/sampler.ts";
import { quickModel } from "./model.ts";
import { positiveInteger } from "./options.ts";
import { type ShapeName, shapeOf, shapes } from "./shapes.ts";
import { median } from "./statistics.ts";

interface Options {
  readonly model: ShapeName;
  readonly layers?: number;
  readonly tokens: number;
  readonly context: number;
  readonly rounds: number;
  readonly threads: number;
}

const options = new Command("npx jiti bench/precision.ts")
  .addOption(new Option("--model <name>", "whose sizes").choices(Object.keys(shapes)).default("qwen2.5-0.5b"))
  .option("--layers <n>", "layers of the model (default: its own)", positiveInteger)
  .option("--tokens <n>", "tokens to sample for each row", positiveInteger, 8)
  .option("--context <n>", "tokens before them", positiveInteger, 32)
  .option("--rounds <n>", "of each, in turns", positiveInteger, 3)
  .option("--threads <n>", "threads of ONNX Runtime", positiveInteger, 1)
  .parse()
  .opts<Options>();

const shape = shapeOf(options.model);
const config = { ...shape, layers: options.layers ?? shape.layers };
const { parameters } = quickModel(config);
const arrays = new Map([...parameters].map(([name, { data }]) => [name, data]));
const maxLength = options.context + options.tokens + 1;
const common = { threads: options.threads, slots: 16, maxLength, cacheBytes: 2 ** 28, decode: undefined };
const samplers = [
  { ...common, weights: "float32" as const },
  { ...common, weights: "int8" as const },
  // The layers of a frozen base; the output in 8 bits.
  { ...common, weights: "int8" as const, rounded: roundedOf(config, arrays, new Map(), "int4") },
].map((each) => new LocalSampler(config, arrays, 0, each));
const random = randomStream(1, "tokens");
const context = Array.from({ length: options.context }, () => random.integer(config.vocabSize));

console.log("| rows | float32 tokens/s | int8 tokens/s | int4 tokens/s | int8 / float32, round by round | int4 / float32 |");
console.log("|---|---|---|---|---|---|");
for (const rows of [1, 16]) {
  const speeds: number[][] = samplers.map(() => []);
  for (let round = 0; round <= options.rounds; round++)
    for (const [i, sampler] of samplers.entries()) {
      const requests = (seeds: number) => Array.from({ length: rows }, (_, seed) => ({ ...request(), seed: seeds + seed }));
      await Promise.all(requests(0).map((each) => sampler.sample({ ...each, maxTokens: 1, cacheKey: `${each.seed}` })));
      const before = processorSeconds();
      await Promise.all(requests(0).map((each) => sampler.sample({ ...each, cacheKey: `${each.seed}` })));
      // The first round opens the sessions.
      if (round > 0) speeds[i].push((rows * options.tokens) / (processorSeconds() - before));
      for (const { seed } of requests(0)) sampler.release(`${seed}`);
    }
  const ratios = speeds.slice(1).map((some) => some.map((speed, round) => (speed / speeds[0][round]).toFixed(2)).join(", "));
  const cells = [...speeds.map((some) => median(some).toFixed(2)), ...ratios];
  console.log(`| ${rows} | ${cells.join(" | ")} |`);
}
await Promise.all(samplers.map((sampler) => sampler.close()));

function request() {
  return { context, maxTokens: options.tokens, stopTokens: [] };
}

function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
