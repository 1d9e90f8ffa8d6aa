/**
 * Peak memory and time of training a model of the shape of one on the Hub, with random weights, on trajectories of 2,048 tokens:
 * `npx jiti bench/memory.ts lora`, or `full`. One process each, since peaks cannot be reset.
 */
import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { randomStream } from "../src/core/random.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";
import { LocalEngine } from "../src/engines/local/engine.ts";
import { formatModelConfig, parameterCount, parameterShapes } from "../src/engines/local/model/model-config.ts";
import type { Model } from "../src/engines/local/model/model-folder.ts";
import { type ShapeName, shapeOf, shapes } from "./shapes.ts";

interface Options {
  readonly model: ShapeName;
  readonly tokens: number;
  readonly scored: number;
  readonly trajectories: number;
  readonly layers?: number;
  readonly threads: number;
  readonly sample: number;
  readonly decide: boolean;
  readonly reference: boolean;
  readonly recompute?: boolean;
  readonly base: "float32" | "int8";
  readonly updates: number;
}

const program = new Command("npx jiti bench/memory.ts")
  .addOption(
    new Option("--recompute <how>", "layer by layer or not (default: as the engine decides)")
      .choices(["yes", "no"])
      .argParser((text) => text === "yes"),
  )
  .argument("<what>", "lora (rank 16, all linear modules) or full")
  .option("--tokens <n>", "tokens of a trajectory", positiveInteger, 2048)
  .option("--scored <n>", "action tokens at its end", positiveInteger, 1024)
  .option("--trajectories <n>", "trajectories of an update, sharing nothing", positiveInteger, 1)
  .addOption(new Option("--model <name>", "whose sizes").choices(Object.keys(shapes)).default("qwen2.5-0.5b"))
  .option("--layers <n>", "layers of the model (default: its own)", positiveInteger)
  .option("--threads <n>", "threads of ONNX Runtime", positiveInteger, 2)
  .option("--sample <n>", "tokens to sample before and after the update", (text) => Number(text), 8)
  .addOption(new Option("--base <precision>", "of an adapter's frozen layers").choices(["float32", "int8"]).default("float32"))
  .option("--updates <n>", "updates to make", positiveInteger, 2)
  .option("--decide", "weights are decided after a forward pass, as in reinforcement learning", false)
  .option("--reference", "a frozen reference is kept and scored in every update, as with a KL term", false)
  .parse();
const options = program.opts<Options>();
const what = program.args[0];
if (what !== "lora" && what !== "full") program.error("Expected lora or full.");

const mark = (title: string, since: number) =>
  console.log(
    `${title.padEnd(28)} ${((performance.now() - since) / 1000).toFixed(1).padStart(7)} s   processor time so far ${(process.cpuUsage().user / 1e6).toFixed(0)} + ${(process.cpuUsage().system / 1e6).toFixed(0)} s   now ${gib("VmRSS")}   peak ${gib("VmHWM")} GiB`,
  );

let start = performance.now();
const shape = shapeOf(options.model);
const config = { ...shape, layers: options.layers ?? shape.layers };
const count = parameterCount(config);

const lora = what === "lora" ? { rank: 16, alpha: 32, targets: "all-linear" as const, seed: 1, base: options.base } : undefined;
const { threads, recompute } = options;
const engine = new LocalEngine(makeModel(), {
  model: "random",
  threads,
  slots: 1,
  maxLength: options.tokens + 64,
  lora,
  recompute,
});
mark(`${(count / 1e6).toFixed(0)} M parameters`, start);
const random = randomStream(1, "tokens");
const ids = (length: number) => Array.from({ length }, () => random.integer(config.vocabSize));
const samples: ActionInContext[] = Array.from({ length: options.trajectories }, (_, i) => ({
  trajectory: `${i}`,
  turn: 0,
  context: ids(options.tokens - options.scored),
  action: ids(options.scored),
}));
const weights = samples.map(({ action }) => action.map(() => 1 / options.scored));

await sample();
if (options.reference) await engine.snapshotReference();
for (let update = 1; update <= options.updates; update++) {
  start = performance.now();
  if (options.reference) await engine.referenceLogprobs(samples, { temperature: 1 });
  const logprobs = await engine.forwardBackward(samples, options.decide ? () => weights : weights, { temperature: 1 });
  const mean = logprobs.flat().reduce((sum, value) => sum + value, 0) / logprobs.flat().length;
  mark(`update ${update}: passes`, start);
  start = performance.now();
  const { gradientNorm } = await engine.step({
    learningRate: 1e-4,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-8,
    weightDecay: 0,
    clipNorm: 1,
  });
  mark(`update ${update}: step`, start);
  console.log(`mean log-prob ${mean.toFixed(4)}, gradient norm ${gradientNorm.toFixed(4)}`);
}
await sample();
await engine.dispose();

async function sample(): Promise<void> {
  if (options.sample === 0) return;
  start = performance.now();
  const context = samples[0].context.slice(0, 64);
  const { logprobs } = await engine.sample({ context, maxTokens: options.sample, stopTokens: [], seed: 1 });
  mark(`${logprobs.length} tokens sampled`, start);
}

/** Nothing but the engine may hold it: with a base in 8 bits its float32 matrices are given back. */
function makeModel(): Model {
  const parameters = new Map([...parameterShapes(config)].map(([name, shape]) => [name, { shape, data: randomWeights(shape) }]));
  return { config, parameters, configFile: formatModelConfig(config), companions: new Map() };
}

/** Normal enough: a sum of three uniforms of a fast generator, with deviation 1/√inputs; vectors are 1. */
function randomWeights(shape: readonly number[]): Float32Array {
  const data = new Float32Array(shape.reduce((product, size) => product * size, 1));
  if (shape.length === 1) return data.fill(1);
  const scale = 2 / Math.sqrt(shape[1]) / 2 ** 32;
  let state = data.length | 1;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state;
  };
  for (let i = 0; i < data.length; i++) data[i] = scale * (next() + next() + next());
  return data;
}

function gib(field: string): string {
  const kib = Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  return (kib / 2 ** 20).toFixed(2).padStart(6);
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("Expected a whole number from 1.");
  return value;
}
