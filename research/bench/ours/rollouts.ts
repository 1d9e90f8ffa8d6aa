/** Forward, backward, clipping and AdamW over a recorded batch of rollouts, all turns: rollouts.ts MODEL THREADS FILE */
import { createLocalEngine } from "../../../extensions/local/engine.ts";
import { readBatch, turnWeights } from "../batch.ts";
import { adamw, answerRounds, peakMegabytes, secondsPerCall } from "./rounds.ts";

const [model, threads, file] = process.argv.slice(2);
const engine = await createLocalEngine({ model, threads: Number(threads) });
const batch = await readBatch(file);
const turns = batch.groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
const weights = turns.map(turnWeights);
// What is counted is the batch, not the work: every token of every trajectory once.
const tokens = batch.trajectories.reduce((sum, row) => sum + row.tokens.length, 0);

async function work(): Promise<void> {
  await engine.forwardBackward(turns, weights, { temperature: 1 });
  await engine.step(adamw);
}

await work();
await answerRounds("retrograde", async () => {
  const tokensPerSecond = tokens / (await secondsPerCall(work));
  return { tokensPerSecond, peakMegabytes: peakMegabytes() };
});
