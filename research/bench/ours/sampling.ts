/**
 * Sampling at temperature 1 that goes on from contexts whose keys and values are cached: sampling.ts MODEL THREADS
 * A request is "ROWS CACHED NEW": the number of rows, their cached tokens and their new ones; "ROWS CACHED NEW LONG" has one row more with LONG
 * cached tokens. The prompts' own pass is not in the time.
 * Log-probs and entropies of all tokens are computed too, since training needs them.
 */
import { basename } from "node:path";
import { benchmarkModels, randomTokens } from "../model.ts";
import { plannedEngine } from "./planned.ts";
import { answerRounds, peakMegabytes } from "./rounds.ts";

const [model, threads] = process.argv.slice(2);
const { vocabSize } = benchmarkModels[basename(model)];
const engine = await plannedEngine({ model, threads: Number(threads) }, { training: true, length: 1024, concurrency: 128 });
let seed = 0;

/** @param cached tokens of each row @returns seconds for the new tokens alone */
async function decode(cached: readonly number[], newTokens: number): Promise<number> {
  const sample = async (context: readonly number[], row: number, maxTokens: number) =>
    engine.sample({ context, maxTokens, stopTokens: [], seed: seed++, cacheKey: `row ${row}` });
  const prompts = cached.map((length, row) => randomTokens(vocabSize, length, "prompt", row));
  const firsts = await Promise.all(prompts.map((prompt, row) => sample(prompt, row, 1)));
  const started = performance.now();
  await Promise.all(prompts.map((prompt, row) => sample([...prompt, ...firsts[row].tokens], row, newTokens)));
  const seconds = (performance.now() - started) / 1000;
  for (let row = 0; row < cached.length; row++) engine.release(`row ${row}`);
  return seconds;
}

await decode([64], 8);
await answerRounds("retrograde", async (request) => {
  const [rows, cached, newTokens, ...long] = request.split(" ").map(Number);
  const lengths = [...new Array<number>(rows).fill(cached), ...long];
  let [calls, seconds] = [0, 0];
  for (; seconds < 1; calls++) seconds += await decode(lengths, newTokens);
  return { tokensPerSecond: (calls * lengths.length * newTokens) / seconds, peakMegabytes: peakMegabytes() };
});
