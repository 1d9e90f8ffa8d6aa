/**
 * Forward, backward, clipping and AdamW over the turns of all leaves of recorded trees: trees.ts MODEL THREADS FILE FORM
 * The form is what the engine can share: everything ("trees"), what the turns of one leaf share ("leaves"), nothing ("turns").
 */
import { createLocalEngine } from "../../../extensions/local/engine.ts";
import { packRows } from "../../../extensions/local/training/packing.ts";
import { apart, readBatch, turnWeights } from "../batch.ts";
import { adamw } from "./adamw.ts";
import { answerRounds, secondsPerCall } from "./rounds.ts";

const [model, threads, file, form] = process.argv.slice(2);
const engine = await createLocalEngine({ model, threads: Number(threads) });
const { groups } = await readBatch(file);
const turns = groups.flatMap(({ trajectories }) => trajectories.flatMap((trajectory) => trajectory.turns));
const samples =
  form === "trees" ? turns : apart(turns, ({ trajectory, turn }) => (form === "leaves" ? trajectory : `${trajectory} ${turn}`));
const weights = turns.map(turnWeights);
const tokens = packRows(samples, Number.POSITIVE_INFINITY).reduce((sum, row) => sum + row.tokens.length, 0);

async function work(count = samples.length): Promise<void> {
  await engine.forwardBackward(samples.slice(0, count), weights.slice(0, count), { temperature: 1 });
  await engine.step(adamw);
}

// In full, one call takes tens of seconds: the turns of a few leaves are enough to warm up.
await work(form === "turns" ? 64 : samples.length);
await answerRounds("retrograde", async () => ({
  seconds: await secondsPerCall(() => work()),
  tokensPerTree: tokens / groups.length,
}));
