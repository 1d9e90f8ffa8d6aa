import { type Environment, type Split, splitsOf } from "../../src/environments/environment.ts";
import { whileEpisode } from "../../src/environments/lifetime.ts";
import { evaluationTasks, trainingTasks } from "../../src/training/config/tasks.ts";

/** How much of what users say in a split is said in training too. */
export interface Overlap {
  readonly split: Split;
  /** Different texts of users in the split's tasks. */
  readonly texts: number;
  /** How many of them occur in training. */
  readonly shared: number;
}

/**
 * Compares the texts of users, answers to the expert's questions included, in the first training tasks of a seed and in the first tasks of the other
 * splits.
 * @param counts tasks to look at
 */
export async function measureOverlap(
  environment: Environment,
  seed: number,
  counts: { readonly train: number; readonly others: number },
): Promise<Overlap[]> {
  const trained = new Set<string>();
  const textsOf = async (task: Parameters<Environment["start"]>[0]): Promise<string[]> => {
    const played = environment.expert?.play(task).messages ?? [];
    const begins = played.length > 0 && played[0]?.role !== "assistant"; // else the expert leaves out what it was asked
    const opening = begins ? [] : await whileEpisode(environment, task, 0, ({ messages }) => messages);
    return [...opening, ...played].flatMap(({ role, content }) => (role === "user" ? [content] : []));
  };
  const size = Math.min(counts.train, await environment.size("train"));
  for (let at = 0; at < size; at += chunk) {
    for (const task of await trainingTasks(environment, at, Math.min(chunk, size - at), seed))
      for (const text of await textsOf(task)) trained.add(text);
  }
  const overlaps: Overlap[] = [];
  for (const split of splitsOf(environment)) {
    if (split === "train" || (await environment.size(split)) === 0) continue;
    const texts = new Set<string>();
    for (const task of await evaluationTasks(environment, split, counts.others))
      for (const text of await textsOf(task)) texts.add(text);
    overlaps.push({ split, texts: texts.size, shared: [...texts].filter((text) => trained.has(text)).length });
  }
  return overlaps;
}

const chunk = 500;
