import type { Progress } from "../../runs/records.ts";
import { RolloutPipeline } from "./pipeline.ts";
import { sampleGroups } from "./sampling.ts";
import type { StepArguments } from "./step-arguments.ts";
import type { RolloutSource } from "./step-rollouts.ts";

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
