import { Spread } from "../metrics.ts";
import { type ClipRange, clamp, type LossAndWeights, type SurrogateBatch, sumOverTokens } from "./objective.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

/**
 * Entropy-balanced clipping, AEPO (arXiv:2510.14545, §4.2): PPO's clipped surrogate, whose upper clip keeps a gradient. Tokens that are
 * raised beyond the range are often those of high entropy, which PPO gives up.
 *
 *   ℓ_t = −min( ρ_t A_t, clip(ρ_t, 1−low, (1+high)/sg(ρ_t) · ρ_t) A_t )          sg: held constant, so the value is PPO's
 *   −∂ℓ_t/∂logπ_t = A_t · F_t,   F_t = 1+high where ρ_t > 1+high and A_t > 0,  0 where ρ_t < 1−low and A_t < 0,  else ρ_t
 *
 * Log-ratios are limited to ±20, as in `ppu`.
 * @throws ShapeError if rows do not fit each other
 */
export function aepo(batch: SurrogateBatch, { clip: { low, high } }: { readonly clip: ClipRange }): LossAndWeights {
  const ratios = new Spread();
  let [clipped, drift] = [0, 0];
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, _, out) => {
    const limited = clamp(logRatio, -20, 20);
    const ratio = Math.exp(limited);
    const raised = ratio > 1 + high && advantage > 0;
    const given = ratio < 1 - low && advantage < 0;
    const factor = raised ? 1 + high : ratio;
    ratios.add(ratio);
    if (raised || given) clipped++;
    drift -= limited;
    out.loss = -advantage * (given ? 1 - low : factor);
    out.derivative = given ? 0 : -advantage * factor;
  });
  if (tokens === 0) return { loss, weights, metrics: {} };
  return { loss, weights, metrics: { clipFraction: clipped / tokens, approxKl: drift / tokens, ...ratios.named("ratio") } };
}

export const aepoUpdateKind = defineUpdate({
  kind: "aepo-clip",
  formula: "ppu at token level, whose upper clip keeps the gradient (1 + high)·A",
  source: "arXiv:2510.14545",
  /** 0.2: verl's clip width for all of its losses. */
  settings: { clip: clipRange(0.2, 0.2) },
  loss: aepo,
});
