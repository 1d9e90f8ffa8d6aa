import { ConfigError, EnvError } from "../../core/errors.ts";
import { present } from "../../core/present.ts";
import { didYouMean } from "../../core/settings.ts";
import { callUserCode } from "../../core/user-code.ts";
import { type Environment, type Split, splitsOf, type Task } from "../../environments/environment.ts";
import type { TrainingConfig } from "./settings.ts";
import { epochsSampler } from "./task-samplers/epochs.ts";
import { taskSamplerOf } from "./task-samplers/kinds.ts";
import type { UserConfig } from "./user-config.ts";

const trainSplit = "train";

/** Each of these is asked for at every step, for its id. */
const maxRecordedTasks = 100_000;

/** For one answer of an environment about its tasks, if nothing else is said. */
const answerMs = 120_000;

/**
 * The training tasks from a position on, in the order of the sampler "epochs".
 * @param timeoutMs for each answer of the environment
 * @throws EnvError if it gives no task, or none in time
 */
export async function trainingTasks(
  environment: Environment,
  position: number,
  count: number,
  seed: number,
  { split = trainSplit, timeoutMs = answerMs }: { readonly split?: Split | undefined; readonly timeoutMs?: number } = {},
): Promise<Task[]> {
  const size = await sizeOf(environment, split, timeoutMs);
  return tasksAt(environment, split, epochsSampler.indices({ size, position, count, seed, outcomes: new Map() }, {}), timeoutMs);
}

/** The outcomes that a sampler of tasks draws by: the mean reward of each task's newest group, by its id. */
export type Outcomes = ReadonlyMap<string, number>;

/**
 * The training tasks of a step, as `rollout.tasks` chooses them.
 * @throws EnvError if the environment gives no task, or none in time
 */
export async function chosenTasks(
  environment: Environment,
  position: number,
  { rollout, seed }: Pick<TrainingConfig, "rollout" | "seed">,
  outcomes: Outcomes = new Map(),
): Promise<Task[]> {
  const { tasks: sampler, tasksPerStep: count, split = trainSplit, episodeTimeoutMs: timeoutMs } = rollout;
  const kind = taskSamplerOf(sampler);
  const size = await sizeOf(environment, split, timeoutMs);
  const byIndex = new Map<number, number>();
  if (kind.needsOutcomes && outcomes.size > 0)
    for (const [index, { id }] of (await tasksAt(environment, split, range(0, size), timeoutMs)).entries()) {
      const reward = outcomes.get(id);
      if (reward !== undefined) byIndex.set(index, reward);
    }
  return tasksAt(environment, split, kind.indices({ size, position, count, seed, outcomes: byIndex }, sampler), timeoutMs);
}

/** The task of this id among those that a sampler by outcomes has drawn from; undefined if there is none. */
export async function taskNamed(environment: Environment, id: string, split: Split = trainSplit, timeoutMs = answerMs) {
  const size = await sizeOf(environment, split, timeoutMs);
  return (await tasksAt(environment, split, range(0, size), timeoutMs)).find((task) => task.id === id);
}

/** The first tasks of a split, whatever the seed: every evaluation of every run is of the same tasks. */
export async function evaluationTasks(
  environment: Environment,
  split: Split,
  count: number,
  timeoutMs = answerMs,
): Promise<Task[]> {
  return tasksAt(environment, split, range(0, Math.min(count, await sizeOf(environment, split, timeoutMs))), timeoutMs);
}

/**
 * Evaluates on the training tasks where an environment has no others and nobody has asked for a split.
 * @returns the configuration, and a warning where it is another
 */
export function withOnlySplit(
  config: TrainingConfig,
  environment: Environment,
  written: readonly UserConfig[],
): { readonly config: TrainingConfig; readonly warnings: readonly string[] } {
  const { tasks, split } = config.evaluation;
  const [only, ...others] = splitsOf(environment);
  if (only !== trainSplit || others.length > 0 || split === only || tasks === 0) return { config, warnings: [] };
  if (written.some(({ evaluation }) => evaluation?.split !== undefined)) return { config, warnings: [] };
  const warning = `"${environment.name}" has training tasks alone: it is evaluated on the tasks that it is trained on, which says nothing of others. Write tasks: { train: […], test: […] }.`;
  return { config: { ...config, evaluation: { ...config.evaluation, split: only } }, warnings: [warning] };
}

/** @throws ConfigError where a setting needs tasks of a split in which the environment has none */
export async function checkSplits({ rollout, evaluation, algorithm }: TrainingConfig, environment: Environment): Promise<void> {
  const { split, tasks, challenge, during } = evaluation;
  const { needsOutcomes } = taskSamplerOf(rollout.tasks);
  if (needsOutcomes && !((await sizeOf(environment, rollout.split ?? trainSplit)) <= maxRecordedTasks))
    throw new ConfigError("rollout.tasks", rollout.tasks.kind, {
      expected: `"epochs", or a split of at most ${maxRecordedTasks} tasks: the outcome of each is recorded`,
    });
  const needsTasks = algorithm.kind !== "sft" || algorithm.data === undefined; // conversations in a file need none
  if (needsTasks)
    await checkSplit(environment, rollout.split === undefined ? "environment" : "rollout.split", rollout.split ?? trainSplit);
  if (tasks > 0) await checkSplit(environment, "evaluation.split", split);
  if (tasks > 0 && challenge) await checkSplit(environment, "evaluation.challenge", "challenge");
  if (during.every > 0) await checkSplit(environment, "evaluation.during.split", during.split);
}

/** @param setting the one that asks for the split */
export async function checkSplit(environment: Environment, setting: string, split: Split): Promise<void> {
  // Environments on other servers know their splits once they were asked for a size.
  await sizeOf(environment, splitsOf(environment)[0] ?? split);
  const names = splitsOf(environment);
  if (names.includes(split) && (await sizeOf(environment, split)) > 0) return;
  const sizes = await Promise.all(names.map((name) => sizeOf(environment, name)));
  if (sizes.every((size) => !(size > 0)))
    throw new ConfigError(`the tasks of "${environment.name}"`, "none", {
      expected: `at least one in the split ${split}`,
      hint: "size() of the environment gives 0, or no number, for each of its splits.",
    });
  const hint = names.includes(split) ? undefined : didYouMean(split, names);
  throw new ConfigError(setting, split, {
    expected: names.filter((_, i) => Number(sizes[i]) > 0),
    hint: hint ?? `The environment "${environment.name}" has no ${split} tasks.`,
  });
}

/** @throws EnvError if there is no answer in time, or an error */
export async function sizeOf(environment: Environment, split: Split, timeoutMs = answerMs): Promise<number> {
  try {
    return await callUserCode(`size() of "${environment.name}"`, () => environment.size(split), { timeoutMs });
  } catch (cause) {
    if (cause instanceof EnvError) throw cause; // says what failed, and the next step
    throw new EnvError(`size of the ${split} split of "${environment.name}"`, cause, { expected: "a number of tasks", cause });
  }
}

/** @throws EnvError also where two tasks have one id: comparisons pair outcomes by it, and would take the two for one */
export async function tasksAt(
  environment: Environment,
  split: Split,
  indices: readonly number[],
  timeoutMs: number,
): Promise<Task[]> {
  const tasks = await Promise.all(
    indices.map(async (index) => {
      const what = `task ${index} of the ${split} split of "${environment.name}"`;
      let given: Task | undefined;
      try {
        given = await callUserCode(`task() of "${environment.name}"`, () => environment.task(split, index), { timeoutMs });
      } catch (cause) {
        if (cause instanceof EnvError) throw cause;
        throw new EnvError(`the error of ${what}`, cause, { expected: "a task", cause });
      }
      // Other people's code, often without types.
      if (typeof given?.id !== "string") throw new EnvError(what, given, { expected: "an object whose `id` is a text" });
      return given;
    }),
  );
  const indexOf = new Map<string, number>();
  for (const [i, index] of indices.entries()) {
    const { id } = present(tasks[i], "a task");
    const known = indexOf.get(id) ?? index;
    if (known !== index)
      throw new EnvError(`the id of task ${index} of the ${split} split of "${environment.name}"`, id, {
        expected: `another one than that of task ${known}`,
        hint: "An id names one task: evaluations are compared task by task. Add the task's index or its row in your data to the id.",
      });
    indexOf.set(id, known);
  }
  return tasks;
}

function range(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i);
}
