import type { Random } from "../../core/random.ts";
import { type ClipRange, clamp, type LossAndWeights, type SurrogateBatch, sumOverTokens, type TokenRows } from "./objective.ts";

export interface ClipCovOptions {
  readonly clip: ClipRange;
  /** At most this share of the tokens is dropped, and at least one may be. */
  readonly share: number;
  /** Tokens whose covariance lies between these two may be dropped. */
  readonly between: readonly [low: number, high: number];
}

/**
 * Clip-Cov (arXiv:2505.22617, §4.2): PPO's clipped surrogate without the tokens whose covariance of advantage and log-prob is high,
 * which are the ones that bring entropy down.
 *
 *   cov_t = (A_t − mean A)(logπ_t − mean logπ)
 *
 * @param random draws which of the candidates are dropped
 * @throws ShapeError if rows do not fit each other
 */
export function clipCov(
  batch: SurrogateBatch,
  { clip, share, between: [low, high] }: ClipCovOptions,
  random: Random,
): LossAndWeights {
  const { cov, tokens: count } = covariances(batch, 1e-8);
  const candidates: number[] = [];
  forEachToken(batch, (index, logRatio, advantage) => {
    const ratio = Math.exp(logRatio);
    const clipped = -advantage * clamp(ratio, 1 - clip.low, 1 + clip.high) > -advantage * ratio;
    if (!clipped && cov[index] > low && cov[index] < high) candidates.push(index);
  });
  const most = Math.max(1, Math.floor(share * count));
  const dropped = new Set(candidates.length > most ? random.shuffle(candidates).slice(0, most) : candidates);
  let index = 0;
  let drift = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, _, out) => {
    const ratio = Math.exp(logRatio);
    const plain = -advantage * ratio;
    const bounded = -advantage * clamp(ratio, 1 - clip.low, 1 + clip.high);
    const keeps = !dropped.has(index++);
    drift -= logRatio;
    out.loss = keeps ? Math.max(plain, bounded) : 0;
    out.derivative = keeps && plain >= bounded ? plain : 0;
  });
  return { loss, weights, metrics: tokens === 0 ? {} : { clipFraction: dropped.size / tokens, approxKl: drift / tokens } };
}

/**
 * KL-Cov (arXiv:2505.22617, §4.2): no clip; the share of tokens of highest covariance is held to the old policy.
 *
 *   ℓ_t = −A_t ρ_t,  and + coefficient·|logπ_t − logπ_old,t| on those
 *
 * @throws ShapeError if rows do not fit each other
 */
export function klCov(
  batch: SurrogateBatch,
  { share, coefficient }: { readonly share: number; readonly coefficient: number },
): LossAndWeights {
  const { cov, tokens: count } = covariances(batch, 0);
  const highest = new Set(
    Array.from(cov.keys())
      .sort((a, b) => cov[b] - cov[a])
      .slice(0, Math.max(1, Math.floor(share * count))),
  );
  let index = 0;
  let distance = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, _, out) => {
    const plain = -advantage * Math.exp(logRatio);
    const held = highest.has(index++) ? coefficient : 0;
    distance += Math.abs(logRatio);
    out.loss = plain + held * Math.abs(logRatio);
    out.derivative = plain + held * Math.sign(logRatio);
  });
  return { loss, weights, metrics: tokens === 0 ? {} : { approxKl: distance / tokens } };
}

/** cov_t of all tokens, row after row. @param epsilon is added to the number of tokens: 1e-8 in verl's masked means */
function covariances({ logprobs, advantages }: SurrogateBatch, epsilon: number): { cov: Float64Array; tokens: number } {
  const tokens = logprobs.reduce((sum, row) => sum + row.length, 0);
  const [meanLogprob, meanAdvantage] = [total(logprobs) / (tokens + epsilon), total(advantages) / (tokens + epsilon)];
  const cov = new Float64Array(tokens);
  let index = 0;
  for (let b = 0; b < logprobs.length; b++) {
    for (let t = 0; t < logprobs[b].length; t++)
      cov[index++] = (advantages[b][t] - meanAdvantage) * (logprobs[b][t] - meanLogprob);
  }
  return { cov, tokens };
}

function forEachToken(
  { logprobs, oldLogprobs, advantages }: SurrogateBatch,
  visit: (index: number, logRatio: number, advantage: number) => void,
): void {
  let index = 0;
  for (let b = 0; b < logprobs.length; b++) {
    for (let t = 0; t < logprobs[b].length; t++) visit(index++, logprobs[b][t] - oldLogprobs[b][t], advantages[b][t]);
  }
}

function total(rows: TokenRows): number {
  let sum = 0;
  for (const row of rows) for (let t = 0; t < row.length; t++) sum += row[t];
  return sum;
}
