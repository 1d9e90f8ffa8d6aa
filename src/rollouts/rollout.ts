import type { Chat } from "../chat/chat.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import type { Sampler } from "../engines/engine.ts";
import type { Environment, Task } from "../environments/environment.ts";
import type { Actor } from "./actors/actor.ts";
import { tokenActor } from "./actors/token-actor.ts";
import { opened } from "./answers.ts";
import { startEpisode } from "./ask.ts";
import type { RolloutOptions } from "./options.ts";
import { playOut } from "./play.ts";
import { playedBySelf } from "./self-played.ts";
import { allSettled, TaskGroup } from "./task-group.ts";
import { withinLimit } from "./within-limit.ts";

export type { RolloutOptions } from "./options.ts";

/**
 * Plays one episode: the model acts, tools and environment answer, until the environment says so or a limit is reached.
 * A fault of the environment or its tools is recorded on the trajectory, whose reward is then 0.
 * @throws ModelError if the chat template refuses the first messages; what the sampler throws
 */
export function rollout<T extends Task>(
  sampler: Sampler,
  chat: Chat,
  environment: Environment<T>,
  task: T,
  options: RolloutOptions,
): Promise<Trajectory> {
  return rolloutBy(tokenActor(sampler, chat), environment, task, options);
}

/** The same by any actor. @throws what the actor throws */
export function rolloutBy<T extends Task>(
  actor: Actor,
  environment: Environment<T>,
  task: T,
  options: RolloutOptions,
): Promise<Trajectory> {
  const { play, roles } = environment;
  if (play !== undefined) return withinLimit(environment, () => playedBySelf(actor, environment, play, task, options));
  const open = async () => opened(await startEpisode(environment, task, options));
  return withinLimit(environment, () => playOut(actor, task, { open, roles }, options));
}

export interface GroupsOptions extends Omit<RolloutOptions, "id" | "group" | "draws"> {
  /** Makes the ids of groups and trajectories unique within a run, such as "step-3". */
  readonly name: string;
  /** Names the random numbers. Default: the name, so that no two groups of a run draw alike. */
  readonly drawName?: string;
  /** Trajectories that exist already, by their ids: they are not played. */
  readonly played?: ReadonlyMap<string, Trajectory>;
  /** Rollouts of each task. */
  readonly groupSize: number;
  /** Episodes in jobs. */
  readonly concurrency: number;
  /** Called as each episode ends. */
  readonly onTrajectory?: (trajectory: Trajectory) => void;
}

/**
 * Rollouts of every task, some at a time.
 * @returns one group for each task, in the order of the tasks, whatever ended first
 * @throws as `rollout`, once the other episodes have been cancelled
 */
export function rolloutGroups<T extends Task>(
  sampler: Sampler,
  chat: Chat,
  environment: Environment<T>,
  tasks: readonly T[],
  options: GroupsOptions,
): Promise<Group[]> {
  return rolloutGroupsBy(tokenActor(sampler, chat), environment, tasks, options);
}

/** The same by any actor. @throws as `rolloutBy`, once the other episodes have been cancelled */
export async function rolloutGroupsBy<T extends Task>(
  actor: Actor,
  environment: Environment<T>,
  tasks: readonly T[],
  { name, drawName = name, played, groupSize, concurrency, onTrajectory, signal, ...options }: GroupsOptions,
): Promise<Group[]> {
  const jobs = new TaskGroup(concurrency, signal);
  const groups = tasks.map(async (task, index) => {
    const id = `${name}/${index}`;
    const attempts = Array.from({ length: groupSize }, (_, attempt) => {
      const known = played?.get(`${id}/${attempt}`);
      if (known !== undefined) return Promise.resolve(known);
      return jobs.run(async () => {
        const names = { id: `${drawName}/${index}/${attempt}`, group: `${drawName}/${index}` };
        const identity = { id: `${id}/${attempt}`, group: id, draws: names, signal: jobs.signal };
        const trajectory = await rolloutBy(actor, environment, task, { ...options, ...identity });
        onTrajectory?.(trajectory);
        return trajectory;
      });
    });
    return { id, trajectories: await allSettled(attempts) };
  });
  return allSettled(groups);
}
