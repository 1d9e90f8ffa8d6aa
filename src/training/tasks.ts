import { ConfigError, EnvError } from "../core/errors.ts";
import { randomStream } from "../core/random.ts";
import { didYouMean } from "../core/settings.ts";
import { type Environment, type Split, splitsOf, type Task } from "../environments/environment.ts";
import type { TrainingConfig } from "./config.ts";

const indexBound = 2 ** 31;
const trainSplit = "train";

/**
 * The training tasks from a position on. A split without end is drawn from at random; one with an end is gone through in a
 * new order each time. Position and seed decide alone, so a resumed run goes on with the task that was next.
 */
export async function trainingTasks(
  environment: Environment,
  position: number,
  count: number,
  seed: number,
  split: Split = trainSplit,
): Promise<Task[]> {
  return tasksAt(environment, split, trainingIndices(await environment.size(split), position, count, seed));
}

function trainingIndices(size: number, position: number, count: number, seed: number): number[] {
  if (size === Number.POSITIVE_INFINITY)
    return range(position, count).map((at) => randomStream(seed, "task", at).integer(indexBound));
  const first = Math.floor(position / size);
  const epochs = Math.floor((position + count - 1) / size) - first + 1;
  const order = range(first, epochs).flatMap((epoch) => randomStream(seed, "epoch", epoch).shuffle(range(0, size)));
  return order.slice(position - first * size, position - first * size + count);
}

/** The first tasks of a split, whatever the seed: every evaluation of every run is of the same tasks. */
export async function evaluationTasks(environment: Environment, split: Split, count: number): Promise<Task[]> {
  return tasksAt(environment, split, range(0, Math.min(count, await environment.size(split))));
}

/** @throws ConfigError where a setting needs tasks of a split in which the environment has none */
export async function checkSplits(environment: Environment, { rollout, evaluation, algorithm }: TrainingConfig): Promise<void> {
  const { split, tasks, challenge, during } = evaluation;
  const needsTasks = algorithm.kind !== "sft" || algorithm.data === undefined; // conversations in a file need none
  if (needsTasks)
    await checkSplit(environment, rollout.split === undefined ? "environment" : "rollout.split", rollout.split ?? trainSplit);
  if (tasks > 0) await checkSplit(environment, "evaluation.split", split);
  if (tasks > 0 && challenge) await checkSplit(environment, "evaluation.challenge", "challenge");
  if (during.every > 0) await checkSplit(environment, "evaluation.during.split", during.split);
}

/** @param setting the one that asks for the split */
export async function checkSplit(environment: Environment, setting: string, split: Split): Promise<void> {
  const names = splitsOf(environment);
  if (names.includes(split) && (await environment.size(split)) > 0) return;
  const sizes = await Promise.all(names.map((name) => environment.size(name)));
  const hint = names.includes(split) ? undefined : didYouMean(split, names);
  throw new ConfigError(setting, split, {
    expected: names.filter((_, i) => sizes[i] > 0),
    hint: hint ?? `The environment "${environment.name}" has no ${split} tasks.`,
  });
}

function tasksAt(environment: Environment, split: Split, indices: readonly number[]): Promise<Task[]> {
  return Promise.all(
    indices.map(async (index) => {
      try {
        return await environment.task(split, index);
      } catch (cause) {
        throw new EnvError(`task ${index} of the ${split} split of "${environment.name}"`, cause, { expected: "a task", cause });
      }
    }),
  );
}

function range(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i);
}
