import type { Chat } from "../agents/chat.ts";
import { rolloutGroups } from "../agents/rollout.ts";
import { runUpdate } from "../algorithms/update.ts";
import { RunError } from "../core/errors.ts";
import { randomStream, seedOf } from "../core/random.ts";
import type { Trajectory } from "../core/trajectory.ts";
import type { Engine } from "../engines/engine.ts";
import type { Environment, Split } from "../environments/environment.ts";
import { checkpointSteps, readEvaluation, readProgress, readSummary } from "../runs/read.ts";
import type { EvaluationRecord, Progress, ScoreSummary, Summary } from "../runs/records.ts";
import { engineStateFolder, finishRun, writeCheckpoint, writeEvaluation, writeStep } from "../runs/write.ts";
import type { TrainingConfig } from "./config.ts";
import { enginePolicy } from "./engine-policy.ts";
import { evaluate } from "./evaluate.ts";
import type { OnEvent, Phase } from "./events.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import { measureSamplerGap } from "./sampler-gap.ts";
import { scheduledLearningRate } from "./schedule.ts";
import { trainingTasks } from "./tasks.ts";

export interface TrainArguments {
  readonly config: TrainingConfig;
  /** With the weights that training starts from; a checkpoint's are loaded here. */
  readonly engine: Engine;
  readonly chat: Chat;
  readonly environment: Environment;
  /** From `createRun`, or from `reopenRun`, which takes it back to its newest checkpoint. */
  readonly folder: string;
  readonly onEvent?: OnEvent;
  /** Ends the run after the step that is being made; a checkpoint keeps what was done. */
  readonly signal?: AbortSignal;
}

/**
 * A run: evaluate, then (sample, update, record) for every step, evaluate again. All randomness derives from the seed and the step, and
 * everything else that a step needs is in the checkpoints, so a run that was killed and reopened writes what it would have written.
 * @throws RunError when interrupted or when the folder cannot be written
 * @throws EngineError where sampler and trainer disagree, or a number is not finite
 */
export async function train(args: TrainArguments): Promise<Summary> {
  const { config, engine, environment, chat, folder, onEvent = () => {}, signal } = args;
  const { seed, steps, rollout, optimizer, evaluation, checkpoint } = config;

  const finished = readSummary(folder);
  if (finished !== undefined) return finished;

  const started = performance.now();
  const resumed = await startOrResume(engine, folder);
  let progress = resumed;
  const soFar = (): Progress => ({
    ...progress,
    wallSeconds: resumed.wallSeconds + (performance.now() - started) / 1000,
    peakRssMb: Math.max(resumed.peakRssMb, process.resourceUsage().maxRSS / 1024),
  });
  onEvent({ type: "run-started", folder, steps, resumedAt: progress.step });

  const saveCheckpoint = async () => {
    onEvent({ type: "phase", phase: "checkpoint", step: progress.step, total: 1 });
    const path = await writeCheckpoint(folder, soFar(), (into) => engine.saveState(into), checkpoint.keep);
    onEvent({ type: "checkpointed", step: progress.step, folder: path });
  };
  const stopIfInterrupted = async () => {
    if (!signal?.aborted) return;
    if (progress.step > 0 && checkpointSteps(folder).at(-1) !== progress.step) await saveCheckpoint();
    onEvent({ type: "interrupted", folder, step: progress.step });
    throw new RunError(folder, "interrupted", { hint: `Its ${progress.step} finished steps are kept: continue with --resume.` });
  };
  const evaluateOnce = async (when: EvaluationRecord["when"], step: number, split: Split, tasks: number, k: number) => {
    const known = readEvaluation(folder, { when, step, split });
    if (known !== undefined) return known;
    const { temperature } = evaluation;
    const onTrajectory = announce(onEvent, "evaluate", step, Math.min(tasks, environment.size(split)) * k);
    const options = { when, step, split, tasks, k, temperature, rollout, seed, signal, onTrajectory };
    const { record, trajectories } = await evaluate(engine, chat, environment, options);
    await stopIfInterrupted();
    writeEvaluation(folder, record, trajectories);
    onEvent({ type: "evaluated", record });
    return record;
  };
  const evaluateEnd = async (when: "before" | "after", step: number) => {
    const { split, tasks, k, challenge } = evaluation;
    return {
      main: tasks === 0 ? null : score(await evaluateOnce(when, step, split, tasks, k)),
      challenge: tasks === 0 || !challenge ? null : score(await evaluateOnce(when, step, "challenge", tasks, k)),
    };
  };

  const before = await evaluateEnd("before", 0);

  while (progress.step < steps) {
    const { every, split, tasks: evaluationTasks } = evaluation.during;
    const due = every > 0 && progress.step > 0 && progress.step % every === 0;
    if (due) await evaluateOnce("during", progress.step, split, evaluationTasks, 1);
    const step = progress.step + 1;

    // Rollouts: `groupSize` episodes of each of the next tasks.
    const { weightVersion } = engine;
    const tasks = await trainingTasks(environment, progress.position, rollout.tasksPerStep, seed);
    const onTrajectory = announce(onEvent, "rollout", step, rollout.tasksPerStep * rollout.groupSize);
    engine.takeStats();
    const rolloutStarted = performance.now();
    const groups = await rolloutGroups(engine, chat, environment, tasks, {
      ...rollout,
      seed: seedOf(seed, "rollout", step),
      name: `step-${step}`,
      signal,
      onTrajectory,
    });
    await stopIfInterrupted();
    const updateStarted = performance.now();
    const sampled = engine.takeStats().sampler;

    // Update: as many visits and optimiser steps as the algorithm makes.
    onEvent({ type: "phase", phase: "update", step, total: 1 });
    const trajectories = groups.flatMap((group) => group.trajectories);
    const turns = trajectories.flatMap((trajectory) => trajectory.turns);
    const rolled = rolloutMetrics(groups, weightVersion);
    if (Number(rolled.staleTurns) > 0)
      onEvent({
        type: "warning",
        message: `Step ${step}: ${rolled.staleTurns} turns were sampled with weights older than the trainer's.`,
      });
    const stepOptions = { ...optimizer, learningRate: scheduledLearningRate(step, steps, optimizer) };
    const policy = enginePolicy(engine, rollout.temperature, stepOptions);
    const measured = measureSamplerGap(policy, turns, config.limits.logprobGap);
    const updated = await runUpdate(measured.policy, groups, config.algorithm, randomStream(seed, "update", step));
    const trained = engine.takeStats().training;
    const updateEnded = performance.now();

    // Record.
    const record = { step, metrics: { ...rolled, ...measured.gap(), ...updated } };
    const rolloutSeconds = (updateStarted - rolloutStarted) / 1000;
    const updateSeconds = (updateEnded - updateStarted) / 1000;
    const timing = {
      step,
      rolloutSeconds,
      updateSeconds,
      sampledTokens: sampled.sampledTokens,
      sampledTokensPerSecond: sampled.sampledTokens / rolloutSeconds,
      trainedTokens: trained.computedTokens,
      trainedTokensPerSecond: trained.computedTokens / updateSeconds,
      denseTokens: trained.denseTokens,
      rssMb: process.memoryUsage.rss() / 2 ** 20,
    };
    writeStep(folder, record, timing, trajectories);
    progress = {
      ...progress,
      step,
      position: progress.position + tasks.length,
      episodes: progress.episodes + trajectories.length,
      toolCalls: progress.toolCalls + turns.reduce((sum, turn) => sum + turn.toolCalls, 0),
      sampledTokens: progress.sampledTokens + sampled.sampledTokens,
    };
    onEvent({ type: "stepped", record, timing });
    if (step % checkpoint.every === 0 || step === steps) await saveCheckpoint();
    await stopIfInterrupted();
  }

  const after = await evaluateEnd("after", steps);
  const { episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb } = soFar();
  const challenge = before.challenge !== null && after.challenge !== null && { before: before.challenge, after: after.challenge };
  const summary: Summary = {
    before: before.main,
    after: after.main,
    ...(challenge && { challenge }),
    ...{ steps, episodes, toolCalls, sampledTokens, wallSeconds, peakRssMb },
  };
  await finishRun(folder, summary, (into) => engine.saveModel(into));
  onEvent({ type: "finished", folder, summary });
  return summary;
}

const start: Progress = { step: 0, position: 0, episodes: 0, toolCalls: 0, sampledTokens: 0, wallSeconds: 0, peakRssMb: 0 };

/** The weights at the start are the reference of the whole run; a checkpoint brings it along. */
async function startOrResume(engine: Engine, folder: string): Promise<Progress> {
  const step = checkpointSteps(folder).at(-1);
  if (step === undefined) {
    await engine.snapshotReference();
    return start;
  }
  await engine.loadState(engineStateFolder(folder, step));
  return readProgress(folder, step);
}

/** Announces a phase of episodes, and then each one that has ended. */
function announce(onEvent: OnEvent, phase: Phase, step: number, total: number): (trajectory: Trajectory) => void {
  onEvent({ type: "phase", phase, step, total });
  let [done, tokens] = [0, 0];
  return (trajectory) => {
    done++;
    tokens += trajectory.turns.reduce((sum, turn) => sum + turn.action.length, 0);
    onEvent({ type: "progress", phase, done, total, tokens });
  };
}

function score({ split, tasks, k, mean, low, high }: EvaluationRecord): ScoreSummary {
  return { split, tasks, k, mean, low, high };
}
