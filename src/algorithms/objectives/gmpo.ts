import { type ClipRange, checkRows, clamp, type LossAndWeights, type SurrogateBatch } from "./objective.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

/**
 * Geometric-mean policy optimisation (GMPO, arXiv:2507.20673): the geometric mean of a sequence's ratios, each clipped in log space
 * towards the side that its advantage pulls to. In GMPO the widths are of the log-ratio.
 *
 *   d'_t = min(d_t, clip(d_t, −low, high)) where A_t > 0,  max(…) where A_t < 0,  0 where A_t = 0;    d_t = logπ_t − logπ_old,t
 *   L_b  = −Ā · exp( mean_t d'_t ),   Ā = mean_t A_t         the row counts as the sum of its tokens' scales
 *
 * Means divide by n + 1e-8, as in verl.
 * @throws ShapeError if rows do not fit each other
 */
export function gmpo(
  { logprobs, oldLogprobs, advantages, tokenScales }: SurrogateBatch,
  { clip: { low, high } }: { readonly clip: ClipRange },
): LossAndWeights {
  checkRows({ logprobs, oldLogprobs, advantages }, tokenScales);
  const weights: number[][] = [];
  let loss = 0;
  let tokens = 0;
  let clippedHigh = 0;
  let clippedLow = 0;
  let drift = 0;
  for (let b = 0; b < logprobs.length; b++) {
    const [row, old, advantage] = [logprobs[b], oldLogprobs[b], advantages[b]];
    const length = row.length + 1e-8;
    const weight = new Array<number>(row.length);
    let logSum = 0;
    let advantageSum = 0;
    for (let t = 0; t < row.length; t++) {
      const d = row[t] - old[t];
      const inside = clamp(d, -low, high);
      const a = advantage[t];
      const used = a > 0 ? Math.min(d, inside) : a < 0 ? Math.max(d, inside) : 0;
      if (d !== inside && a > 0) clippedHigh++;
      if (d !== inside && a < 0) clippedLow++;
      logSum += used;
      advantageSum += a;
      drift -= d;
    }
    const surrogate = (advantageSum / length) * Math.exp(logSum / length) * tokenScales[b] * row.length;
    for (let t = 0; t < row.length; t++) {
      const [d, a] = [row[t] - old[t], advantage[t]];
      weight[t] = (a > 0 && d <= high) || (a < 0 && d >= -low) ? surrogate / length : 0;
    }
    loss -= surrogate;
    weights.push(weight);
    tokens += row.length;
  }
  if (tokens === 0) return { loss, weights, metrics: {} };
  const metrics = { clipFraction: clippedHigh / tokens, dualClipFraction: clippedLow / tokens, approxKl: drift / tokens };
  return { loss, weights, metrics };
}

export const gmpoKind = defineUpdate({
  kind: "gmpo",
  formula: "geometric mean of a trajectory's clipped ratios; the widths are of the log-ratio",
  source: "arXiv:2507.20673",
  /** Widths of the log-ratio. (e^−0.4, e^0.4): arXiv:2507.20673. */
  settings: { clip: clipRange(0.4, 0.4) },
  rows: () => "trajectories",
  loss: gmpo,
});
