/**
 * How fast the local engine trains and samples random weights of a published size on a device; test/gpu.contract.test.ts has whether it is exact.
 *
 *     npx jiti research/bench/gpu.ts --device cuda --shape smollm2 --precision float32
 *     CUDA_LAUNCH_BLOCKING=1 npx jiti research/bench/gpu.ts --device cuda --what profile
 *
 * A profile says what the kernels of each session take, by ONNX operator and by the operator and modules of the engine's graph. Steps are not recorded
 * for it, as replays have no kernels of their own; without the variable its times are those of launches.
 *
 * PyTorch's side is peers/gpu.py. Numbers of both are medians of a few rounds of one process each; compare those of one sitting.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { LocalEngine } from "../../extensions/local/engine.ts";
import { nativeRuntime } from "../../extensions/local/machine/native.ts";
import type { LocalEngineOptions } from "../../extensions/local/options.ts";
import { median } from "./measure.ts";
import { denseBatch, quickModel, randomTokens } from "./model.ts";
import { profiled, profileText } from "./profile.ts";
import { type ShapeName, shapeOf } from "./shapes.ts";

const { values } = parseArgs({
  options: {
    device: { type: "string", default: "cuda" },
    shape: { type: "string", default: "smollm2" },
    precision: { type: "string", default: "float32" },
    what: { type: "string", default: "train,sample" },
    batch: { type: "string", default: "16x512" },
    rows: { type: "string", default: "1,32,128" },
    rank: { type: "string" },
    cached: { type: "string", default: "512" },
    tokens: { type: "string", default: "64" },
    tasks: { type: "string", default: "16" },
    prompt: { type: "string", default: "256" },
  },
});
const provider = values.device as NonNullable<LocalEngineOptions["provider"]>;
const { precision } = values;
const what = values.what.split(",");
const unknown = what.find((each) => !["train", "sample", "step", "profile"].includes(each));
if (unknown !== undefined) throw new Error(`--what is ${unknown}; expected train, sample, step or profile, with commas between`);
const say = (text: string) => console.log(`${provider} ${values.shape} ${precision}: ${text}`);

const adamW = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };
const options = { threads: 4, provider, precision } as Omit<LocalEngineOptions, "model">;

const model = () => quickModel(shapeOf(values.shape as ShapeName));
const lora =
  values.rank === undefined ? undefined : { rank: Number(values.rank), alpha: 32, targets: "all-linear" as const, seed: 1 };

/** Forward, backward and AdamW. */
async function train(rounds = 6): Promise<void> {
  const engine = new LocalEngine(model(), { model: "random", ...options, lora });
  const [rows = 16, length = 512] = values.batch.split("x").map(Number);
  const samples = denseBatch(engine.info.vocabularySize, rows, length);
  const weights = samples.map(({ action }) => action.map(() => 1 / (rows * (length - 1))));
  const { crossed } = (await nativeRuntime()).device;
  const seconds: number[] = [];
  const loop = monitorEventLoopDelay({ resolution: 1 });
  let report = "";
  for (let round = 0; round < rounds; round++) {
    const [up, down] = [crossed.up, crossed.down];
    if (round > 0) loop.enable();
    const start = performance.now();
    const numbers = (await engine.forwardBackward(samples, weights, { temperature: 1 })).flat();
    const middle = performance.now();
    const { gradientNorm } = await engine.step({ ...adamW, learningRate: 1e-4 });
    seconds.push((performance.now() - start) / 1000);
    loop.disable();
    const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
    report = `mean log π ${mean.toFixed(4)}, norm ${gradientNorm.toFixed(4)}, ${((crossed.up - up) / 1e6).toFixed(1)} MB up, ${((crossed.down - down) / 1e6).toFixed(2)} MB down, step ${(performance.now() - middle).toFixed(0)} ms of ${(1000 * (seconds.at(-1) ?? 0)).toFixed(0)}`;
    if (round === 0) say(`first step ${seconds[0].toFixed(1)} s with its sessions; ${report}`);
  }
  say(
    `TRAIN${lora ? ` adapter ${lora.rank}` : ""} ${Math.round((rows * length) / median(seconds.slice(1)))} tokens/s; ${report}; longest wait of the event loop ${(loop.max / 1e6).toFixed(0)} ms`,
  );
  await engine.dispose();
}

/** Decoding behind cached contexts. */
async function sample(all = values.rows, maxTokens = Number(values.tokens)): Promise<void> {
  const cached = Number(values.cached);
  const sampling = { cacheBytes: 64 * 2 ** 30 };
  const engine = new LocalEngine(model(), { model: "random", ...options, lora, sampling });
  const { crossed } = (await nativeRuntime()).device;
  for (const rows of all.split(",").map(Number)) {
    const contexts = Array.from({ length: rows }, (_, row) => randomTokens(engine.info.vocabularySize, cached, "row", row));
    const round = (most: number, seed: number) =>
      Promise.all(
        contexts.map((context, row) =>
          engine.sample({ context, maxTokens: most, stopTokens: [], seed: seed + row, cacheKey: `row ${row}` }),
        ),
      );
    await round(2, 1); // keys and values of the contexts
    await round(8, 2); // what is recorded for replays
    const [down, up] = [crossed.down, crossed.up];
    const start = performance.now();
    await round(maxTokens, 3);
    const seconds = (performance.now() - start) / 1000;
    const bytes = (crossed.down - down + crossed.up - up) / (rows * maxTokens);
    say(
      `SAMPLE rows ${rows}, ${cached} cached: ${Math.round((rows * maxTokens) / seconds)} tokens/s, ${((1000 * seconds) / maxTokens).toFixed(2)} ms a step, ${Math.round(bytes)} bytes a token across the bus`,
    );
    for (let row = 0; row < rows; row++) engine.release(`row ${row}`);
  }
  await engine.dispose();
}

/** GRPO steps: as many tasks x 8 rollouts, rewards of even tokens, one update. The peer is TRL's trainer (`step` of peers/gpu.py). */
async function step(rounds = 5): Promise<void> {
  const engine = new LocalEngine(model(), { model: "random", ...options, lora });
  const [tasks, maxTokens] = [Number(values.tasks), Number(values.tokens)];
  const times: { whole: number; sampling: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    const samples = await Promise.all(
      Array.from({ length: 8 * tasks }, async (_, i) => {
        const [task, key] = [Math.floor(i / 8), `${round} ${i}`];
        const context = randomTokens(engine.info.vocabularySize, Number(values.prompt), "task", round, task);
        const seed = round * 8 * tasks + i;
        const { tokens } = await engine.sample({ context, maxTokens, stopTokens: [], seed, cacheKey: key });
        engine.release(key);
        return { trajectory: key, turn: 0, context, action: tokens };
      }),
    );
    const sampling = performance.now() - start;
    const rewards = samples.map(({ action }) => action.filter((token) => token % 2 === 0).length / action.length);
    const weights = samples.map(({ action }, i) => {
      const group = rewards.slice(i - (i % 8), i - (i % 8) + 8);
      const mean = group.reduce((sum, reward) => sum + reward, 0) / 8;
      const deviation = Math.sqrt(group.reduce((sum, reward) => sum + (reward - mean) ** 2, 0) / 8);
      return action.map(() => (rewards[i] - mean) / (deviation + 1e-4) / action.length / samples.length);
    });
    await engine.forwardBackward(samples, weights, { temperature: 1 });
    await engine.step({ ...adamW, learningRate: 1e-5 });
    times.push({ whole: performance.now() - start, sampling });
  }
  const of = (kind: "whole" | "sampling") => (median(times.slice(1).map((each) => each[kind])) / 1000).toFixed(2);
  const sizes = `${tasks} x 8 rollouts, prompts of ${values.prompt}, ${maxTokens} new tokens`;
  say(`STEP ${sizes}: ${of("whole")} s, of it sampling ${of("sampling")} s; first ${(times[0].whole / 1000).toFixed(1)} s`);
  await engine.dispose();
}

async function profile(): Promise<void> {
  const works: [string, () => Promise<void>][] = [["training", () => train(4)]];
  for (const rows of values.rows.split(",")) works.push([`sampling with ${rows} rows`, () => sample(rows, 8)]);
  for (const [name, work] of works)
    for (const session of await profiled(work)) say(`PROFILE of ${name}: ${profileText(session)}`);
}

if (what.includes("train")) await train();
if (what.includes("sample")) await sample();
if (what.includes("step")) await step();
if (what.includes("profile")) await profile();
