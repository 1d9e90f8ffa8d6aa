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
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import { responseOf } from "../../src/environments/protocol.ts";
import { encodeDemonstration } from "../../src/rollouts/demonstration.ts";
import { superviseOnce } from "../../src/training/supervised/sft.ts";
import { newModel } from "./new-model.ts";
import { office } from "./office.ts";
import type { Demonstrated, Recipe } from "./recipe.ts";

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

/** The first steps also repeat random words: copying is what everything else rests on, and it is learned soonest by itself. */
const copyingSteps = 525;

/** The share of exercises in copying that stays, for words that no demonstration has. */
const drillShare = 0.06;

/** Mostly the default world; enough of the large one that reinforcement learning there does not start at nothing. */
const largeShare = 0.15;

const worldsOf = (seed: number, foreignWords?: number, ofStage = slip) => ({
  default: recipe.demonstrations({}, seed, ofStage, foreignWords),
  large: recipe.demonstrations({ difficulty: "large" }, seed, ofStage, foreignWords),
});
let worlds = worldsOf(seed);
const working = await mkdtemp(join(tmpdir(), "retrograde-model-"));
const { start, chat } = from === undefined ? fromNothing() : await fromModel(from);
const { tokenizer } = chat;
await saveModel(working, start, { dtype: "float32" });
const engine = await createLocalEngine({ model: working, threads: Number(flags.threads) });
console.log(`${engine.info.parameters} parameters, ${tokenizer.size} tokens`);

let step = 0;
let worldSeed = seed;
let tokens = 0;
const started = performance.now();
for (const { steps, scheduledSteps, foreignWords, slip: ofStage, ...schedule } of stages) {
  if (foreignWords !== undefined) worlds = worldsOf(++worldSeed, foreignWords, slip ?? ofStage);
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
  const options = { engine, demonstrations: lessons(last), tokensPerStep: 2000, optimizer };
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

function fromNothing() {
  const episodes = Array.from({ length: 6000 }, (_, i) => asTemplated(worlds[i % 2 ? "default" : "large"].next().value));
  const words = Array.from({ length: 20 }, () => [{ role: "user", content: (recipe.drilled ?? []).join(" ") }] as const);
  return newModel([...episodes, ...words], recipe, seed);
}

async function fromModel(folder: string) {
  return { start: await loadModel(folder), chat: makeChat(loadTokenizer(folder)) };
}

/** A conversation as the template is to show it: where tools are called in text, all after the question is one message. */
function asTemplated({ messages, protocol }: Demonstrated): readonly Message[] {
  if (protocol === undefined) return messages;
  const start = messages.findIndex(({ role }) => role === "assistant");
  return [...messages.slice(0, start), { role: "assistant", content: responseOf(messages, protocol.continuation.write) }];
}

/** Demonstrations until the last step, at first mixed with copying. Copying is dealt out in steps, as the tokens of a step are. */
function* lessons(last: number): Generator<readonly ActionInContext[]> {
  const random = randomStream(seed, "lessons", last);
  const corpus = Array.from({ length: 500 }, () =>
    asTemplated(worlds.large.next().value)
      .map(({ content }) => content)
      .join(" "),
  );
  const words = [...new Set([...(corpus.join(" ").match(recipe.copied) ?? []), ...(recipe.drilled ?? [])])];
  const lastingDrills = recipe.drilled === undefined ? 0 : drillShare;
  const copyingAtFirst = from === undefined ? 0.6 : 0;
  for (let episode = 0; step < last; episode++) {
    const copies = random.chance(Math.max(lastingDrills, copyingAtFirst * (1 - step / copyingSteps)));
    const { messages, protocol, stumbles = [] } = worlds[random.chance(largeShare) ? "large" : "default"].next().value;
    yield copies
      ? [copyingLesson(random, words, episode)]
      : encodeDemonstration(chat, String(episode), messages, [], protocol).filter(({ turn }) => !stumbles.includes(turn));
  }
}

function copyingLesson(random: Random, words: readonly string[], episode: number): ActionInContext {
  const items = Array.from({ length: 8 + random.integer(24) }, () => random.pick(words));
  const list = items.join(" ");
  const written = recipe.drilled !== undefined && random.chance(0.5) ? JSON.stringify({ name: items }) : list;
  const [sample] = encodeDemonstration(
    chat,
    `copy-${episode}`,
    [
      { role: "user", content: list },
      { role: "assistant", content: written },
    ],
    [],
  );
  return sample;
}
