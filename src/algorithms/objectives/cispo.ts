import { Spread } from "../metrics.ts";
import { type ClipRange, clamp, type LossAndWeights, type SurrogateBatch, sumOverTokens } from "./objective.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

/**
 * CISPO (MiniMax-M1, arXiv:2506.13585, eq. 4–5): REINFORCE with a clipped importance weight that is held constant.
 *
 *   ρ̂_t = clip( exp(logπ_t − logπ_old,t), 1−low, 1+high )        not differentiated
 *   ℓ_t = −ρ̂_t · A_t · logπ_t
 *
 * Unlike PPO's, a clipped token keeps its gradient. low = 1 is no lower bound. Log-ratios are limited to ±20, as in verl.
 * @throws ShapeError if rows do not fit each other
 */
export function cispo(batch: SurrogateBatch, { clip }: { readonly clip: ClipRange }): LossAndWeights {
  const [low, high] = [1 - clip.low, 1 + clip.high];
  const ratios = new Spread();
  let clipped = 0;
  let drift = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, logprob, out) => {
    const limited = clamp(logRatio, -20, 20);
    const ratio = Math.exp(limited);
    const bounded = clamp(ratio, low, high);
    ratios.add(ratio);
    drift -= limited;
    if (bounded !== ratio) clipped++;
    out.derivative = -bounded * advantage;
    out.loss = out.derivative * logprob;
  });
  if (tokens === 0) return { loss, weights, metrics: {} };
  return { loss, weights, metrics: { clipFraction: clipped / tokens, approxKl: drift / tokens, ...ratios.named("ratio") } };
}

export const cispoKind = defineUpdate({
  kind: "cispo",
  formula: "−clip(ρ) A log π, the ratio held constant",
  source: "arXiv:2506.13585",
  /** No bound below, as MiniMax-M1 (arXiv:2506.13585, §3.1), which does not print its bound above; 0.28 is Trinity-RFT's. */
  settings: { clip: clipRange(1, 0.28) },
  loss: cispo,
});
