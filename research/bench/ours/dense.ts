/**
 * Forward, backward, clipping and AdamW over rows of unrelated tokens: no prefix is shared, nothing is padded.
 * dense.ts MODEL THREADS ROWS LENGTH [adapter]; the request "peak" measures the machine's matrix products too.
 */
import { basename } from "node:path";
import { measurePeak } from "../../../extensions/local/peak.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import { benchmarkAdapter, benchmarkModels, denseBatch } from "../model.ts";
import { adamw } from "./adamw.ts";
import { plannedEngine } from "./planned.ts";
import { answerRounds, peakMegabytes, secondsPerCall } from "./rounds.ts";

const [model, ...sizes] = process.argv.slice(2);
const [threads, rows, length] = sizes.map(Number);
const lora = sizes[3] === "adapter" ? { ...benchmarkAdapter, seed: 1 } : undefined;
const { vocabSize, layers, heads, headDim } = benchmarkModels[basename(model)];
const use = { training: true, length, concurrency: 1, trajectories: rows };
const engine = await plannedEngine({ model, threads, lora }, use);
/**
 * PaLM (arXiv:2204.02311, appendix B): 6 N + 12 L H Q T for a token, without what recomputation would add. Here the embedding is the
 * head too, so N is all parameters; attention is computed between all T tokens of a row.
 */
const flops = rows * length * (6 * engine.info.parameters + 12 * layers * heads * headDim * length);

async function work(samples: readonly ActionInContext[]): Promise<void> {
  const weights = samples.map(({ action }) => action.map((_, i) => Math.sin(i)));
  await engine.forwardBackward(samples, weights, { temperature: 1 });
  await engine.step(adamw);
}

const samples = denseBatch(vocabSize, rows, length);
await work(rows > 1 ? samples : denseBatch(vocabSize, 1, 64)); // a single row is a long one
await answerRounds("retrograde", async (request) => {
  const peak = request === "peak" ? { peakGflops: await measurePeak({ threads }) } : undefined;
  const seconds = await secondsPerCall(() => work(samples));
  return { tokensPerSecond: (rows * length) / seconds, gflops: flops / seconds / 1e9, peakMegabytes: peakMegabytes(), ...peak };
});
