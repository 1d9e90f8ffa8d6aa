import type { RemoteStats } from "../../engines/engine.ts";
import type { SamplerGap } from "./sampler-gap.ts";
import type { Sampled } from "./sampling.ts";
/** The rollouts of a step, as its update takes them. */
export interface StepRollouts extends Sampled {
  readonly sampledTokens: number;
  /** The statistics of sampling on a server. */
  readonly remote?: RemoteStats;
  /** The measures of rollouts that were sampled ahead. */
  readonly ahead?: {
    /** Training steps that the trainer's weights are newer than those that sampled. */
    readonly staleness: number;
    /** Taken under the weights that sampled. */
    readonly gap: SamplerGap;
    /** How long the trainer had nothing to do. */
    readonly waitedSeconds: number;
  };
}

/** Where training steps take their rollouts from. */
export interface RolloutSource {
  /**
   * @param step from 1, each once, in order
   * @param position training tasks that the steps before have taken
   */
  take(step: number, position: number): Promise<StepRollouts>;
  /** A step is done: the engine has its weights. */
  stepped(step: number): Promise<void>;
  /** Writes what `rolloutSource` needs to go on after a step. The engine's own state is saved elsewhere. */
  saveState(folder: string, step: number): Promise<void>;
  /** Cancels what is being sampled. */
  close(): Promise<void>;
}
