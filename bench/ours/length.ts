/** One update of one sequence, all of it scored: length.ts MODEL THREADS LENGTH. Prints tokens per second of processor time and the process's peak. */
import { join } from "node:path";
import { createLocalEngine } from "../../src/engines/local/engine.ts";
import { readModelConfig } from "../../src/engines/local/model/model-folder.ts";
import { denseBatch } from "../model.ts";
import { adamw } from "./adamw.ts";

const [model, ...sizes] = process.argv.slice(2);
const [threads, length] = sizes.map(Number);
const { vocabSize } = await readModelConfig(join(model, "config.json"));
const engine = await createLocalEngine({ model, threads });

async function update(tokens: number): Promise<number> {
  const samples = denseBatch(vocabSize, 1, tokens);
  const weights = samples.map(({ action }) => action.map((_, i) => Math.sin(i)));
  const before = process.cpuUsage();
  await engine.forwardBackward(samples, weights, { temperature: 1 });
  await engine.step(adamw);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

await update(64);
const tokensPerSecond = length / (await update(length));
console.log(JSON.stringify({ tokensPerSecond, megabytes: process.resourceUsage().maxRSS / 1024 }));
await engine.dispose();
