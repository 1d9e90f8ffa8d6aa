import type { Chat } from "../../src/chat/chat.ts";
import { commonPrefix } from "../../src/core/context.ts";
import { EpisodeStop } from "../../src/core/episode-stop.ts";
import { RunError } from "../../src/core/errors.ts";
import { seedOf } from "../../src/core/random.ts";
import type { TokenId, Trajectory } from "../../src/core/trajectory.ts";
import type { EngineInfo, Sampler } from "../../src/engines/engine.ts";
import type { Environment, Task } from "../../src/environments/environment.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import type { EvaluationRecord, StepRecord } from "../../src/runs/records.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { taskSamplerOf } from "../../src/training/config/task-samplers/kinds.ts";
import { evaluationTasks, taskNamed, trainingTasks } from "../../src/training/config/tasks.ts";

/** The origin of a trajectory: a step of the training, or an evaluation on a split. */
export type Origin =
  | { readonly source: "train"; readonly step: number }
  | { readonly source: EvaluationRecord["when"]; readonly step: number; readonly split: string };

/** Where a replay stops being the recorded episode. */
export interface ReplayDifference {
  /** The turn whose context differs, from 0; undefined where only the end does. */
  readonly turn?: number;
  /** The ids in which both contexts agree, and those that follow. */
  readonly agree?: number;
  readonly recorded: readonly TokenId[] | string;
  readonly replayed: readonly TokenId[] | string;
}

export interface Replay {
  readonly trajectory: Trajectory;
  /** Undefined if every context, the score and the reason for the end are those that were recorded. */
  readonly difference?: ReplayDifference;
}

/**
 * Plays a recorded episode again: the environment starts from the same task and seed, the recorded actions are executed, and every context
 * that the environment's answers lead to is compared with the recorded one, id for id.
 * @param steps of the run, which say where its tasks were
 * @throws RunError if the run's configuration does not lead to the episode's task
 */
export async function replayEpisode(recorded: Trajectory, origin: Origin, played: ReplayArguments): Promise<Replay> {
  const { config, chat, environment } = played;
  const { task, seed, group } = await beginningOf(recorded, origin, played);
  const sampler = new RecordedActions(recorded);
  const names = { id: recorded.id, group: recorded.group, draws: { id: recorded.id, group } };
  const trajectory = await rollout(sampler, chat, environment, task, { ...config.rollout, ...names, seed });
  return { trajectory, difference: sampler.difference ?? endOf(recorded, trajectory, sampler.left) };
}

export interface ReplayArguments {
  readonly config: Pick<TrainingConfig, "rollout" | "seed">;
  readonly chat: Chat;
  readonly environment: Environment;
  readonly steps: readonly StepRecord[];
}

/** The task of a recorded episode, and what decides what is random in it. @throws RunError as `replayEpisode` */
export async function beginningOf(
  { id, group, task: wanted }: Trajectory,
  origin: Origin,
  { config, environment, steps }: Omit<ReplayArguments, "chat">,
): Promise<{ readonly task: Task; readonly seed: number; readonly group: string }> {
  const { tasksPerStep, split, episodeTimeoutMs } = config.rollout;
  const index = Number(/(\d+)$/.exec(group)?.[1] ?? 0);
  if (origin.source === "train") {
    const batch = Number(/\/batch-(\d+)\//.exec(id)?.[1] ?? 0);
    const batchesBefore = steps
      .filter(({ step }) => step < origin.step)
      .reduce((sum, { metrics }) => sum + (metrics.batchesSampled ?? 1), 0);
    const position = (batchesBefore + batch) * tasksPerStep + index;
    const [task] = taskSamplerOf(config.rollout.tasks).needsOutcomes
      ? [await taskNamed(environment, wanted, split, episodeTimeoutMs)]
      : await trainingTasks(environment, position, 1, config.seed, { split, timeoutMs: episodeTimeoutMs });
    return { task: same(task, wanted), seed: seedOf(config.seed, "rollout", origin.step), group };
  }
  const tasks = await evaluationTasks(environment, origin.split, index + 1, episodeTimeoutMs);
  return {
    task: same(tasks[index], wanted),
    seed: seedOf(config.seed, "evaluation", origin.split),
    group: `${origin.split}/${index}`,
  };
}

/** @throws RunError if the task at an episode's place is not the one that it is of */
export function same(task: Task | undefined, wanted: string): Task {
  if (task?.id === wanted) return task;
  throw new RunError("the episode's task", wanted, {
    expected: `the task at its place, which is "${task?.id}" now`,
    hint: "The environment or its tasks are others than when the run was made.",
  });
}

/** Gives the recorded actions one after the other, as long as their contexts are the recorded ones. */
class RecordedActions implements Sampler {
  readonly info: EngineInfo;
  readonly weightVersion = 0;
  readonly #turns: Trajectory["turns"];
  #next = 0;
  difference: ReplayDifference | undefined;

  constructor({ turns, stopReason }: Trajectory) {
    this.#turns = turns;
    const last = turns.at(-1);
    // An episode that ended for want of room ends at the same length here.
    const noRoom = stopReason === "max-tokens" && last !== undefined && !last.truncated;
    const maxLength = noRoom ? last.context.length + last.action.length : Number.MAX_SAFE_INTEGER;
    this.info = { name: "recorded", parameters: 0, vocabularySize: 0, maxLength, capabilities: [] };
  }

  /** The number of recorded turns that were not asked for. */
  get left(): number {
    return this.#turns.length - this.#next;
  }

  async sample({ context }: Parameters<Sampler["sample"]>[0]): ReturnType<Sampler["sample"]> {
    const turn = this.#turns[this.#next];
    if (turn === undefined) return this.#differ({ turn: this.#next, recorded: "the end", replayed: "another turn" });
    const agree = commonPrefix(turn.context, context);
    if (agree < Math.max(turn.context.length, context.length))
      return this.#differ({
        ...{ turn: this.#next, agree },
        ...{ recorded: turn.context.slice(agree), replayed: context.slice(agree) },
      });
    this.#next++;
    const { action, samplerLogprobs, masked, entropies, weightVersion, truncated } = turn;
    const finish = truncated ? "length" : "stop";
    return {
      tokens: action,
      logprobs: samplerLogprobs,
      entropies,
      finish,
      weightVersion,
      ...(masked === undefined ? {} : { masked }),
    };
  }

  release(): void {}

  /** Ends the episode: what would follow is no longer what was recorded. */
  #differ(difference: ReplayDifference): never {
    this.difference = difference;
    throw new EpisodeStop("cancelled", "the replay differs from the record");
  }
}

/** The first difference at the end of an episode whose contexts are all equal. */
function endOf(recorded: Trajectory, replayed: Trajectory, left: number): ReplayDifference | undefined {
  if (left > 0)
    return {
      turn: recorded.turns.length - left,
      recorded: "a turn",
      replayed: `the end: ${replayed.error ?? replayed.stopReason}`,
    };
  const ends: readonly (readonly [string, string])[] = [
    [`it ended by ${recorded.stopReason}`, `it ended by ${replayed.stopReason}`],
    [`reward ${rewardOf(recorded)}`, `reward ${rewardOf(replayed)}`],
    ...Object.entries(replayed.scores).map(([name, score]) => [`${name} ${recorded.scores[name]}`, `${name} ${score}`] as const),
  ];
  const [different] = ends.filter(([before, now]) => before !== now);
  return different && { recorded: different[0], replayed: different[1] };
}

/** The environment's own reward, where the run composed another one of it. */
export function rewardOf({ scores, reward }: Trajectory): number {
  return scores["reward:environment"] ?? reward;
}
