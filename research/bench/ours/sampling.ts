/**
 * Sampling at temperature 1 that goes on from contexts whose keys and values are cached: sampling.ts MODEL THREADS
 * A request is "ROWS CACHED NEW": the number of rows, their cached tokens and their new ones. The prompts' own pass is not in the time.
 * Log-probs and entropies of all tokens are computed too, since training needs them.
 */
import { fileURLToPath } from "node:url";
import { randomTokens } from "../model.ts";
import { answerRounds, peakMegabytes, plannedEngine, type Round } from "./rounds.ts";

export async function samplingRounds([model = "", threads]: readonly string[], open = plannedEngine): Promise<Round> {
  const engine = await open({ model, threads: Number(threads) }, { training: true, length: 1024, concurrency: 128 });
  let seed = 0;

  /** @returns seconds for the new tokens alone */
  async function decode(rows: number, cached: number, newTokens: number): Promise<number> {
    const sample = (context: readonly number[], row: number, maxTokens: number) =>
      engine.sample({ context, maxTokens, stopTokens: [], seed: seed++, cacheKey: `row ${row}` });
    const prompts = Array.from({ length: rows }, (_, row) => randomTokens(engine.info.vocabularySize, cached, "prompt", row));
    const firsts = await Promise.all(prompts.map((prompt, row) => sample(prompt, row, 1)));
    const started = performance.now();
    await Promise.all(prompts.map((prompt, row) => sample([...prompt, ...firsts[row].tokens], row, newTokens)));
    const seconds = (performance.now() - started) / 1000;
    for (let row = 0; row < rows; row++) engine.release(`row ${row}`);
    return seconds;
  }

  await decode(1, 64, 8);
  return async (request) => {
    const [rows, cached, newTokens] = request.split(" ").map(Number);
    let [calls, seconds] = [0, 0];
    for (; seconds < 1; calls++) seconds += await decode(rows, cached, newTokens);
    return { tokensPerSecond: (calls * rows * newTokens) / seconds, peakMegabytes: peakMegabytes() };
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await answerRounds(await samplingRounds(process.argv.slice(2)));
