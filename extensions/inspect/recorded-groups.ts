import { ConfigError, RunError } from "../../src/core/errors.ts";
import { groupBy } from "../../src/core/group-by.ts";
import type { Group, Trajectory } from "../../src/core/trajectory.ts";
import type { Environment, Split, Task } from "../../src/environments/environment.ts";
import { whileOpen } from "../../src/environments/lifetime.ts";
import { readEpisodes, readEvaluations, readMetrics, readRun, readTrajectories, trajectorySteps } from "../../src/runs/read.ts";
import type { StepRecord } from "../../src/runs/records.ts";
import { environmentOf, recordedConfig, requireTrustedWorld } from "../../src/sdk/run-environment.ts";
import { recordedEnvironment } from "../../src/training/config/known-models.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { taskSamplerOf } from "../../src/training/config/task-samplers/kinds.ts";
import { taskNamed, tasksAt, trainingTasks } from "../../src/training/config/tasks.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { decodingsOf, episodesOf, isEvaluation, readAsked } from "../../src/training/evaluation/folder.ts";

/** The episodes of a record that are meant. */
export interface RecordedPart {
  /** Training episodes of this step alone. Default: of all steps. */
  readonly step?: number;
  /** The attempts of the run's newest evaluation on this split, instead of training episodes. */
  readonly split?: string;
  /** The record's environment, where it is none that ships. False: none is opened, and a task is its id alone. */
  readonly environment?: UserConfig["environment"] | false;
}

/** Episodes as the groups in which they were played. */
export interface RecordedGroups {
  readonly groups: readonly Group[];
  readonly split: Split;
  /** The step of each group; undefined of evaluations. */
  readonly steps?: readonly number[];
}

/** @throws ConfigError where the record has none of those that are meant */
export function recordedGroups(folder: string, part: RecordedPart): RecordedGroups {
  const read = isEvaluation(folder)
    ? evaluated(folder, part)
    : part.split === undefined
      ? trained(folder, part)
      : measured(folder, part);
  if (read.groups.length > 0) return read;
  const [evaluation] = isEvaluation(folder) || part.split !== undefined ? [] : readEvaluations(folder);
  throw new ConfigError("the episodes of a record", folder, {
    expected: "at least one, of a finished step or evaluation",
    ...(evaluation === undefined ? {} : { hint: `Add --split ${evaluation.split}: it has evaluations alone.` }),
  });
}

function grouped(episodes: readonly Trajectory[]): Group[] {
  return [...groupBy(episodes, ({ group }) => group)].map(([id, trajectories]) => ({ id, trajectories }));
}

function evaluated(folder: string, { step, split }: RecordedPart): RecordedGroups {
  const asked = readAsked(folder);
  if (step !== undefined) throw new ConfigError("--step", step, { expected: "none: an evaluation has no steps" });
  if (split !== undefined && split !== asked.split) throw new ConfigError("--split", split, { expected: [asked.split] });
  const decoding = decodingsOf(folder).find((each) => each === "sampled") ?? "greedy";
  return { groups: grouped(episodesOf(folder, decoding)), split: asked.split };
}

function measured(folder: string, { step, split = "" }: RecordedPart): RecordedGroups {
  if (step !== undefined) throw new ConfigError("--step", step, { expected: "none beside --split" });
  const all = readEvaluations(folder);
  const own = all.filter((record) => record.split === split);
  const newest = own.findLast(({ decoding }) => decoding !== "greedy") ?? own.at(-1);
  if (newest === undefined) throw new ConfigError("--split", split, { expected: [...new Set(all.map((each) => each.split))] });
  return { groups: grouped(readEpisodes(folder, newest)), split };
}

function trained(folder: string, { step }: RecordedPart): RecordedGroups {
  const { rollout } = readRun(folder).config as { rollout?: { split?: string } };
  const all = trajectorySteps(folder);
  if (step !== undefined && !all.includes(step)) throw new ConfigError("--step", step, { expected: all.map(String) });
  const read = (step === undefined ? all : [step]).map((each) => ({
    step: each,
    groups: grouped(readTrajectories(folder, each)),
  }));
  return {
    groups: read.flatMap(({ groups }) => groups),
    split: rollout?.split ?? "train",
    steps: read.flatMap(({ step: each, groups }) => groups.map(() => each)),
  };
}

/**
 * Returns the tasks of recorded groups as the record's environment gives them.
 * @throws UntrustedError if the record is from elsewhere and its environment acts; RunError if a task is no longer there
 */
export async function recordedTasks(
  folder: string,
  { groups, split, steps }: RecordedGroups,
  {
    environment: own,
    ...limits
  }: Pick<RecordedPart, "environment"> & { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<Task[]> {
  const firsts = groups.flatMap(({ trajectories: [first] }) => first ?? []);
  if (own === false) return firsts.map(({ task }) => ({ id: task }));
  const config = steps === undefined ? undefined : recordedConfig(folder, ["environment", "rollout", "seed"]);
  const recorded = config ?? measuredWorld(folder);
  const world = environmentOf({ environment: recorded.environment, model: folder }, { environment: own });
  return whileOpen(world, limits, async (environment) => {
    if (steps !== undefined && config !== undefined) {
      const finished = readMetrics(folder);
      return Promise.all(firsts.map((first, i) => trainedTask(first, steps[i] ?? 0, config, environment, finished)));
    }
    const indices = firsts.map(({ group }) => Number(/(\d+)$/.exec(group)?.[1] ?? 0));
    const tasks = await tasksAt(environment, split, indices, limits.timeoutMs);
    return firsts.map((first, i) => same(tasks[i], first.task));
  });
}

/** @param finished steps of the run, which say where the tasks of a later one begin */
async function trainedTask(
  { id, group, task: wanted }: Trajectory,
  step: number,
  { rollout, seed }: Pick<TrainingConfig, "rollout" | "seed">,
  environment: Environment,
  finished: readonly StepRecord[],
): Promise<Task> {
  const { tasks, tasksPerStep, split, episodeTimeoutMs: timeoutMs } = rollout;
  if (taskSamplerOf(tasks).needsOutcomes) return same(await taskNamed(environment, wanted, split, timeoutMs), wanted);
  const before = finished.filter((record) => record.step < step).map(({ metrics }) => metrics.batchesSampled ?? 1);
  const batch = before.reduce((sum, batches) => sum + batches, Number(/\/batch-(\d+)\//.exec(id)?.[1] ?? 0));
  const position = batch * tasksPerStep + Number(/(\d+)$/.exec(group)?.[1] ?? 0);
  const [task] = await trainingTasks(environment, position, 1, seed, { split, timeoutMs });
  return same(task, wanted);
}

/** @throws RunError if the task at an episode's place is not the one that it is of */
function same(task: Task | undefined, wanted: string): Task {
  if (task?.id === wanted) return task;
  throw new RunError("the episode's task", wanted, {
    expected: `the task at its place, which is "${task?.id}" now`,
    hint: "The environment or its tasks are others than when the run was made.",
  });
}

/** A measurement's environment: its run may have trained nothing, and have no configuration of a training. */
function measuredWorld(folder: string): Pick<TrainingConfig, "environment"> {
  requireTrustedWorld(folder);
  const { name, settings } = isEvaluation(folder) ? readAsked(folder).environment : recordedEnvironment(folder);
  return { environment: { name, settings: settings as Record<string, unknown> } }; // the environment checks them
}

/** The reward that the environment gave, where the record composed another of it: rewards that build on it start there again. */
export function environmentsOwn({ trajectories, ...group }: Group): Group {
  const own = ({ scores, reward }: Trajectory) => scores["reward:environment"] ?? reward;
  return { ...group, trajectories: trajectories.map((trajectory) => ({ ...trajectory, reward: own(trajectory) })) };
}
