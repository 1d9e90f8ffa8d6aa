import type { RemoteStats } from "../engines/engine.ts";
import type { Progress } from "../runs/records.ts";
import { RolloutPipeline } from "./pipeline.ts";
import type { SamplerGap } from "./sampler-gap.ts";
import { type Sampled, sampleGroups } from "./sampling.ts";
import type { StepArguments } from "./step.ts";

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

/** @param saved the folder of `saveState`, where a run continues */
export function rolloutSource(args: StepArguments, progress: Progress, saved: string | undefined): Promise<RolloutSource> {
  return args.config.rollout.ahead > 0 ? RolloutPipeline.open(args, progress, saved) : Promise.resolve(sampledInStep(args));
}

/** Rollouts by the weights that they train, while nothing else is done. */
function sampledInStep(args: StepArguments): RolloutSource {
  const { engine } = args;
  return {
    take: async (step, position) => {
      engine.takeStats();
      const sampled = await sampleGroups(args, engine, step, position);
      const { sampler, remote } = engine.takeStats();
      return { ...sampled, sampledTokens: sampler.sampledTokens, remote };
    },
    stepped: async () => {},
    saveState: async () => {},
    close: async () => {},
  };
}
