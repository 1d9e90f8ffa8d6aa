import { sftUpdate } from "../../algorithms/sft.ts";
import type { StepMetrics } from "../../algorithms/step/minimise.ts";
import { withinTime } from "../../core/deadline.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Engine } from "../../engines/engine.ts";
import type { TrainingConfig } from "../config/settings.ts";
import type { StepArguments } from "../sampling/step-arguments.ts";
import { enginePolicy, stepOptions } from "../update/engine-policy.ts";
import { interruptible } from "../update/interruptible.ts";
import { scheduledLearningRate } from "../update/schedule.ts";
import type { Lessons } from "./lessons.ts";

export interface SuperviseOptions {
  readonly engine: Engine;
  /** Each one the actions of one demonstration; see `encodeDemonstration`. It may end before the steps do. */
  readonly demonstrations: Lessons;
  /** Whole demonstrations are put into a step until their tokens reach this (a demonstration counts as its longest sequence). */
  readonly tokensPerStep: number;
  readonly optimizer: TrainingConfig["optimizer"];
  readonly signal?: AbortSignal;
  readonly onLeft?: StepArguments["onLeft"];
}

/**
 * The make-up of a step, and the metrics that its update reports: `loss` is the mean cross-entropy in nats per action token, before
 * the step.
 */
export type SupervisedStep = StepMetrics & {
  /** From 1. */
  readonly step: number;
  readonly demonstrations: number;
  readonly tokens: number;
  readonly actionTokens: number;
};

/**
 * One step of supervised fine-tuning. A signal ends it at once: its update is left, and taken back.
 * @returns undefined if there is no demonstration left
 */
export async function superviseOnce(
  { engine, demonstrations, tokensPerStep, optimizer, signal, onLeft }: SuperviseOptions,
  step: number,
  steps: number,
): Promise<SupervisedStep | undefined> {
  const { samples, ...size } = await nextBatch(demonstrations, tokensPerStep, signal);
  if (samples.length === 0) return undefined;
  const learningRate = scheduledLearningRate(step, steps, optimizer);
  const all = enginePolicy(engine, 1, stepOptions(optimizer, learningRate));
  const { policy, settled } = interruptible(all, signal, await engine.restorePoint?.());
  const metrics = await sftUpdate(policy, samples).catch((error: unknown) => {
    onLeft?.(settled());
    throw error;
  });
  return { step, ...size, ...metrics };
}

interface Batch {
  readonly samples: readonly ActionInContext[];
  readonly demonstrations: number;
  readonly tokens: number;
  readonly actionTokens: number;
}

async function nextBatch(source: Lessons, tokensPerStep: number, signal: AbortSignal | undefined): Promise<Batch> {
  const samples: ActionInContext[] = [];
  let [demonstrations, tokens, actionTokens] = [0, 0, 0];
  while (tokens < tokensPerStep) {
    const next = await withinTime(() => source.next(), Number.POSITIVE_INFINITY, signal);
    if (next.done) break;
    samples.push(...next.value);
    demonstrations++;
    tokens += Math.max(0, ...next.value.map(({ context, action }) => context.length + action.length));
    actionTokens += next.value.reduce((sum, { action }) => sum + action.length, 0);
  }
  return { samples, demonstrations, tokens, actionTokens };
}
