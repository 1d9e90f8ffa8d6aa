import { randomStream } from "../../src/core/random.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment } from "../../src/environments/environment.ts";

export const words: readonly string[] = Array.from({ length: 1022 }, (_, i) => `w${i}`);

/** 256 random words. */
export function prompt(index: number): string {
  const random = randomStream(1, "benchmark", "words", index);
  return Array.from({ length: 256 }, () => words[random.integer(words.length)]).join(" ");
}

/** A single turn; the reward is the share of words with an even number. `peers/step.py` has the same tasks and the same reward. */
export const wordsEnvironment: Environment = defineEnvironment({
  name: "words",
  tasks: { train: Array.from({ length: 64 }, (_, index) => ({ prompt: prompt(index) })) },
  start: () => ({
    tools: [],
    reward: ({ answer }) => {
      const said = answer.split(/\s+/).filter((word) => /^w\d+$/.test(word));
      return said.length === 0 ? 0 : said.filter((word) => Number(word.slice(1)) % 2 === 0).length / said.length;
    },
  }),
});
