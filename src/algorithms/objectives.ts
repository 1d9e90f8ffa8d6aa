import { ShapeError } from "../core/errors.ts";
import type { Logprobs, Weights } from "../core/policy.ts";
import { Spread, type UpdateMetrics } from "./metrics.ts";

/**
 * An objective is a pure function of token log-probs: a scalar to minimise and its exact derivative.
 * Rows are sequences of unequal length and hold action tokens only, so there is nothing to mask.
 * What a sequence is, a turn or a whole trajectory, is the caller's choice; a row may also be a part of one where the
 * objective's ratio is per token, as long as `tokenScales` are those of the whole.
 */
export interface LossAndWeights {
  readonly loss: number;
  /** w = −∂loss/∂logprob, one per token: what an engine back-propagates. */
  readonly weights: Weights;
  readonly metrics: UpdateMetrics;
}

/** Widths of the clip range: ratios are clipped to [1 − low, 1 + high]. */
export interface ClipRange {
  readonly low: number;
  readonly high: number;
}

export function clipRatio(ratio: number, { low, high }: ClipRange): number {
  return clamp(ratio, 1 - low, 1 + high);
}

export interface SurrogateBatch {
  /** In nats, like `oldLogprobs`: B rows, one number per token. */
  readonly logprobs: Logprobs;
  readonly oldLogprobs: Logprobs;
  /** B rows, one number per token. */
  readonly advantages: readonly (readonly number[])[];
  /** B numbers: what a token's loss counts in the scalar, see aggregation.ts. */
  readonly tokenScales: readonly number[];
}

export interface PpuOptions {
  /** Where the ratio is taken: ρ_t of each token, or one s for a whole row. */
  readonly level: "token" | "sequence";
  readonly clip: ClipRange;
  /** Bounds the loss of a token with negative advantage by −A·dualClip (arXiv:1912.09729). Off if left out. */
  readonly dualClip?: number;
}

/**
 * Proximal policy update: PPO's clipped surrogate (arXiv:1707.06347, eq. 7).
 *
 *   ρ_t = exp(logπ_t − logπ_old,t)                          level "token"
 *   ρ_t = s = exp( mean_t (logπ_t − logπ_old,t) )           level "sequence": GSPO (arXiv:2507.18071, §4.1)
 *   ℓ_t = max(−A_t ρ_t, −A_t clip(ρ_t, 1−low, 1+high)),  and where A_t < 0 at most −A_t·dualClip
 *
 * Where advantages differ within a row, the weights at level "sequence" are GSPO-token's (§4.3): −A_t s for token t.
 * Log-ratios are limited to ±20 at token level and to at most 10 at sequence level, beyond which the gradient is 0
 * (verl's bounds, wide of any useful clip range).
 * @throws ShapeError if rows do not fit each other
 */
export function ppu(batch: SurrogateBatch, { level, clip, dualClip = Infinity }: PpuOptions): LossAndWeights {
  const { logprobs, oldLogprobs, advantages, tokenScales } = batch;
  checkRows({ logprobs, oldLogprobs, advantages }, tokenScales);
  const ratios = new Spread();
  let loss = 0;
  let tokens = 0;
  let clipped = 0;
  let dualClipped = 0;

  const weights = logprobs.map((row, b) => {
    const [lowest, highest] = level === "token" ? [-20, 20] : [-Infinity, 10];
    const rowLogRatio = level === "sequence" ? meanDifference(row, oldLogprobs[b]) : 0;
    if (level === "sequence" && row.length > 0) ratios.add(Math.exp(Math.min(rowLogRatio, highest)));
    tokens += row.length;

    return row.map((logprob, t) => {
      const logRatio = level === "sequence" ? rowLogRatio : logprob - oldLogprobs[b][t];
      const ratio = Math.exp(clamp(logRatio, lowest, highest));
      if (level === "token") ratios.add(ratio);
      const advantage = advantages[b][t];
      const plain = -advantage * ratio;
      const bounded = -advantage * clipRatio(ratio, clip);
      const ceiling = advantage < 0 ? -advantage * dualClip : Infinity;
      const surrogate = Math.max(plain, bounded);
      if (bounded > plain) clipped++;
      if (surrogate > ceiling) dualClipped++;
      loss += tokenScales[b] * Math.min(surrogate, ceiling);
      const moves = plain >= bounded && surrogate <= ceiling && logRatio >= lowest && logRatio <= highest;
      return moves ? tokenScales[b] * advantage * ratio : 0;
    });
  });

  if (tokens === 0) return { loss: 0, weights, metrics: {} };
  const { min, mean, max } = ratios;
  const metrics = { clipFraction: clipped / tokens, ratioMin: min, ratioMean: mean, ratioMax: max };
  return { loss, weights, metrics: dualClip === Infinity ? metrics : { ...metrics, dualClipFraction: dualClipped / tokens } };
}

export const klEstimators = ["k1", "k2", "k3"] as const;
export type KlEstimator = (typeof klEstimators)[number];

export interface KlBatch {
  readonly logprobs: Logprobs;
  readonly refLogprobs: Logprobs;
  readonly tokenScales: readonly number[];
}

/**
 * β times a KL estimate to the frozen reference, differentiated as it stands. With x = logπ − logπ_ref:
 *
 *   k1 = x          unbiased as a value; its derivative, 1, has expectation 0: a weight on the score alone
 *   k2 = x²/2       its derivative, x, is an unbiased gradient of the KL
 *   k3 = e^−x + x − 1   never negative; its derivative is 1 − e^−x
 *
 * (J. Schulman, "Approximating KL divergence", 2020.) As in verl, k3 is cut off at |x| = 20 and at 10 nats, with gradient 0 beyond.
 * @throws ShapeError if rows do not fit each other
 */
export function klPenalty(
  { logprobs, refLogprobs, tokenScales }: KlBatch,
  { estimator, coefficient }: { readonly estimator: KlEstimator; readonly coefficient: number },
): LossAndWeights {
  checkRows({ logprobs, refLogprobs }, tokenScales);
  let loss = 0;
  let sum = 0;
  let tokens = 0;
  const weights = logprobs.map((row, b) =>
    row.map((logprob, t) => {
      const { value, derivative } = tokenKl(logprob - refLogprobs[b][t], estimator);
      loss += coefficient * tokenScales[b] * value;
      sum += value;
      tokens++;
      return -coefficient * tokenScales[b] * derivative;
    }),
  );
  return { loss, weights, metrics: tokens === 0 ? {} : { kl: sum / tokens } };
}

/** One token's KL estimate in nats and its derivative with respect to logπ. x = logπ − logπ_ref. */
export function tokenKl(x: number, estimator: KlEstimator): { value: number; derivative: number } {
  switch (estimator) {
    case "k1":
      return { value: x, derivative: 1 };
    case "k2":
      return { value: (x * x) / 2, derivative: x };
    case "k3": {
      const q = clamp(-x, -20, 20);
      const value = Math.exp(q) - q - 1;
      return value > 10 || q !== -x ? { value: Math.min(value, 10), derivative: 0 } : { value, derivative: 1 - Math.exp(q) };
    }
    default:
      return estimator satisfies never;
  }
}

/** Cross-entropy of what was written: ℓ_t = −logπ_t. */
export function crossEntropy(logprobs: Logprobs, tokenScales: readonly number[]): LossAndWeights {
  checkRows({ logprobs }, tokenScales);
  let loss = 0;
  const weights = logprobs.map((row, b) =>
    row.map((logprob) => {
      loss -= tokenScales[b] * logprob;
      return tokenScales[b];
    }),
  );
  return { loss, weights, metrics: {} };
}

/** The sum of two losses over the same rows. */
export function plus(a: LossAndWeights, b: LossAndWeights): LossAndWeights {
  return {
    loss: a.loss + b.loss,
    weights: a.weights.map((row, i) => row.map((weight, t) => weight + b.weights[i][t])),
    metrics: { ...a.metrics, ...b.metrics },
  };
}

/** Mean over the tokens of a row of new − old; 0 for an empty row. */
export function meanDifference(logprobs: readonly number[], oldLogprobs: readonly number[]): number {
  let sum = 0;
  for (let t = 0; t < logprobs.length; t++) sum += logprobs[t] - oldLogprobs[t];
  return sum / Math.max(1, logprobs.length);
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

function checkRows(named: Readonly<Record<string, readonly (readonly number[])[]>>, tokenScales: readonly number[]): void {
  const [[, first]] = Object.entries(named);
  for (const [name, rows] of Object.entries({ ...named, tokenScales })) {
    if (rows.length !== first.length)
      throw new ShapeError(`number of rows of ${name}`, rows.length, { expected: [first.length] });
  }
  for (const [name, rows] of Object.entries(named)) {
    const wrong = rows.findIndex((row, b) => row.length !== first[b].length);
    if (wrong >= 0)
      throw new ShapeError(`number of tokens in row ${wrong} of ${name}`, rows[wrong].length, {
        expected: [first[wrong].length],
      });
  }
}
