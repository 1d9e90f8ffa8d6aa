import { ConfigError } from "../../src/core/errors.ts";
import { groupBy } from "../../src/core/group-by.ts";
import type { Group, Trajectory } from "../../src/core/trajectory.ts";
import type { Split, Task } from "../../src/environments/environment.ts";
import { whileOpen } from "../../src/environments/lifetime.ts";
import { readEpisodes, readEvaluations, readMetrics, readRun, readTrajectories, trajectorySteps } from "../../src/runs/read.ts";
import { environmentOf, recordedConfig, requireTrustedWorld } from "../../src/sdk/run-environment.ts";
import { recordedEnvironment } from "../../src/training/config/known-models.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { tasksAt } from "../../src/training/config/tasks.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import { decodingsOf, episodesOf, isEvaluation, readAsked } from "../../src/training/evaluation/folder.ts";
import { beginningOf, rewardOf, same } from "./replay.ts";

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
  options: Pick<RecordedPart, "environment"> & { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<Task[]> {
  const { environment: own, ...limits } = options;
  const firsts = groups.flatMap(({ trajectories: [first] }) => first ?? []);
  if (own === false) return firsts.map(({ task }) => ({ id: task }));
  const config = steps === undefined ? undefined : recordedConfig(folder, ["environment", "rollout", "seed"]);
  const recorded = config ?? measuredWorld(folder);
  const world = environmentOf({ environment: recorded.environment, model: folder }, { environment: own });
  return whileOpen(world, limits, async (environment) => {
    if (steps !== undefined && config !== undefined) {
      const played = { config, environment, steps: readMetrics(folder) };
      const places = firsts.map((first, i) => beginningOf(first, { source: "train", step: steps[i] ?? 0 }, played));
      return (await Promise.all(places)).map(({ task }) => task);
    }
    const indices = firsts.map(({ group }) => Number(/(\d+)$/.exec(group)?.[1] ?? 0));
    const tasks = await tasksAt(environment, split, indices, limits.timeoutMs);
    return firsts.map((first, i) => same(tasks[i], first.task));
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
  return { ...group, trajectories: trajectories.map((trajectory) => ({ ...trajectory, reward: rewardOf(trajectory) })) };
}
