import { ShapeError } from "../../core/errors.ts";
import type { Logprobs, Weights } from "../../core/policy.ts";
import type { MetricValues } from "../metrics.ts";

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
  readonly metrics: MetricValues;
}

/** One number per action token: a row for each sequence. */
export type TokenRows = readonly (readonly number[])[];

export function total(rows: TokenRows): number {
  let sum = 0;
  for (const row of rows) for (let t = 0; t < row.length; t++) sum += row[t];
  return sum;
}

export interface SurrogateBatch {
  /** In nats, like `oldLogprobs`: B rows, one number per token. */
  readonly logprobs: Logprobs;
  readonly oldLogprobs: Logprobs;
  /** B rows, one number per token. */
  readonly advantages: TokenRows;
  /** B numbers: what a token's loss counts in the scalar, see aggregation.ts. */
  readonly tokenScales: readonly number[];
}

/** Widths of the clip range: ratios are clipped to [1 − low, 1 + high]. */
export interface ClipRange {
  readonly low: number;
  readonly high: number;
}

export function clipRatio(ratio: number, { low, high }: ClipRange): number {
  return clamp(ratio, 1 - low, 1 + high);
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Mean over the tokens of a row of new − old; 0 for an empty row. */
export function meanDifference(logprobs: readonly number[], oldLogprobs: readonly number[]): number {
  let sum = 0;
  for (let t = 0; t < logprobs.length; t++) sum += logprobs[t] - oldLogprobs[t];
  return sum / Math.max(1, logprobs.length);
}

/** The sum of two losses over the same rows. */
export function plus(a: LossAndWeights, b: LossAndWeights): LossAndWeights {
  return {
    loss: a.loss + b.loss,
    weights: a.weights.map((row, i) => row.map((weight, t) => weight + b.weights[i][t])),
    metrics: { ...a.metrics, ...b.metrics },
  };
}

/**
 * A loss that is a sum over tokens. The frame of most objectives: each gives one token's loss and derivative, in the two fields
 * of `out`, so that nothing is allocated per token.
 */
export function sumOverTokens(
  { logprobs, oldLogprobs, advantages, tokenScales }: SurrogateBatch,
  token: (logRatio: number, advantage: number, logprob: number, out: TokenLoss) => void,
): { loss: number; weights: number[][]; tokens: number } {
  checkRows({ logprobs, oldLogprobs, advantages }, tokenScales);
  const out = { loss: 0, derivative: 0 };
  const weights: number[][] = [];
  let loss = 0;
  let tokens = 0;
  for (let b = 0; b < logprobs.length; b++) {
    const [row, old, advantage, scale] = [logprobs[b], oldLogprobs[b], advantages[b], tokenScales[b]];
    const weight = new Array<number>(row.length);
    for (let t = 0; t < row.length; t++) {
      token(row[t] - old[t], advantage[t], row[t], out);
      loss += scale * out.loss;
      weight[t] = -scale * out.derivative;
    }
    weights.push(weight);
    tokens += row.length;
  }
  return { loss, weights, tokens };
}

/** ℓ_t and ∂ℓ_t/∂logπ_t. */
export interface TokenLoss {
  loss: number;
  derivative: number;
}

/** @throws ShapeError naming the first of the matrices whose rows differ from those of the first */
export function checkRows(named: Readonly<Record<string, TokenRows>>, tokenScales: readonly number[]): void {
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
