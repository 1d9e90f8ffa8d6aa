import type { Chat } from "../agents/chat.ts";
import type { AlgorithmConfig } from "../algorithms/config.ts";
import { runUpdate } from "../algorithms/update.ts";
import { randomStream } from "../core/random.ts";
import type { Group, Trajectory } from "../core/trajectory.ts";
import type { Engine, EngineCritic } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import type { RewardPart } from "../rewards/reward.ts";
import type { StepRecord, TimingRecord } from "../runs/records.ts";
import { branchingMetrics } from "./branching.ts";
import type { TrainingConfig } from "./config.ts";
import { enginePolicy } from "./engine-policy.ts";
import type { OnEvent } from "./events.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { measureSamplerGap } from "./sampler-gap.ts";
import { sampleGroups } from "./sampling.ts";
import { scheduledLearningRate } from "./schedule.ts";

export interface StepArguments {
  readonly config: TrainingConfig;
  readonly engine: Engine;
  readonly chat: Chat;
  readonly environment: Environment;
  /** What the reward is made of; the environment's own if left out. */
  readonly rewards?: readonly RewardPart[];
  readonly onEvent: OnEvent;
  readonly signal?: AbortSignal;
}

export interface StepResult {
  /** Training tasks that were taken: more than `tasksPerStep` where sampling went on. */
  readonly tasks: number;
  readonly record: StepRecord;
  readonly timing: TimingRecord;
  readonly trajectories: readonly Trajectory[];
}

/**
 * One training step: rollouts of the next tasks, then one update by the algorithm, which may take several optimiser steps.
 * @param step from 1
 * @param position training tasks that the steps before have taken
 * @param critic where the algorithm needs one
 * @throws the signal's reason if it was aborted while sampling or scoring; nothing was moved then
 * @throws RewardError where there is no reward to learn from; nothing was moved then either
 */
export async function trainingStep(
  args: StepArguments,
  step: number,
  position: number,
  critic?: EngineCritic,
): Promise<StepResult> {
  const { config, engine, rewards = [], onEvent } = args;
  const { seed, steps, rollout, optimizer, algorithm, limits } = config;

  engine.takeStats();
  const { weightVersion } = engine;
  const { groups, trained, tasks, metrics, rolloutSeconds, rewardSeconds } = await sampleGroups(args, step, position);
  const { sampledTokens } = engine.takeStats().sampler;

  const started = performance.now();
  onEvent({ type: "phase", phase: "update", step, total: 1 });
  const trajectories = groups.flatMap((group) => group.trajectories);
  const turns = trajectories.flatMap((trajectory) => trajectory.turns);
  const rolled = rolloutMetrics(groups, weightVersion);
  if (Number(rolled.staleTurns) > 0)
    onEvent({
      type: "warning",
      message: `Step ${step}: ${rolled.staleTurns} turns were sampled with other weights than the trainer's.`,
    });
  const learningRate = scheduledLearningRate(step, steps, optimizer);
  const policy = enginePolicy(engine, rollout.temperature, { ...optimizer, learningRate }, critic);
  const measured = measureSamplerGap(policy, turns, limits.logprobGap);
  const updated = await runUpdate(measured.policy, trained, dealtTo(trained, algorithm), randomStream(seed, "update", step));
  const { computedTokens, denseTokens } = engine.takeStats().training;
  const updateSeconds = (performance.now() - started) / 1000;

  return {
    record: { step, metrics: { ...rolled, ...branchingMetrics(groups, rollout), ...metrics, ...measured.gap(), ...updated } },
    timing: {
      step,
      rolloutSeconds,
      ...(rewards.length === 0 ? {} : { rewardSeconds }),
      updateSeconds,
      sampledTokens,
      sampledTokensPerSecond: sampledTokens / rolloutSeconds,
      trainedTokens: computedTokens,
      trainedTokensPerSecond: computedTokens / updateSeconds,
      denseTokens,
      rssMb: process.memoryUsage.rss() / 2 ** 20,
    },
    tasks,
    trajectories,
  };
}

/** With fewer mini-batches where dynamic sampling, or a reward, has left so few groups that some would be empty. */
function dealtTo(groups: readonly Group[], algorithm: AlgorithmConfig): AlgorithmConfig {
  if (!("miniBatches" in algorithm) || algorithm.miniBatches <= groups.length) return algorithm;
  return { ...algorithm, miniBatches: Math.max(1, groups.length) };
}
