import { type Random, randomStream } from "../../src/core/random.ts";
import type { TaskRequest } from "../../src/environments/define.ts";

/** The sentences of training, or those that no training task has. */
export type Words = "seen" | "unseen";

const sizes = { train: 8192, validation: 160, test: 160, challenge: 160 };

/** Tasks for each split of a demonstration. All of a task is drawn from its split and index; those of `challenge` have unseen words. */
export function drawnTasks<T extends TaskRequest>(
  name: string,
  draw: (random: Random, words: Words) => T,
): Readonly<Record<string, () => readonly T[]>> {
  const words = (split: string) => (split === "challenge" ? "unseen" : "seen");
  const tasks = (split: string, size: number) =>
    Array.from({ length: size }, (_, i) => draw(randomStream(0, name, split, i), words(split)));
  return Object.fromEntries(Object.entries(sizes).map(([split, size]) => [split, () => tasks(split, size)]));
}

/** The last number of a text. Undefined if it has none. */
export function lastNumber(text: string): number | undefined {
  const number = text.match(/-?\d+(?:\.\d+)?/g)?.at(-1);
  return number === undefined ? undefined : Number(number);
}
