/**
 * Forward, backward, clipping and AdamW over rows of unrelated tokens: no prefix is shared, nothing is padded.
 * dense.ts MODEL THREADS ROWS LENGTH; the request "peak" measures the machine's matrix products too.
 */
import { basename } from "node:path";
import { createLocalEngine } from "../../src/engines/local/engine.ts";
import { measurePeak } from "../../src/engines/local/peak.ts";
import { benchmarkModels, denseBatch } from "../model.ts";
import { adamw } from "./adamw.ts";
import { answerRounds, secondsPerCall } from "./rounds.ts";

const [model, ...sizes] = process.argv.slice(2);
const [threads, rows, length] = sizes.map(Number);
const { vocabSize, layers, heads, headDim } = benchmarkModels[basename(model)];
const engine = await createLocalEngine({ model, threads });
const samples = denseBatch(vocabSize, rows, length);
const weights = samples.map(({ action }) => action.map((_, i) => Math.sin(i)));
/**
 * PaLM (arXiv:2204.02311, appendix B): 6 N + 12 L H Q T for a token, without what recomputation would add. Here the embedding is the
 * head too, so N is all parameters; attention is computed between all T tokens of a row.
 */
const flops = rows * length * (6 * engine.info.parameters + 12 * layers * heads * headDim * length);

async function work(): Promise<void> {
  await engine.forwardBackward(samples, weights, { temperature: 1 });
  await engine.step(adamw);
}

await work();
await answerRounds("retrograde", async (request) => {
  const peak = request === "peak" ? { peakGflops: await measurePeak({ threads }) } : undefined;
  const seconds = await secondsPerCall(work);
  return { tokensPerSecond: (rows * length) / seconds, gflops: flops / seconds / 1e9, ...peak };
});
