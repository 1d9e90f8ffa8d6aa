import { z } from "zod";
import { type ClipRange, clamp, type LossAndWeights, type SurrogateBatch, sumOverTokens } from "./objective.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

export interface DppoOptions {
  /** How far a token's probability may have moved: by total variation, or by the KL of the binary choice "this token or not". */
  readonly divergence: "tv" | "kl";
  /** Widths: where A < 0 and where A > 0. */
  readonly clip: ClipRange;
  /** The ratio is cut off here. */
  readonly ratioBound: number;
}

/**
 * Divergence proximal policy optimisation (DPPO, arXiv:2602.04879): a trust region on probabilities in place of ratios. With p = π, q = π_old:
 *
 *   ℓ_t = −A_t · min(ρ_t, bound) · logπ_t · ok_t             all but logπ_t held constant
 *   tv:  ok = p − q ≤ high where A > 0, else p − q ≥ −low
 *   kl:  ok = (b ≤ high or p ≤ q) where A > 0, else (b ≤ low or p ≥ q),   b = q ln(q/p) + (1−q) ln((1−q)/(1−p))
 *
 * @throws ShapeError if rows do not fit each other
 */
export function dppo(batch: SurrogateBatch, { divergence, clip, ratioBound }: DppoOptions): LossAndWeights {
  let stopped = 0;
  let bounded = 0;
  let drift = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, logprob, out) => {
    const limited = clamp(logRatio, -20, 20);
    const ratio = Math.exp(limited);
    const p = Math.exp(logprob);
    const q = limited === logRatio ? p / ratio : Math.exp(logprob - logRatio);
    const raised = advantage > 0;
    let ok = raised ? p - q <= clip.high : p - q >= -clip.low;
    if (divergence === "kl") {
      const binary = -q * logRatio + (1 - q) * Math.log((1 - q + 1e-8) / (1 - p + 1e-8));
      ok = raised ? binary <= clip.high || p <= q : binary <= clip.low || p >= q;
    }
    if (!ok) stopped++;
    if (ok && ratio > ratioBound) bounded++;
    drift -= limited;
    out.derivative = ok ? -advantage * Math.min(ratio, ratioBound) : 0;
    out.loss = out.derivative * logprob;
  });
  if (tokens === 0) return { loss, weights, metrics: {} };
  return {
    loss,
    weights,
    metrics: { clipFraction: stopped / tokens, dualClipFraction: bounded / tokens, approxKl: drift / tokens },
  };
}

export const dppoKind = defineUpdate({
  kind: "dppo",
  formula: "−A min(ρ, bound) log π while the token's probability has moved less than the width",
  source: "arXiv:2602.04879",
  settings: {
    divergence: z.enum(["tv", "kl"]).default("tv"),
    /** Widths of the divergence. 0.2: verl's clip width for all of its losses. */
    clip: clipRange(0.2, 0.2),
    /** verl's `clip_ratio_c` for this loss. */
    ratioBound: z.number().gt(1).default(20),
  },
  loss: dppo,
});
