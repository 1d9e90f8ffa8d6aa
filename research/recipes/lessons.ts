import type { Chat } from "../../src/chat/chat.ts";
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import { encodeDemonstration } from "../../src/rollouts/demonstration.ts";
import type { Demonstrated, Recipe } from "./recipe.ts";

/** The first steps also repeat random words: copying is what everything else rests on, and it is learned soonest by itself. */
const copyingSteps = 525;

/** The share of exercises in copying that stays, for words that no demonstration has. */
const drillShare = 0.06;

/** Mostly the default world; enough of the large one that reinforcement learning there does not start at nothing. */
const largeShare = 0.15;

/** Demonstrations of a world by its size. */
export interface Worlds {
  readonly default: Iterator<Demonstrated, never>;
  readonly large: Iterator<Demonstrated, never>;
}

export function worldsOf({ demonstrations }: Recipe, seed: number, foreignWords?: number, slip?: number): Worlds {
  return {
    default: demonstrations({}, seed, slip, foreignWords),
    large: demonstrations({ difficulty: "large" }, seed, slip, foreignWords),
  };
}

/** Conversations that a tokenizer is learned from: both worlds in turn, and the words that are drilled. */
export function tokenizerCorpus(worlds: Worlds, { drilled }: Pick<Recipe, "drilled">, episodes: number): (readonly Message[])[] {
  const played = Array.from({ length: episodes }, (_, i) => worlds[i % 2 ? "default" : "large"].next().value.messages);
  const words = Array.from({ length: 20 }, () => [{ role: "user", content: drilled.join(" ") }] as const);
  return [...played, ...words];
}

export interface LessonOptions {
  readonly recipe: Pick<Recipe, "copied" | "drilled">;
  readonly worlds: Worlds;
  readonly chat: Chat;
  readonly seed: number;
  /** The last step of the stage. */
  readonly last: number;
  /** Steps so far. */
  readonly step: () => number;
  /** Whether the weights are new: copying is taught to those. */
  readonly fromNothing: boolean;
}

/** Demonstrations until the last step, at first mixed with copying. Copying is dealt out in steps, as the tokens of a step are. */
export function* lessons(options: LessonOptions): Generator<readonly ActionInContext[]> {
  const { recipe, worlds, chat, seed, last, step, fromNothing } = options;
  const random = randomStream(seed, "lessons", last);
  const corpus = Array.from({ length: 500 }, () =>
    worlds.large
      .next()
      .value.messages.map(({ content }) => content)
      .join(" "),
  );
  const words = [...new Set([...(corpus.join(" ").match(recipe.copied) ?? []), ...recipe.drilled])];
  const copyingAtFirst = fromNothing ? 0.6 : 0;
  for (let episode = 0; step() < last; episode++) {
    const copies = random.chance(Math.max(drillShare, copyingAtFirst * (1 - step() / copyingSteps)));
    const { messages, stumbles } = worlds[random.chance(largeShare) ? "large" : "default"].next().value;
    yield copies
      ? [encodeDemonstration(chat, `copy-${episode}`, copying(random, words), [])[0]]
      : encodeDemonstration(chat, String(episode), messages, []).filter(({ turn }) => !stumbles.includes(turn));
  }
}

/** An exercise in copying: words are repeated as they are, or as JSON. */
function copying(random: Random, words: readonly string[]): Message[] {
  const items = Array.from({ length: 8 + random.integer(24) }, () => random.pick(words));
  const list = items.join(" ");
  const written = random.chance(0.5) ? JSON.stringify({ name: items }) : list;
  return [
    { role: "user", content: list },
    { role: "assistant", content: written },
  ];
}
