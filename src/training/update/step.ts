import { dealtTo, factsOf, runUpdate } from "../../algorithms/algorithms.ts";
import { rolesApart } from "../../algorithms/step/roles.ts";
import { EngineError } from "../../core/errors.ts";
import { host } from "../../core/host.ts";
import { randomStream } from "../../core/random.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";
import type { Engine, EngineCritic } from "../../engines/engine.ts";
import type { TurnCredit } from "../../runs/credits.ts";
import type { StepRecord, TimingRecord } from "../../runs/records.ts";
import { branchingMetrics } from "../sampling/branching.ts";
import { withoutMaskedTokens } from "../sampling/masked-tokens.ts";
import { rolloutMetrics } from "../sampling/rollout-metrics.ts";
import { gapLimit, measureSamplerGap } from "../sampling/sampler-gap.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";
import type { StepRollouts } from "../sampling/step-rollouts.ts";
import { observeCredits } from "./credit-observer.ts";
import { enginePolicy, stepOptions } from "./engine-policy.ts";
import { interruptible } from "./interruptible.ts";
import { remoteTiming } from "./remote-timing.ts";
import { scheduledLearningRate } from "./schedule.ts";
import { stepParts } from "./step-parts.ts";

export interface StepResult {
  /** Training tasks that were taken: more than `tasksPerStep` where sampling went on. */
  readonly tasks: number;
  readonly record: StepRecord;
  readonly timing: TimingRecord;
  readonly trajectories: readonly Trajectory[];
  /** The record of what the update did with every turn. Undefined where that is not recorded. */
  readonly credits?: readonly TurnCredit[];
  /** Groups that the update learned from. */
  readonly trained: readonly Group[];
}

/**
 * The update of one training step by the algorithm, which may take several optimiser steps.
 * @param step from 1
 * @param rollouts of the step's tasks
 * @param critic where the algorithm needs one
 */
export async function trainingStep(
  args: StepArguments,
  step: number,
  rollouts: StepRollouts,
  critic?: EngineCritic,
): Promise<StepResult> {
  const { config, engine, onEvent, onLeft } = args;
  const { seed, rollout, algorithm, record } = config;
  const { groups, trained, tasks, metrics, ahead } = rollouts;
  const { weightVersion } = engine;

  const started = performance.now();
  onEvent({ type: "phase", phase: "update", step, total: 1 });
  const trajectories = groups.flatMap((group) => group.trajectories);
  const rolled = rolloutMetrics(groups, weightVersion);
  if (ahead === undefined) requireFresh(groups, step, weightVersion, Number(rolled.staleTurns));
  const { policy, settled, gap, observed } = await dressed(args, step, rollouts, critic);
  const update = async () => {
    const credited = rolesApart(trained);
    const updated = await runUpdate(
      policy,
      credited,
      dealtTo(credited.length, algorithm),
      randomStream(seed, "update", step),
      config.correction === "off" ? undefined : config.correction,
    );
    const stats = engine.takeStats();
    const updateSeconds = (performance.now() - started) / 1000;
    await observed?.rescore(trained.slice(0, record.after));
    engine.takeStats(); // what was looked at again is no training
    return { updated, timing: { step, ...timingOf(rollouts, args.rewards ?? [], updateSeconds, stats) } };
  };
  const { updated, timing } = await update().catch((error: unknown) => {
    onLeft?.(settled());
    throw error;
  });

  return {
    record: {
      step,
      metrics: {
        ...rolled,
        ...(ahead === undefined ? {} : { staleness: ahead.staleness }),
        ...branchingMetrics(groups, rollout),
        ...metrics,
        ...gap(),
        ...updated,
      },
    },
    timing,
    tasks,
    trajectories,
    credits: observed?.credits(),
    trained,
  };
}

/**
 * The coats of the policy, inside out: the engine, interruption (of its calls alone), masked tokens (before anything reads log-probs), the
 * sampler's gap (of what is trained), credits (of what was applied), a teacher (read by the algorithm alone).
 */
async function dressed(args: StepArguments, step: number, rollouts: StepRollouts, critic: EngineCritic | undefined) {
  const { engine, signal, config } = args;
  const { steps, rollout, optimizer, algorithm, limits, record } = config;
  const { groups, ahead } = rollouts;
  const learningRate = scheduledLearningRate(step, steps, optimizer);
  const all = enginePolicy(engine, rollout.temperature, stepOptions(optimizer, learningRate), critic);
  const { policy: unmasked, settled } = interruptible(all, signal, await engine.restorePoint?.());
  const policy = withoutMaskedTokens(unmasked, groups);
  const measured =
    ahead === undefined
      ? measureSamplerGap(policy, groups, gapLimit(limits.logprobGap, engine.info))
      : { policy, gap: () => ahead.gap };
  const observed = record.credits ? observeCredits(measured.policy) : undefined;
  const teacherLogprobs = await factsOf(algorithm).teacher?.(stepParts(args, rollouts, step));
  const own = observed?.policy ?? measured.policy;
  return { policy: teacherLogprobs === undefined ? own : { ...own, teacherLogprobs }, settled, gap: measured.gap, observed };
}

/** The times of a step, as its record has them. */
function timingOf(
  { rolloutSeconds, rewardSeconds, sampledTokens, ahead, remote }: StepRollouts,
  rewards: readonly unknown[],
  updateSeconds: number,
  { training: { computedTokens, denseTokens }, remote: trainedRemotely }: ReturnType<Engine["takeStats"]>,
): Omit<TimingRecord, "step"> {
  return {
    rolloutSeconds,
    ...(rewards.length === 0 ? {} : { rewardSeconds }),
    ...(ahead === undefined ? {} : { waitedSeconds: ahead.waitedSeconds }),
    updateSeconds,
    sampledTokens,
    sampledTokensPerSecond: sampledTokens / rolloutSeconds,
    trainedTokens: computedTokens,
    trainedTokensPerSecond: computedTokens / updateSeconds,
    denseTokens,
    ...remoteTiming([remote, trainedRemotely]),
    rssMb: host.residentBytes() / 2 ** 20,
  };
}

/** @throws EngineError if other weights than the trainer's sampled a turn */
function requireFresh(groups: readonly Group[], step: number, weightVersion: number, staleTurns: number): void {
  if (staleTurns === 0) return;
  const versions = [...new Set(groups.flatMap(turnVersions))];
  throw new EngineError(`weights that sampled ${staleTurns} turns of step ${step}`, versions, {
    expected: `${weightVersion}, the trainer's optimiser steps, for every turn`,
    hint: "Stale rollouts are trained on only where rollout.ahead and correction say so.",
  });
}

function turnVersions({ trajectories }: Group): number[] {
  return trajectories.flatMap(({ turns }) => turns.map(({ weightVersion }) => weightVersion));
}
