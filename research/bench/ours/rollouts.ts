/** Forward, backward, clipping and AdamW over a recorded batch of rollouts, all turns: rollouts.ts MODEL THREADS FILE */
import { fileURLToPath } from "node:url";
import { createLocalEngine } from "../../../extensions/local/engine.ts";
import { readBatch, turnWeights } from "../batch.ts";
import { answerRounds, type Measured, peakMegabytes, type Round, secondsPerCall, update } from "./rounds.ts";

type Open = (options: { readonly model: string; readonly threads: number }) => Promise<Measured>;

export async function rolloutRounds(
  [model = "", threads, file = ""]: readonly string[],
  open: Open = createLocalEngine,
): Promise<Round> {
  const engine = await open({ model, threads: Number(threads) });
  const batch = await readBatch(file);
  const turns = batch.groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
  // What is counted is the batch, not the work: every token of every trajectory once.
  const tokens = batch.trajectories.reduce((sum, row) => sum + row.tokens.length, 0);
  const work = () => update(engine, turns, turnWeights);
  await work();
  return async () => ({ tokensPerSecond: tokens / (await secondsPerCall(work)), peakMegabytes: peakMegabytes() });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await answerRounds(await rolloutRounds(process.argv.slice(2)));
