import type { TrajectoryId } from "../core/trajectory.ts";

export interface RolloutOptions {
  /** Unique within a run. It names the sampler's cache row and, with the seed, all random numbers of the episode's actions. */
  readonly id: TrajectoryId;
  readonly group: string;
  readonly seed: number;
  /** Names of the random numbers, where they are not those of the id and the group: episodes with the same names draw alike. */
  readonly draws?: { readonly id: string; readonly group: string };
  readonly maxTurns: number;
  /** Limit of assistant turns since the last message of a user. Default none. */
  readonly maxTurnsPerRequest?: number;
  /** Limit of one action, in tokens. */
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  /** For each answer of the environment, in milliseconds. */
  readonly episodeTimeoutMs: number;
  readonly signal?: AbortSignal;
}
