import { type ErrorDetails, RetrogradeError } from "../core/errors.ts";
import type { Message } from "../core/messages.ts";
import type { Group, StopReason, Trajectory } from "../core/trajectory.ts";
import type { Task } from "../environments/environment.ts";
import type { Metrics } from "../runs/records.ts";

/** A reward that cannot be given: a function that threw or gave no number, a judge without an answer, a budget that is spent. */
export class RewardError extends RetrogradeError {
  constructor(name: string, problem: unknown, details: ErrorDetails = {}) {
    super(`reward "${name}"`, problem, details);
  }
}

/** An episode that a reward from code looks at. */
export interface FinishedEpisode<T extends Task = Task> {
  /** The environment's own task, with all that it keeps there: a right answer, for instance. */
  readonly task: T;
  /** The model's last message; "" where there is none. */
  readonly answer: string;
  readonly conversation: readonly Message[];
  /** The reward that the environment gave. */
  readonly reward: number;
  readonly scores: Readonly<Record<string, number>>;
  readonly stopReason: StopReason;
  readonly trajectory: Trajectory;
}

export interface RewardOptions {
  /** Aborted when the run is interrupted. */
  readonly signal?: AbortSignal;
}

interface Named {
  readonly name: string;
  /** 1 if left out. */
  readonly weight?: number;
}
type Given<T> = T | Promise<T>;

/** A reward from code, for `rewards` of a configuration. Episodes that failed are not shown to it: they get 0. */
export type Reward<T extends Task = Task> =
  | (Named & { verify(episode: FinishedEpisode<T>, options: RewardOptions): Given<number | boolean> })
  | (Named & { compare(group: readonly FinishedEpisode<T>[], options: RewardOptions): Given<readonly number[]> });

/**
 * Types a reward from code. `verify` gives each episode a number, or true for 1 and false for 0. `compare` sees the episodes of one task
 * together and gives one number each, in their order.
 * @example
 * const brief = defineReward({ name: "brief", weight: 0.1, verify: ({ answer }) => answer.length < 200 });
 * await train({ rewards: [{ kind: "environment" }, brief] });
 */
export function defineReward<T extends Task>(reward: Reward<T>): Reward {
  return reward as Reward;
}

/** The episodes of one task that a part scores. */
export interface ScoredGroup extends Group {
  readonly task: Task;
}

export interface ScoringContext extends RewardOptions {
  /** Called with the number of further episodes that a part has scored: in all, each episode counts once a part. */
  readonly onScored: (episodes: number) => void;
  readonly warn: (message: string) => void;
}

/** Numbers of a part for a step's groups, in their order. */
export interface PartScores {
  /** One number for each trajectory; undefined for a group that could not be scored. */
  readonly values: readonly (readonly number[] | undefined)[];
  readonly metrics?: Metrics;
}

/** One addend of the reward. */
export interface RewardPart {
  readonly name: string;
  readonly weight: number;
  /** True for a cost, which episodes that failed pay as others do. From other parts they earn 0. */
  readonly isCost: boolean;
  /** Looks at a task before the first rollout. @throws RewardError for one that the part could not score */
  check?(task: Task): void;
  score(groups: readonly ScoredGroup[], context: ScoringContext): Given<PartScores>;
}

/** The text of the model's last message, without reasoning and calls; "" where it wrote none. */
export function lastAnswer({ messages }: Trajectory): string {
  return messages.findLast((message) => message.role === "assistant")?.content ?? "";
}
