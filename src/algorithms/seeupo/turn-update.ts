import type { Logprobs, Policy, TurnReason, Weights } from "../../core/policy.ts";
import type { ActionInContext } from "../../core/trajectory.ts";
import type { MetricTally } from "../glossary.ts";
import { Spread } from "../metrics.ts";
import { klPenalty } from "../objectives/kl.ts";
import { type LossAndWeights, plus } from "../objectives/objective.ts";
import { ppu } from "../objectives/ppu.ts";
import { klOptions } from "../presets/parts.ts";
import { weighted } from "../step/correction.ts";
import { type FixedRows, type Loss, type Minimised, type MinimiseOptions, minimise } from "../step/minimise.ts";
import type { CarriedRatios } from "./carried-ratios.ts";
import type { TurnAdvantages } from "./seeupo-advantages.ts";
import type { SeeupoConfig } from "./settings.ts";
import type { TurnUpdate } from "./turn-updates.ts";

/** An update under way. */
export interface Update {
  readonly policy: Policy;
  readonly config: SeeupoConfig;
  readonly turnUpdates: readonly TurnUpdate[];
  /** Â. */
  readonly advantages: TurnAdvantages;
  /** M. */
  readonly carried: CarriedRatios;
  /** Weights of the tokens; all 1 if undefined. */
  readonly importance: FixedRows | undefined;
  /** log π_θk: of the policy at the iteration's start, where a ratio is taken to it. */
  readonly iterationLogprobs: FixedRows | undefined;
  readonly refLogprobs: FixedRows | undefined;
  readonly tally: MetricTally;
}

/** The values that are fixed during a turn update. */
export interface UpdateStart {
  readonly oldLogprobs: Logprobs;
  /** A* = M·Â, one per sample. */
  readonly advantages: readonly number[];
}

/** A* = M·Â, one per sample. */
export function carriedAdvantages(
  { config, advantages }: Update,
  carried: CarriedRatios,
  samples: readonly ActionInContext[],
): number[] {
  return samples.map((sample) => {
    const advantage = advantages.of(sample);
    return config.advantageFactor && advantage !== 0 ? carried.of(sample.trajectory) * advantage : advantage;
  });
}

/** log-probs of the turns under one of the two policies that a ratio can be taken to. */
function under(to: "iteration" | "turn", { iterationLogprobs }: Update, samples: readonly ActionInContext[], atTurn: Logprobs) {
  return to === "iteration" && iterationLogprobs !== undefined ? iterationLogprobs(samples) : atTurn;
}

/** The log-probs that r of M is taken to. @param atTurn those that the turn update began with */
export function carryBase(update: Update, samples: readonly ActionInContext[], atTurn: Logprobs): Logprobs {
  return under(update.config.carryRatioTo, update, samples, atTurn);
}

/** Mean over the turns of the token mean of the clipped surrogate, + β·KL. */
export function turnUpdateLoss(
  update: Update,
  turnUpdate: TurnUpdate,
  logprobs: Logprobs,
  { advantages, ...start }: UpdateStart,
): LossAndWeights {
  const { config, importance, refLogprobs } = update;
  const { samples } = turnUpdate;
  const oldLogprobs = under(config.ratioTo, update, samples, start.oldLogprobs);
  const tokenScales = scalesOf(turnUpdate);
  const advantagePerToken = samples.map(({ action }, i) => action.map(() => advantages[i]));
  const uncorrected = ppu(
    { logprobs, oldLogprobs, advantages: advantagePerToken, tokenScales },
    { level: config.level === "turn" ? "sequence" : "token", clip: config.clip, dualClip: config.dualClip },
  );
  const surrogate = importance === undefined ? uncorrected : weighted(uncorrected, importance(samples));
  if (refLogprobs === undefined) return surrogate;
  const penalty = { ...klOptions(config), coefficient: config.klCoef };
  return plus(surrogate, klPenalty({ logprobs, refLogprobs: refLogprobs(samples), tokenScales }, penalty));
}

/** The surrogate's weights at ratio 1: A* over rows and tokens, whatever the log-probs. */
export function weightsAtRatioOne({ importance }: Update, turnUpdate: TurnUpdate, advantages: readonly number[]): Weights {
  const importances = importance?.(turnUpdate.samples);
  const scales = scalesOf(turnUpdate);
  return turnUpdate.samples.map(({ action }, i) => action.map((_, t) => scales[i] * advantages[i] * (importances?.[i][t] ?? 1)));
}

/** Computes how much a token of each sample counts in the mean of means. */
function scalesOf({ samples, rows }: TurnUpdate): number[] {
  return samples.map(({ action }) => 1 / (rows * action.length));
}

/** One optimiser step of a turn update, and its metrics. @param samples those of the turn update, and others that are only looked at */
export async function step(
  { policy, tally }: Update,
  { rows }: TurnUpdate,
  samples: readonly ActionInContext[],
  loss: Loss,
  options: MinimiseOptions,
): Promise<Minimised> {
  tally.record({ rowsPerUpdateMin: rows, rowsPerUpdateMean: rows, rowsPerUpdateMax: rows });
  const minimised = await minimise(policy, samples, loss, options);
  tally.record(minimised.metrics);
  return minimised;
}

/** Steps of a turn update, on the log-probs that it began with. */
export async function steps(update: Update, turnUpdate: TurnUpdate, start: UpdateStart, count: number): Promise<void> {
  const reasons = () => reasonsOf(update, update.carried, turnUpdate.samples);
  for (let i = 0; i < count; i++)
    await step(update, turnUpdate, turnUpdate.samples, (logprobs) => turnUpdateLoss(update, turnUpdate, logprobs, start), {
      reasons,
    });
}

/** M ← M · r, or clip(M · clip(r)). */
export function carry(
  { carried, tally }: Update,
  samples: readonly ActionInContext[],
  oldLogprobs: Logprobs,
  newLogprobs: Logprobs,
): void {
  if (samples.length === 0) return;
  const ratios = new Spread();
  for (const ratio of carried.carry(samples, oldLogprobs, newLogprobs)) ratios.add(ratio);
  tally.record(ratios.named("turnRatio"));
}

/** Reports the M that multiply advantages. */
export function recordFactors({ config, advantages, carried, tally }: Update, samples: readonly ActionInContext[]): void {
  if (!config.advantageFactor) return;
  for (const sample of samples) {
    if (advantages.of(sample) === 0) continue;
    const factor = carried.of(sample.trajectory);
    tally.record({ carriedMin: factor, carriedMax: factor });
  }
}

/** Why the turns of a turn update have their weights. */
export function reasonsOf(
  { config, advantages }: Update,
  carried: CarriedRatios,
  samples: readonly ActionInContext[],
): TurnReason[] {
  return samples.map((sample) => ({
    trajectory: sample.trajectory,
    turn: sample.turn,
    advantage: advantages.of(sample),
    factor: config.advantageFactor ? carried.of(sample.trajectory) : undefined,
  }));
}
