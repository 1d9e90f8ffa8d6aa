import { seedOf } from "../../core/random.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import type { Environment, Split } from "../../environments/environment.ts";
import { requireMeasured } from "../../findings/environment-faults.ts";
import type { Actor } from "../../rollouts/actors/actor.ts";
import { rolloutGroupsBy } from "../../rollouts/rollout.ts";
import type { Decoding, EvaluationRecord } from "../../runs/records.ts";
import type { TrainingConfig } from "../config/settings.ts";
import { evaluationTasks } from "../config/tasks.ts";
import { summarise } from "./summarise.ts";

export interface EvaluationOptions {
  readonly when: EvaluationRecord["when"];
  /** Optimisation steps that the weights have seen. */
  readonly step: number;
  readonly split: Split;
  readonly tasks: number;
  /** Attempts at each task. */
  readonly k: number;
  /** 0 is greedy decoding. */
  readonly temperature: number;
  readonly rollout: TrainingConfig["rollout"];
  readonly seed: number;
  readonly signal?: AbortSignal;
  /** Names the evaluation in errors. Default "the evaluation". */
  readonly where?: string;
  /** Episodes that were played earlier, by their ids: they are not played again. */
  readonly played?: ReadonlyMap<string, Trajectory>;
  /** Called as each episode ends; not for those that were played earlier. */
  readonly onTrajectory?: (trajectory: Trajectory) => void;
}

export interface Evaluation {
  readonly record: EvaluationRecord;
  readonly trajectories: readonly Trajectory[];
}

/**
 * Attempts each of the first tasks of a split k times. Every evaluation of a split with one seed, of whatever model and at whatever step, draws the
 * same random numbers for the same attempt, so that two of them can be compared task by task.
 * @throws EnvError or MeasurementError where every attempt ended by an error; the signal's reason if it was aborted
 */
export async function evaluate(actor: Actor, environment: Environment, options: EvaluationOptions): Promise<Evaluation> {
  const { when, step, split, k, temperature, rollout, seed, signal, where = "the evaluation", played, onTrajectory } = options;
  const tasks = await evaluationTasks(environment, split, options.tasks, rollout.episodeTimeoutMs);
  const decoding: Decoding = temperature === 0 ? "greedy" : "sampled";
  const groups = await rolloutGroupsBy(actor, environment, tasks, {
    ...rollout,
    groupSize: k,
    temperature,
    seed: seedOf(seed, "evaluation", split),
    name: `${when}-${split}-${step}${decoding === "greedy" ? "-greedy" : ""}`,
    drawName: split,
    signal,
    played,
    onTrajectory,
  });
  signal?.throwIfAborted();
  requireMeasured(groups, environment.name, where);
  const trajectories = groups.flatMap((group) => group.trajectories);
  return {
    record: { when, step, split, decoding, temperature, ...summarise(tasks, groups, seed, environment.metrics) },
    trajectories,
  };
}

/** A way of decoding, and the number of attempts that it takes. */
export interface DecodingPlan {
  readonly decoding: Decoding;
  readonly temperature: number;
  readonly k: number;
}

/**
 * Returns how a model is measured: greedily with one attempt a task, since all others would be the same, and with k sampled attempts at the
 * temperature of the settings. With the temperature 0 only the first.
 */
export function decodingPlans({ temperature, greedy }: TrainingConfig["evaluation"], k: number): DecodingPlan[] {
  const sampled: DecodingPlan[] = temperature === 0 ? [] : [{ decoding: "sampled", temperature, k }];
  return greedy || temperature === 0 ? [...sampled, { decoding: "greedy", temperature: 0, k: 1 }] : sampled;
}
