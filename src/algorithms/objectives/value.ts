import type { Values } from "../../core/policy.ts";
import { checkRows, clamp, type LossAndWeights, type TokenRows } from "./objective.ts";

export interface ValueBatch {
  /** V now, and V at the start of the update: B rows, one number per token, in units of the return. */
  readonly values: Values;
  readonly oldValues: Values;
  /** The targets that V is fitted to. */
  readonly returns: TokenRows;
  readonly tokenScales: readonly number[];
}

/**
 * PPO's value loss with clipping (OpenAI baselines; verl `compute_value_loss`).
 *
 *   ℓ_t = ½ max( (V_t − G_t)², (clip(V_t, V_old,t ± clip) − G_t)² )
 *
 * @returns the loss, and w = −∂loss/∂V for the critic's backward half
 * @throws ShapeError if rows do not fit each other
 */
export function valueLoss(
  { values, oldValues, returns, tokenScales }: ValueBatch,
  { valueClip }: { readonly valueClip: number },
): LossAndWeights {
  checkRows({ values, oldValues, returns }, tokenScales);
  const weights: number[][] = [];
  let loss = 0;
  let tokens = 0;
  let clipped = 0;
  for (let b = 0; b < values.length; b++) {
    const [row, old, target, scale] = [values[b], oldValues[b], returns[b], tokenScales[b]];
    const weight = new Array<number>(row.length);
    for (let t = 0; t < row.length; t++) {
      const error = row[t] - target[t];
      const bounded = clamp(row[t], old[t] - valueClip, old[t] + valueClip) - target[t];
      const keeps = bounded * bounded <= error * error;
      if (!keeps) clipped++;
      loss += (scale / 2) * Math.max(error * error, bounded * bounded);
      weight[t] = keeps ? -scale * error : 0;
    }
    weights.push(weight);
    tokens += row.length;
  }
  return { loss, weights, metrics: tokens === 0 ? {} : { valueLoss: loss, valueClipFraction: clipped / tokens } };
}
