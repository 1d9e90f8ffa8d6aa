import type { Chat } from "../agents/chat.ts";
import { rolloutGroups } from "../agents/rollout.ts";
import { runUpdate } from "../algorithms/update.ts";
import { randomStream, seedOf } from "../core/random.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Engine } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import type { StepRecord, TimingRecord } from "../runs/records.ts";
import type { TrainingConfig } from "./config.ts";
import { enginePolicy } from "./engine-policy.ts";
import { announceEpisodes, type OnEvent } from "./events.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { measureSamplerGap } from "./sampler-gap.ts";
import { scheduledLearningRate } from "./schedule.ts";
import { trainingTasks } from "./tasks.ts";

export interface StepArguments {
  readonly config: TrainingConfig;
  readonly engine: Engine;
  readonly chat: Chat;
  readonly environment: Environment;
  readonly onEvent: OnEvent;
  readonly signal?: AbortSignal;
}

export interface StepResult {
  readonly record: StepRecord;
  readonly timing: TimingRecord;
  readonly trajectories: readonly Trajectory[];
}

/**
 * One training step: rollouts of the next tasks, then one update by the algorithm, which may take several optimiser steps.
 * @param step from 1
 * @param position training tasks that the steps before have taken
 * @throws the signal's reason if it was aborted while sampling; nothing was moved then
 */
export async function trainingStep(
  { config, engine, chat, environment, onEvent, signal }: StepArguments,
  step: number,
  position: number,
): Promise<StepResult> {
  const { seed, steps, rollout, optimizer, algorithm, limits } = config;

  const started = performance.now();
  engine.takeStats();
  const { weightVersion } = engine;
  const tasks = await trainingTasks(environment, position, rollout.tasksPerStep, seed);
  const groups = await rolloutGroups(engine, chat, environment, tasks, {
    ...rollout,
    seed: seedOf(seed, "rollout", step),
    name: `step-${step}`,
    signal,
    onTrajectory: announceEpisodes(onEvent, "rollout", step, rollout.tasksPerStep * rollout.groupSize),
  });
  signal?.throwIfAborted();
  const { sampledTokens } = engine.takeStats().sampler;
  const rolloutSeconds = (performance.now() - started) / 1000;

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
  const policy = enginePolicy(engine, rollout.temperature, { ...optimizer, learningRate });
  const measured = measureSamplerGap(policy, turns, limits.logprobGap);
  const updated = await runUpdate(measured.policy, groups, algorithm, randomStream(seed, "update", step));
  const { computedTokens, denseTokens } = engine.takeStats().training;
  const updateSeconds = (performance.now() - started) / 1000 - rolloutSeconds;

  return {
    record: { step, metrics: { ...rolled, ...measured.gap(), ...updated } },
    timing: {
      step,
      rolloutSeconds,
      updateSeconds,
      sampledTokens,
      sampledTokensPerSecond: sampledTokens / rolloutSeconds,
      trainedTokens: computedTokens,
      trainedTokensPerSecond: computedTokens / updateSeconds,
      denseTokens,
      rssMb: process.memoryUsage.rss() / 2 ** 20,
    },
    trajectories,
  };
}
