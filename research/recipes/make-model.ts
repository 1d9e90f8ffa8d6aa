/**
 * Makes the default model of a world from nothing: a tokenizer learned from the world, a Qwen3-shaped model with random weights, and
 * supervised fine-tuning on demonstrations by an expert with bad habits. About half an hour on two cores, longer for the office:
 *
 *   npm run make-model              the office
 *   npm run make-model office -- --from FOLDER --stages 1
 *                                   the last stages alone, on the weights of a folder
 *
 * It learns to read, to look up and to copy as well as it can, and habits that only reinforcement learning takes away: at times the
 * expert guesses instead of looking up, gives up at "busy", does not ask which Ana is meant, takes the first page for the right one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createLocalEngine } from "../../extensions/local/engine.ts";
import { loadModel, saveModel } from "../../extensions/local/model/model-folder.ts";
import { makeChat } from "../../src/chat/chat.ts";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { ConfigError } from "../../src/core/errors.ts";
import { superviseOnce } from "../../src/training/supervised/sft.ts";
import { lessons, tokenizerCorpus, worldsOf } from "./lessons.ts";
import { newModel } from "./new-model.ts";
import { office } from "./office.ts";
import type { Recipe } from "./recipe.ts";

const recipes: Readonly<Record<string, Recipe>> = { office };

const {
  values: flags,
  positionals: [world = "office"],
} = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: "string" },
    slip: { type: "string" },
    threads: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    from: { type: "string" },
    stages: { type: "string" },
  },
});
const seed = Number(flags.seed);
const slip = flags.slip === undefined ? undefined : Number(flags.slip);
const recipe = recipes[world];
if (recipe === undefined) throw new ConfigError("world", world, { expected: Object.keys(recipes) });
const { from } = flags;
const stages = flags.stages === undefined ? recipe.stages : recipe.stages.slice(recipe.stages.length - Number(flags.stages));

let worlds = worldsOf(recipe, seed, undefined, slip);
const working = await mkdtemp(join(tmpdir(), "retrograde-model-"));
const { start, chat } =
  from === undefined ? newModel(tokenizerCorpus(worlds, recipe, 6000), recipe, seed) : await fromModel(from);
const { tokenizer } = chat;
await saveModel(working, start, { dtype: "float32" });
const engine = await createLocalEngine({ model: working, threads: Number(flags.threads) });
console.log(`${engine.info.parameters} parameters, ${tokenizer.size} tokens`);

let step = 0;
let worldSeed = seed;
let tokens = 0;
const started = performance.now();
for (const { steps, scheduledSteps, foreignWords, slip: ofStage, ...schedule } of stages) {
  if (foreignWords !== undefined) worlds = worldsOf(recipe, ++worldSeed, foreignWords, slip ?? ofStage);
  const last = step + steps;
  const optimizer = {
    schedule: "linear",
    beta1: 0.9,
    beta2: 0.98,
    epsilon: 1e-8,
    weightDecay: 0.01,
    clipNorm: 1,
    ...schedule,
  } as const;
  const fromNothing = from === undefined;
  const demonstrations = lessons({ recipe, worlds, chat, seed, last, step: () => step, fromNothing });
  const options = { engine, demonstrations, tokensPerStep: 2000, optimizer };
  for (let at = 1; at <= scheduledSteps; at++) {
    const report = await superviseOnce(options, at, scheduledSteps);
    if (report === undefined) break;
    step++;
    tokens += report.tokens;
    if (step % 50 > 0) continue;
    const rate = (1000 * tokens) / (performance.now() - started);
    console.log(`step ${step}  ${tokens} tokens  loss ${report.loss?.toFixed(4)}  ${rate.toFixed(0)} tokens/s`);
  }
}
await engine.saveModel(working);
await saveModel(flags.out ?? `models/${world}`, await loadModel(working), { dtype: "bfloat16" });
await rm(working, { recursive: true });
await engine.dispose();

async function fromModel(folder: string) {
  return { start: await loadModel(folder), chat: makeChat(loadTokenizer(folder)) };
}
