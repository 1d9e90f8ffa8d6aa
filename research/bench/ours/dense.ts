/**
 * Forward, backward, clipping and AdamW over rows of unrelated tokens: no prefix is shared, nothing is padded.
 * dense.ts MODEL THREADS ROWS LENGTH [adapter]
 */
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import { benchmarkAdapter, denseBatch } from "../model.ts";
import { adamw, answerRounds, peakMegabytes, plannedEngine, secondsPerCall } from "./rounds.ts";

const [model, ...sizes] = process.argv.slice(2);
const [threads, rows, length] = sizes.map(Number);
const lora = sizes[3] === "adapter" ? { ...benchmarkAdapter, seed: 1 } : undefined;
const use = { training: true, length, concurrency: 1, trajectories: rows };
const engine = await plannedEngine({ model, threads, lora }, use);

async function work(samples: readonly ActionInContext[]): Promise<void> {
  const weights = samples.map(({ action }) => action.map((_, i) => Math.sin(i)));
  await engine.forwardBackward(samples, weights, { temperature: 1 });
  await engine.step(adamw);
}

const samples = denseBatch(engine.info.vocabularySize, rows, length);
await work(rows > 1 ? samples : denseBatch(engine.info.vocabularySize, 1, 64)); // a single row is a long one
await answerRounds("retrograde", async () => {
  const seconds = await secondsPerCall(() => work(samples));
  return { tokensPerSecond: (rows * length) / seconds, peakMegabytes: peakMegabytes() };
});
