import type { UpdateMetrics } from "../algorithms/metrics.ts";
import { sftUpdate } from "../algorithms/sft.ts";
import type { ActionInContext } from "../core/trajectory.ts";
import type { Engine } from "../engines/engine.ts";
import type { TrainingConfig } from "./config.ts";
import { enginePolicy, stepOptions } from "./engine-policy.ts";
import { scheduledLearningRate } from "./schedule.ts";

export interface SuperviseOptions {
  readonly engine: Engine;
  /** Each one the actions of one demonstration; see `encodeDemonstration`. It may end before the steps do. */
  readonly demonstrations: Iterator<readonly ActionInContext[]>;
  /** Whole demonstrations are put into a step until their tokens reach this (a demonstration counts as its longest sequence). */
  readonly tokensPerStep: number;
  readonly steps: number;
  readonly optimizer: TrainingConfig["optimizer"];
  readonly onStep?: (report: SupervisedStep) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/** What a step was made of, and what its update reports: `loss` is the mean cross-entropy in nats per action token, before the step. */
export interface SupervisedStep extends UpdateMetrics {
  /** From 1. */
  readonly step: number;
  readonly demonstrations: number;
  readonly tokens: number;
  readonly actionTokens: number;
}

/** Supervised fine-tuning on demonstrations: one optimiser step for every token budget. */
export async function supervise({
  engine,
  demonstrations,
  tokensPerStep,
  steps,
  optimizer,
  onStep = () => {},
  signal,
}: SuperviseOptions): Promise<void> {
  for (let step = 1; step <= steps && !signal?.aborted; step++) {
    const { samples, ...size } = nextBatch(demonstrations, tokensPerStep);
    if (samples.length === 0) return;
    const learningRate = scheduledLearningRate(step, steps, optimizer);
    const metrics = await sftUpdate(enginePolicy(engine, 1, stepOptions(optimizer, learningRate)), samples);
    await onStep({ step, ...size, ...metrics });
  }
}

interface Batch {
  readonly samples: readonly ActionInContext[];
  readonly demonstrations: number;
  readonly tokens: number;
  readonly actionTokens: number;
}

function nextBatch(source: Iterator<readonly ActionInContext[]>, tokensPerStep: number): Batch {
  const samples: ActionInContext[] = [];
  let [demonstrations, tokens, actionTokens] = [0, 0, 0];
  while (tokens < tokensPerStep) {
    const next = source.next();
    if (next.done) break;
    samples.push(...next.value);
    demonstrations++;
    tokens += Math.max(0, ...next.value.map(({ context, action }) => context.length + action.length));
    actionTokens += next.value.reduce((sum, { action }) => sum + action.length, 0);
  }
  return { samples, demonstrations, tokens, actionTokens };
}
