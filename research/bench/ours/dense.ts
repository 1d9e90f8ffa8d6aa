/**
 * Forward, backward, clipping and AdamW over rows of unrelated tokens: no prefix is shared, nothing is padded.
 * dense.ts MODEL THREADS ROWS LENGTH [adapter]
 */
import { fileURLToPath } from "node:url";
import { benchmarkAdapter, denseBatch } from "../model.ts";
import { answerRounds, peakMegabytes, plannedEngine, type Round, secondsPerCall, update } from "./rounds.ts";

export async function denseRounds([model = "", ...sizes]: readonly string[], open = plannedEngine): Promise<Round> {
  const [threads, rows, length] = sizes.map(Number);
  const lora = sizes[3] === "adapter" ? { ...benchmarkAdapter, seed: 1 } : undefined;
  const engine = await open({ model, threads, lora }, { training: true, length, concurrency: 1, trajectories: rows });
  const { vocabularySize } = engine.info;
  const samples = denseBatch(vocabularySize, rows, length);
  await update(engine, rows > 1 ? samples : denseBatch(vocabularySize, 1, 64)); // a single row is a long one
  return async () => {
    const seconds = await secondsPerCall(() => update(engine, samples));
    return { tokensPerSecond: (rows * length) / seconds, peakMegabytes: peakMegabytes() };
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await answerRounds(await denseRounds(process.argv.slice(2)));
