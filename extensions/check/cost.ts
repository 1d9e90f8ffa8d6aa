import type { Group } from "../../src/core/trajectory.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { rolloutGroups } from "../../src/rollouts/rollout.ts";
import type { Model } from "../../src/sdk/model.ts";
import type { TrainingConfig } from "../../src/training/config/settings.ts";
import { trainingTasks } from "../../src/training/config/tasks.ts";

/** The probable cost of a run, from a few episodes. Seconds. */
export interface Cost {
  /** Episodes that were played to the end. */
  readonly episodes: number;
  readonly tokensPerEpisode: number;
  readonly samplingPerStep: number;
  readonly trainingPerStep: number;
  /** One evaluation, the challenge split included. */
  readonly evaluation: number;
  /** All steps, and the evaluations before and after them. */
  readonly whole: number;
}

/** Episodes of a model before training, and what they say of its cost. */
export interface Trial {
  readonly cost: Cost;
  readonly groups: readonly Group[];
}

/** A backward pass costs about two forward passes. */
const passes = 3;

/**
 * Plays a few episodes of the first training tasks and scores them once, and scales that to a run. Nothing of the model is changed.
 * @param limitMs episodes that are still open then count by the tokens that they have; the estimate is then too low
 * @returns undefined if no episode ended in time
 */
export async function tryOut(
  { engine, chat }: Model,
  environment: Environment,
  config: TrainingConfig,
  limitMs: number,
): Promise<Trial | undefined> {
  const { rollout, evaluation, steps, seed } = config;
  const groupSize = Math.min(rollout.groupSize, 8);
  const tasks = await trainingTasks(environment, 0, Math.min(rollout.tasksPerStep, 4), seed);
  engine.takeStats();
  const started = performance.now();
  const groups = await rolloutGroups(engine, chat, environment, tasks, {
    ...rollout,
    ...{ groupSize, seed, name: "cost", signal: AbortSignal.timeout(limitMs) },
  });
  const sampling = (performance.now() - started) / 1000;
  const ended = groups.flatMap(({ trajectories }) => trajectories).filter(({ stopReason }) => stopReason !== "cancelled");
  if (ended.length === 0) return undefined;

  const samples = ended.slice(0, groupSize).flatMap(({ turns }) => turns);
  const scored = Math.min(groupSize, ended.length);
  await engine.logprobs(samples, { temperature: rollout.temperature }); // the first call builds its graph
  const scoring = performance.now();
  await engine.logprobs(samples, { temperature: rollout.temperature });
  const training = (passes * (performance.now() - scoring)) / 1000 / scored;

  const episodesPerStep = rollout.tasksPerStep * rollout.groupSize;
  const perEpisode = sampling / ended.length;
  const splits = evaluation.tasks === 0 ? [] : [evaluation.split, ...(evaluation.challenge ? ["challenge" as const] : [])];
  const sizes = await Promise.all(splits.map((split) => environment.size(split)));
  const oneEvaluation = sizes.reduce((sum, size) => sum + Math.min(evaluation.tasks, size) * evaluation.k * perEpisode, 0);
  const samplingPerStep = perEpisode * episodesPerStep;
  const trainingPerStep = training * episodesPerStep;
  const tokens = ended.reduce((sum, { turns }) => sum + turns.reduce((all, { action }) => all + action.length, 0), 0);
  const cost = {
    episodes: ended.length,
    tokensPerEpisode: tokens / ended.length,
    samplingPerStep,
    trainingPerStep,
    evaluation: oneEvaluation,
    whole: steps * (samplingPerStep + trainingPerStep) + 2 * oneEvaluation,
  };
  return { cost, groups };
}
