import { z } from "zod";
import type { Random } from "../../core/random.ts";
import { type ClipRange, clamp, type LossAndWeights, type SurrogateBatch, sumOverTokens, total } from "./objective.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

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
    if (cov[index] <= low || cov[index] >= high) return;
    const ratio = Math.exp(logRatio);
    const clipped = -advantage * clamp(ratio, 1 - clip.low, 1 + clip.high) > -advantage * ratio;
    if (!clipped) candidates.push(index);
  });
  const most = Math.max(1, Math.floor(share * count));
  const dropped = candidates.length > most ? random.shuffle(candidates).slice(0, most) : candidates;
  const isDropped = new Uint8Array(count);
  for (const index of dropped) isDropped[index] = 1;
  let index = 0;
  let drift = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, _, out) => {
    const ratio = Math.exp(logRatio);
    const plain = -advantage * ratio;
    const bounded = -advantage * clamp(ratio, 1 - clip.low, 1 + clip.high);
    const keeps = isDropped[index++] === 0;
    drift -= logRatio;
    out.loss = keeps ? Math.max(plain, bounded) : 0;
    out.derivative = keeps && plain >= bounded ? plain : 0;
  });
  return { loss, weights, metrics: tokens === 0 ? {} : { clipFraction: dropped.length / tokens, approxKl: drift / tokens } };
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
  const isHighest = largest(cov, Math.max(1, Math.floor(share * count)));
  let index = 0;
  let distance = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, _, out) => {
    const plain = -advantage * Math.exp(logRatio);
    const held = isHighest[index++] * coefficient;
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
    const [row, advantage] = [logprobs[b], advantages[b]];
    for (let t = 0; t < row.length; t++) cov[index++] = (advantage[t] - meanAdvantage) * (row[t] - meanLogprob);
  }
  return { cov, tokens };
}

function forEachToken(
  { logprobs, oldLogprobs, advantages }: SurrogateBatch,
  visit: (index: number, logRatio: number, advantage: number) => void,
): void {
  let index = 0;
  for (let b = 0; b < logprobs.length; b++) {
    const [row, old, advantage] = [logprobs[b], oldLogprobs[b], advantages[b]];
    for (let t = 0; t < row.length; t++) visit(index++, row[t] - old[t], advantage[t]);
  }
}

/** 1 at the k largest values, at the first of those that tie for the last place. */
function largest(values: Float64Array, k: number): Uint8Array {
  const chosen = new Uint8Array(values.length);
  if (values.length === 0) return chosen;
  const threshold = kthLargest(Float64Array.from(values), k);
  let left = k;
  for (let i = 0; i < values.length; i++) {
    if (values[i] <= threshold) continue;
    chosen[i] = 1;
    left--;
  }
  for (let i = 0; i < values.length && left > 0; i++) {
    if (values[i] !== threshold) continue;
    chosen[i] = 1;
    left--;
  }
  return chosen;
}

/** Quickselect (C. A. R. Hoare, 1961): linear time on average. Reorders the values. */
function kthLargest(values: Float64Array, k: number): number {
  const wanted = k - 1;
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i] > pivot) i++;
      while (values[j] < pivot) j--;
      if (i > j) break;
      const swapped = values[i];
      values[i++] = values[j];
      values[j--] = swapped;
    }
    if (wanted <= j) high = j;
    else if (wanted >= i) low = i;
    else break;
  }
  return values[wanted];
}

/** arXiv:2505.22617, as in verl: a 5,000th of the tokens, of covariance 1 to 5. */
const share = z.number().gt(0).max(1).default(0.0002);

export const clipCovKind = defineUpdate({
  kind: "clip-cov",
  formula: "ppu without some tokens of high covariance of A and log π",
  source: "arXiv:2505.22617",
  settings: { clip: clipRange(0.2, 0.2), share, covLow: z.number().default(1), covHigh: z.number().default(5) },
  weighsByLogprob: true,
  readsEveryToken: "always",
  loss: (batch, config, random) => clipCov(batch, { ...config, between: [config.covLow, config.covHigh] }, random),
});

export const klCovKind = defineUpdate({
  kind: "kl-cov",
  formula: "−ρA, and the tokens of highest covariance are held to the old policy",
  source: "arXiv:2505.22617",
  /** 1: the authors' launch files; verl's code has 0.1. */
  settings: { share, coefficient: z.number().min(0).default(1) },
  weighsByLogprob: true,
  readsEveryToken: "always",
  loss: klCov,
});
