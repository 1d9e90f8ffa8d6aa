/**
 * Peak memory and time of work with a model of known sizes and random weights, beside the estimate: `npx jiti research/bench/memory.ts --help`. One process
 * each, since peaks cannot be reset.
 */
import { Argument, Command, Option } from "commander";
import { LocalEngine } from "../../extensions/local/engine.ts";
import { estimateMemory, type MemoryUse, totalBytes } from "../../extensions/local/memory.ts";
import { planMemory, planText } from "../../extensions/local/memory-plan.ts";
import { type ModelConfig, parameterCount } from "../../extensions/local/model/model-config.ts";
import { type RoundedMatrix, roundLayers } from "../../extensions/local/model/rounded.ts";
import { cacheBytesOfToken } from "../../extensions/local/sampling/entries.ts";
import { randomStream } from "../../src/core/random.ts";
import type { ActionInContext, TokenId } from "../../src/core/trajectory.ts";
import { quickModel } from "./model.ts";
import { positiveInteger, processMemory } from "./options.ts";
import { type ShapeName, shapeOf, shapes } from "./shapes.ts";

interface Options {
  readonly model: ShapeName;
  readonly tokens: number;
  readonly scored?: number;
  readonly rows: number;
  readonly layers?: number;
  readonly narrow: boolean;
  readonly threads: number;
  readonly context: number;
  readonly sample: number;
  readonly turn: number;
  readonly cache?: number;
  readonly decide: boolean;
  readonly reference: boolean;
  readonly recompute?: boolean;
  readonly base: "float32" | "int8" | "int4";
  readonly weights?: "float32" | "int8";
  readonly updates: number;
  readonly limit?: number;
}

const program = new Command("npx jiti research/bench/memory.ts")
  .addArgument(
    new Argument("<what>", "an adapter (rank 16, all linear modules), the model itself, sampling alone, or conversations")
      .choices(["lora", "full", "sampling", "conversations"])
      .argRequired(),
  )
  .addOption(
    new Option("--recompute <how>", "layer by layer or not (default: as the engine decides)")
      .choices(["yes", "no"])
      .argParser((text) => text === "yes"),
  )
  .option("--tokens <n>", "tokens of a trajectory or a conversation", positiveInteger, 2048)
  .option("--scored <n>", "action tokens at its end (default: a quarter)", positiveInteger)
  .option("--rows <n>", "trajectories of an update, sharing nothing; or conversations", positiveInteger, 1)
  .addOption(new Option("--model <name>", "whose sizes").choices(Object.keys(shapes)).default("qwen2.5-0.5b"))
  .option("--layers <n>", "layers of the model (default: its own)", positiveInteger)
  .option("--narrow", "a width of 64 and 1,024 words: keys and values keep their sizes, and little is computed", false)
  .option("--threads <n>", "threads of ONNX Runtime", positiveInteger, 2)
  .option("--context <n>", "tokens of the contexts that are sampled from before and after the updates", positiveInteger, 64)
  .option("--sample <n>", "tokens to sample from each, or in each turn of a conversation", (text) => Number(text), 8)
  .option("--turn <n>", "tokens that a turn of a conversation adds", positiveInteger, 512)
  .option("--cache <GiB>", "engine.sampling.cacheGib (default: the engine's)", (text) => Number(text))
  .addOption(
    new Option("--base <precision>", "of an adapter's frozen layers").choices(["float32", "int8", "int4"]).default("float32"),
  )
  .addOption(new Option("--weights <precision>", "that is sampled with").choices(["float32", "int8"]))
  .option("--updates <n>", "updates to make", positiveInteger, 2)
  .option("--limit <GiB>", "plan from this memory, as engine.memory does (default: nothing is planned)", (text) => Number(text))
  .option("--decide", "weights are decided after a forward pass, as in reinforcement learning", false)
  .option("--reference", "a frozen reference is kept and scored in every update, as with a KL term", false)
  .parse();
const options = program.opts<Options>();
const what = program.args[0];
const { tokens, rows, threads, recompute, scored = Math.ceil(tokens / 4) } = options;

const mark = (title: string, since: number) =>
  console.log(
    `${title.padEnd(28)} ${((performance.now() - since) / 1000).toFixed(1).padStart(7)} s   processor time so far ${(process.cpuUsage().user / 1e6).toFixed(0)} + ${(process.cpuUsage().system / 1e6).toFixed(0)} s   now ${gib(processMemory("VmRSS"))}   peak ${gib(processMemory("VmHWM"))} GiB`,
  );

let start = performance.now();
const config = configOf(options);
const count = parameterCount(config);
const settings = { rank: 16, alpha: 32, targets: "all-linear", seed: 1, base: options.base } as const;
const lora = what === "lora" ? settings : undefined;
const cacheBytes = options.cache === undefined ? undefined : options.cache * 2 ** 30;
const trains = what === "lora" || what === "full";
const length = trains ? Math.max(tokens, options.context + options.sample) : tokens;
const use: MemoryUse = {
  ...{ training: trains, length, trajectories: rows, concurrency: rows, lora, cacheBytes },
  ...{ weights: options.weights, reference: options.reference },
};
const limit = options.limit && options.limit * 2 ** 30;
const plan = limit === undefined ? undefined : planMemory(config, use, { available: limit });
if (plan !== undefined && limit !== undefined) console.log(planText(config, use, plan, limit) ?? "the usual plan");
const rounded = new Map<string, RoundedMatrix>();
const engine = new LocalEngine(
  quickModel(config, lora && options.base !== "float32" ? roundLayers(rounded, options.base) : undefined),
  {
    ...{
      model: "random",
      threads,
      lora,
      recompute,
      workers: plan?.workers,
      passBytes: plan?.passBytes,
      restBytes: plan?.restBytes,
    },
    slots: rows,
    maxLength: tokens + 64,
    sampling: { cacheBytes, weights: options.weights, weightsAsInputs: plan?.weightsAsInputs },
  },
  undefined,
  rounded,
);
mark(`${(count / 1e6).toFixed(0)} M parameters`, start);
const random = randomStream(1, "tokens");
const ids = (length: number) => Array.from({ length }, () => random.integer(config.vocabSize));

if (what === "conversations") await converse();
else if (what === "sampling") await sample();
else await train();
await engine.dispose();
report();

async function train(): Promise<void> {
  const samples: ActionInContext[] = Array.from({ length: rows }, (_, i) => ({
    trajectory: `${i}`,
    turn: 0,
    context: ids(tokens - scored),
    action: ids(scored),
  }));
  const weights = samples.map(({ action }) => action.map(() => 1 / scored));
  await sample();
  if (options.reference) await engine.snapshotReference();
  for (let update = 1; update <= options.updates; update++) {
    start = performance.now();
    if (options.reference) await engine.referenceLogprobs(samples, { temperature: 1 });
    const logprobs = await engine.forwardBackward(samples, options.decide ? () => weights : weights, { temperature: 1 });
    const mean = logprobs.flat().reduce((sum, value) => sum + value, 0) / logprobs.flat().length;
    mark(`update ${update}: passes`, start);
    start = performance.now();
    const adam = { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
    const { gradientNorm } = await engine.step(adam);
    mark(`update ${update}: step`, start);
    console.log(`mean log-prob ${mean.toFixed(4)}, gradient norm ${gradientNorm.toFixed(4)}`);
  }
  await sample();
}

async function sample(): Promise<void> {
  if (options.sample === 0) return;
  start = performance.now();
  const requests = Array.from({ length: rows }, (_, seed) => ({
    ...{ context: ids(Math.min(options.context, tokens - options.sample)), maxTokens: options.sample, stopTokens: [] },
    ...{ seed, cacheKey: `${seed}` },
  }));
  await Promise.all(requests.map((request) => engine.sample(request)));
  for (const { cacheKey } of requests) engine.release(cacheKey);
  mark(`${rows} × ${options.sample} tokens sampled`, start);
}

/** All conversations at once, each turn behind the one before. */
async function converse(): Promise<void> {
  start = performance.now();
  let fed = 0;
  const play = async (seed: number) => {
    let context: TokenId[] = [];
    while (context.length + options.turn <= tokens) {
      context = [...context, ...ids(options.turn - options.sample)];
      fed += options.turn - options.sample + (context.length > options.turn ? 1 : 0); // the last token drawn was not fed yet
      const request = { context, maxTokens: options.sample, stopTokens: [], seed, cacheKey: `${seed}` };
      context = [...context, ...(await engine.sample(request)).tokens];
    }
  };
  await Promise.all(Array.from({ length: rows }, (_, seed) => play(seed)));
  mark(`${rows} conversations`, start);
  const { prefilledTokens } = engine.takeStats().sampler;
  const cached = rows * tokens * cacheBytesOfToken(config);
  const needed = cached + 4 * count;
  console.log(
    `${prefilledTokens} tokens prefilled of ${fed} new ones; keys and values ${gib(cached)} GiB, weights ${gib(4 * count)} GiB; peak / both ${(processMemory("VmHWM") / needed).toFixed(2)}`,
  );
}

function report(): void {
  const parts = estimateMemory(config, { ...use, ...plan });
  for (const { name, bytes } of parts) console.log(`  ${name.padEnd(32)} ${gib(bytes)} GiB`);
  const [peak, estimate] = [processMemory("VmHWM"), totalBytes(parts)];
  console.log(`peak ${gib(peak)} GiB   estimate ${gib(estimate)} GiB   estimate / peak ${(estimate / peak).toFixed(2)}`);
}

function configOf({ model, layers, narrow }: Options): ModelConfig {
  const shape = shapeOf(model);
  const thin = { hiddenSize: 64, intermediateSize: 128, vocabSize: 1024, heads: shape.kvHeads };
  return { ...shape, layers: layers ?? shape.layers, ...(narrow && thin) };
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(2).padStart(6);
}
