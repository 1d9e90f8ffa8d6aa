import type { UpdateMetrics } from "../../algorithms/metrics.ts";
import { sftUpdate } from "../../algorithms/sft.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { Engine } from "../../engines/engine.ts";
import { enginePolicy, stepOptions } from "../engine-policy.ts";
import { scheduledLearningRate } from "../schedule.ts";
import type { TrainingConfig } from "../settings.ts";
import type { Lessons } from "./lessons.ts";

export interface SuperviseOptions {
  readonly engine: Engine;
  /** Each one the actions of one demonstration; see `encodeDemonstration`. It may end before the steps do. */
  readonly demonstrations: Lessons;
  /** Whole demonstrations are put into a step until their tokens reach this (a demonstration counts as its longest sequence). */
  readonly tokensPerStep: number;
  readonly steps: number;
  readonly optimizer: TrainingConfig["optimizer"];
  readonly onStep?: (report: SupervisedStep) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * The make-up of a step, and the metrics that its update reports: `loss` is the mean cross-entropy in nats per action token, before
 * the step.
 */
export interface SupervisedStep extends UpdateMetrics {
  /** From 1. */
  readonly step: number;
  readonly demonstrations: number;
  readonly tokens: number;
  readonly actionTokens: number;
}

/** Supervised fine-tuning on demonstrations: one optimiser step for every token budget. */
export async function supervise({ steps, onStep = () => {}, signal, ...options }: SuperviseOptions): Promise<void> {
  for (let step = 1; step <= steps && !signal?.aborted; step++) {
    const report = await superviseOnce(options, step, steps);
    if (report === undefined) return;
    await onStep(report);
  }
}

/** One step of supervised fine-tuning. @returns undefined if there is no demonstration left */
export async function superviseOnce(
  { engine, demonstrations, tokensPerStep, optimizer }: Omit<SuperviseOptions, "steps" | "onStep" | "signal">,
  step: number,
  steps: number,
): Promise<SupervisedStep | undefined> {
  const { samples, ...size } = await nextBatch(demonstrations, tokensPerStep);
  if (samples.length === 0) return undefined;
  const learningRate = scheduledLearningRate(step, steps, optimizer);
  return { step, ...size, ...(await sftUpdate(enginePolicy(engine, 1, stepOptions(optimizer, learningRate)), samples)) };
}

interface Batch {
  readonly samples: readonly ActionInContext[];
  readonly demonstrations: number;
  readonly tokens: number;
  readonly actionTokens: number;
}

async function nextBatch(source: Lessons, tokensPerStep: number): Promise<Batch> {
  const samples: ActionInContext[] = [];
  let [demonstrations, tokens, actionTokens] = [0, 0, 0];
  while (tokens < tokensPerStep) {
    const next = await source.next();
    if (next.done) break;
    samples.push(...next.value);
    demonstrations++;
    tokens += Math.max(0, ...next.value.map(({ context, action }) => context.length + action.length));
    actionTokens += next.value.reduce((sum, { action }) => sum + action.length, 0);
  }
  return { samples, demonstrations, tokens, actionTokens };
}
