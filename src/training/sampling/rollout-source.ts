import { groupBy } from "../../core/group-by.ts";
import { mean } from "../../core/mean.ts";
import { isScored } from "../../core/outcome.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Progress } from "../../runs/records.ts";
import { taskSamplerOf } from "../config/task-samplers/kinds.ts";
import { RolloutPipeline } from "./pipeline.ts";
import { sampleGroups } from "./sampling.ts";
import type { StepArguments } from "./step-arguments.ts";
import type { RolloutSource } from "./step-rollouts.ts";

/**
 * @param saved the folder of `saveState`, where a run continues
 * @param recorded the episodes of a finished step
 */
export function rolloutSource(
  args: StepArguments,
  progress: Progress,
  saved: string | undefined,
  recorded: (step: number) => readonly Trajectory[],
): Promise<RolloutSource> {
  if (args.config.rollout.ahead > 0) return RolloutPipeline.open(args, progress, saved);
  const outcomes = new Map<string, number>();
  const { needsOutcomes } = taskSamplerOf(args.config.rollout.tasks);
  for (let step = 1; needsOutcomes && step <= progress.step; step++) record(outcomes, recorded(step));
  return Promise.resolve(sampledInStep(args, outcomes));
}

/** Records the mean reward of each task that was played. Episodes without a score say nothing of their task. */
function record(outcomes: Map<string, number>, played: readonly Trajectory[]): void {
  for (const [task, own] of groupBy(played.filter(isScored), ({ task }) => task))
    outcomes.set(task, mean(own.map(({ reward }) => reward)));
}

/** Rollouts by the weights that they train, while nothing else is done. */
function sampledInStep(args: StepArguments, outcomes: Map<string, number>): RolloutSource {
  const { engine } = args;
  return {
    take: async (step, position) => {
      engine.takeStats();
      const sampled = await sampleGroups(args, engine, step, position, outcomes);
      record(
        outcomes,
        sampled.groups.flatMap(({ trajectories }) => trajectories),
      );
      const { sampler, remote } = engine.takeStats();
      return { ...sampled, sampledTokens: sampler.sampledTokens, remote };
    },
    stepped: async () => {},
    saveState: async () => {},
    close: async () => {},
  };
}
