/**
 * Makes the default model of the office from nothing: a tokenizer learned from the world, a Qwen3-shaped model with random weights, and
 * supervised fine-tuning on demonstrations by an expert with bad habits. About half an hour on two cores:
 *
 *   npm run make-model
 *   npm run make-model -- --from FOLDER --stages 1     the last stages alone, on the weights of a folder
 *
 * It learns to read, to look up and to copy as well as it can, and habits that only reinforcement learning takes away: at times the
 * expert guesses instead of looking up, gives up at "busy", does not ask which Ana is meant, takes the first page for the right one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createLocalEngine } from "../../extensions/local/engine.ts";
import { loadModel, saveModel } from "../../extensions/local/model/model-folder.ts";
import { type Chat, makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { superviseOnce } from "../../src/training/supervised/sft.ts";
import { lessons, tokenizerCorpus, worldsOf } from "./lessons.ts";
import { newModel } from "./new-model.ts";
import { office } from "./office.ts";
import type { Recipe } from "./recipe.ts";

interface Teaching {
  readonly recipe: Recipe;
  readonly stages: Recipe["stages"];
  readonly chat: Chat;
  readonly seed: number;
  readonly fromNothing: boolean;
  readonly say: (line: string) => void;
  readonly supervise?: typeof superviseOnce;
}

/** Teaches an engine the stages one after the other. From the first with foreign words on, each has a world of its own seed. */
export async function teach(engine: Engine, { recipe, stages, chat, seed, fromNothing, say, ...parts }: Teaching): Promise<void> {
  const { supervise = superviseOnce } = parts;
  let [worlds, worldSeed, step, tokens] = [worldsOf(recipe, seed), seed, 0, 0];
  const started = performance.now();
  for (const { steps, scheduledSteps, foreignWords, slip, ...schedule } of stages) {
    if (foreignWords !== undefined) worlds = worldsOf(recipe, ++worldSeed, foreignWords, slip);
    const optimizer = {
      schedule: "linear",
      ...{ beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 },
      ...schedule,
    } as const;
    const demonstrations = lessons({ recipe, worlds, chat, seed, last: step + steps, step: () => step, fromNothing });
    for (let at = 1; at <= scheduledSteps; at++) {
      const report = await supervise({ engine, demonstrations, tokensPerStep: 2000, optimizer }, at, scheduledSteps);
      if (report === undefined) break;
      step++;
      tokens += report.tokens;
      if (step % 50 > 0) continue;
      const rate = (1000 * tokens) / (performance.now() - started);
      say(`step ${step}  ${tokens} tokens  loss ${report.loss?.toFixed(4)}  ${rate.toFixed(0)} tokens/s`);
    }
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: "models/office" },
      threads: { type: "string", default: "2" },
      seed: { type: "string", default: "1" },
      from: { type: "string" },
      stages: { type: "string", default: String(office.stages.length) },
    },
  });
  const { from } = values;
  const seed = Number(values.seed);
  const { start, chat } =
    from === undefined
      ? newModel(tokenizerCorpus(worldsOf(office, seed), office, 6000), office, seed)
      : { start: await loadModel(from), chat: makeChat(loadTokenizer(from)) };
  const working = await mkdtemp(join(tmpdir(), "retrograde-model-"));
  await saveModel(working, start, { dtype: "float32" });
  const engine = await createLocalEngine({ model: working, threads: Number(values.threads) });
  console.log(`${engine.info.parameters} parameters, ${chat.tokenizer.size} tokens`);
  const stages = office.stages.slice(office.stages.length - Number(values.stages));
  await teach(engine, { recipe: office, stages, chat, seed, fromNothing: from === undefined, say: console.log });
  await engine.saveModel(working);
  await saveModel(values.out, await loadModel(working), { dtype: "bfloat16" });
  await rm(working, { recursive: true });
  await engine.dispose();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
