/**
 * How fast the local engine trains and samples random weights of a published size on a device; test/gpu.contract.test.ts has whether it is exact.
 *
 *     npx jiti research/bench/gpu.ts --device cuda --shape smollm2 --precision float32
 *
 * PyTorch's side is peers/gpu.py. Numbers of both are medians of a few rounds of one process each; compare those of one sitting.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { LocalEngine } from "../../extensions/local/engine.ts";
import { nativeRuntime } from "../../extensions/local/machine/native.ts";
import type { LocalEngineOptions } from "../../extensions/local/options.ts";
import { median } from "./measure.ts";
import { benchmarkAdapter, denseBatch, quickModel, randomTokens } from "./model.ts";
import { type Measured, update } from "./ours/rounds.ts";
import { type ShapeName, shapeOf } from "./shapes.ts";

/** Bytes that crossed the bus since the program began. */
type Crossed = Readonly<Record<"up" | "down", number>>;
type Say = (text: string) => void;
const [trainedRows, rowLength, cached, newTokens] = [16, 512, 512, 64];

/** Forward, backward and AdamW over 16 rows of 512 tokens. */
export async function train(engine: Measured, crossed: Crossed, say: Say): Promise<void> {
  const samples = denseBatch(engine.info.vocabularySize, trainedRows, rowLength);
  const seconds: number[] = [];
  const loop = monitorEventLoopDelay({ resolution: 1 });
  let report = "";
  for (let round = 0; round < 6; round++) {
    const [up, down] = [crossed.up, crossed.down];
    if (round > 0) loop.enable();
    const start = performance.now();
    const { logprobs, gradientNorm } = await update(engine, samples);
    seconds.push((performance.now() - start) / 1000);
    loop.disable();
    const numbers = logprobs.flat();
    const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
    const bytes = `${((crossed.up - up) / 1e6).toFixed(1)} MB up, ${((crossed.down - down) / 1e6).toFixed(2)} MB down`;
    report = `mean log π ${mean.toFixed(4)}, norm ${gradientNorm.toFixed(4)}, ${bytes}`;
    if (round === 0) say(`first step ${seconds[0].toFixed(1)} s with its sessions; ${report}`);
  }
  const speed = Math.round((trainedRows * rowLength) / median(seconds.slice(1)));
  say(`TRAIN ${speed} tokens/s; ${report}; longest wait of the event loop ${(loop.max / 1e6).toFixed(0)} ms`);
}

/** Decoding 64 tokens behind 512 that are cached, by numbers of rows. */
export async function sample(engine: Measured, crossed: Crossed, say: Say): Promise<void> {
  for (const rows of [1, 32, 128]) {
    const contexts = Array.from({ length: rows }, (_, row) => randomTokens(engine.info.vocabularySize, cached, "row", row));
    const round = (maxTokens: number, seed: number) =>
      Promise.all(
        contexts.map((context, row) =>
          engine.sample({ context, maxTokens, stopTokens: [], seed: seed + row, cacheKey: `row ${row}` }),
        ),
      );
    await round(2, 1); // keys and values of the contexts
    await round(8, 2); // what is recorded for replays
    const [up, down] = [crossed.up, crossed.down];
    const start = performance.now();
    await round(newTokens, 3);
    const seconds = (performance.now() - start) / 1000;
    const bytes = Math.round((crossed.down - down + crossed.up - up) / (rows * newTokens));
    const speed = `${Math.round((rows * newTokens) / seconds)} tokens/s, ${((1000 * seconds) / newTokens).toFixed(2)} ms a step`;
    say(`SAMPLE rows ${rows}, ${cached} cached: ${speed}, ${bytes} bytes a token across the bus`);
    for (let row = 0; row < rows; row++) engine.release(`row ${row}`);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: "string", default: "cuda" },
      shape: { type: "string", default: "smollm2" },
      precision: { type: "string", default: "float32" },
      adapter: { type: "boolean", default: false },
    },
  });
  const { device, shape, precision, adapter } = values;
  const lora = adapter ? { ...benchmarkAdapter, seed: 1 } : undefined;
  const options = { model: "random", threads: 4, provider: device, precision, lora, sampling: { cacheBytes: 64 * 2 ** 30 } };
  for (const measure of [train, sample]) {
    const engine = new LocalEngine(quickModel(shapeOf(shape as ShapeName)), options as LocalEngineOptions);
    const { crossed } = (await nativeRuntime()).device;
    await measure(engine, crossed, (text) => console.log(`${device} ${shape} ${precision}: ${text}`));
    await engine.dispose();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
