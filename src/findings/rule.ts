import type { AlgorithmConfig } from "../algorithms/algorithms.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import type { EvaluationRecord, StepRecord, Warning } from "../runs/records.ts";

/** The settings of a run that rules read. */
export interface FindingSettings {
  readonly algorithm: AlgorithmConfig;
  readonly rollout: {
    readonly groupSize: number;
    readonly maxTurns: number;
    readonly maxTokens: number;
  };
}

/** The facts that episodes show, of a step or of an evaluation. */
export interface EpisodeFacts {
  readonly trajectories: readonly Trajectory[];
  /** Names of the tools that the environment offers. */
  readonly tools: readonly string[];
  readonly config: FindingSettings;
}

/** The facts that a step shows besides its episodes. */
export interface StepFacts extends EpisodeFacts {
  /** Groups that the update learns from. */
  readonly trained: readonly Group[];
  readonly record: StepRecord;
  readonly before: readonly EvaluationRecord[];
  /** The steps before, newest last: at most `rememberedSteps`. */
  readonly history: readonly StepRecord[];
}

/** The number of earlier steps that rules may look back to. */
export const rememberedSteps = 50;

/** The finding of a rule: a warning without its name. */
export type Finding = Omit<Warning, "rule">;

/** Finds one way in which nothing is learned. Pure, so that a resumed run warns as it would have warned. */
export type Rule<Facts> = (facts: Facts & Episodes) => Finding | undefined;

/** Rules run only if there are episodes. */
export interface Episodes {
  readonly trajectories: readonly [Trajectory, ...Trajectory[]];
}

export function percentOf(share: number): string {
  return `${Math.round(100 * share)} %`;
}
