import { ConfigError, EnvError } from "../core/errors.ts";
import { randomStream } from "../core/random.ts";
import { type Environment, type Split, splits, type Task } from "../environments/environment.ts";
import type { TrainingConfig } from "./config.ts";

const indexBound = 2 ** 31;

/**
 * The training tasks from a position on. A split without end is drawn from at random; one with an end is gone through in a
 * new order each time. Position and seed decide alone, so a resumed run goes on with the task that was next.
 */
export function trainingTasks(environment: Environment, position: number, count: number, seed: number): Promise<Task[]> {
  const size = environment.size("train");
  const indexAt = (at: number) => {
    if (size === Number.POSITIVE_INFINITY) return randomStream(seed, "task", at).integer(indexBound);
    const epoch = Math.floor(at / size);
    return randomStream(seed, "epoch", epoch).shuffle(Array.from({ length: size }, (_, i) => i))[at % size];
  };
  return tasksAt(
    environment,
    "train",
    Array.from({ length: count }, (_, i) => indexAt(position + i)),
  );
}

/** The first tasks of a split, whatever the seed: every evaluation of every run is of the same tasks. */
export function evaluationTasks(environment: Environment, split: Split, count: number): Promise<Task[]> {
  return tasksAt(
    environment,
    split,
    Array.from({ length: Math.min(count, environment.size(split)) }, (_, i) => i),
  );
}

/** @throws ConfigError where a setting needs tasks of a split in which the environment has none */
export function checkSplits(environment: Environment, { evaluation: { split, tasks, challenge, during } }: TrainingConfig): void {
  checkSplit(environment, "environment", "train");
  if (tasks > 0) checkSplit(environment, "evaluation.split", split);
  if (tasks > 0 && challenge) checkSplit(environment, "evaluation.challenge", "challenge");
  if (during.every > 0) checkSplit(environment, "evaluation.during.split", during.split);
}

/** @param setting the one that asks for the split */
export function checkSplit(environment: Environment, setting: string, split: Split): void {
  if (environment.size(split) > 0) return;
  throw new ConfigError(setting, split, {
    expected: splits.filter((other) => environment.size(other) > 0),
    hint: `The environment "${environment.name}" has no ${split} tasks.`,
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
