import { z } from "zod";
import { clamp, type LossAndWeights, type SurrogateBatch, sumOverTokens } from "./objective.ts";
import { defineUpdate } from "./update-kind.ts";

/**
 * Soft adaptive policy optimisation (SAPO, arXiv:2511.20347): a sigmoid of the ratio in place of the hard clip.
 *
 *   ℓ_t = −A_t · 4/τ · σ(τ(ρ_t − 1)),   τ = tauPos where A_t > 0, else tauNeg          derivative −A_t · 4σ(1−σ) · ρ_t
 *
 * @throws ShapeError if rows do not fit each other
 */
export function sapo(
  batch: SurrogateBatch,
  { tauPos, tauNeg }: { readonly tauPos: number; readonly tauNeg: number },
): LossAndWeights {
  let drift = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, _, out) => {
    const limited = clamp(logRatio, -20, 20);
    const ratio = Math.exp(limited);
    const tau = advantage > 0 ? tauPos : tauNeg;
    const gate = 1 / (1 + Math.exp(-tau * (ratio - 1)));
    drift -= limited;
    out.loss = -advantage * (4 / tau) * gate;
    out.derivative = logRatio === limited ? -advantage * 4 * gate * (1 - gate) * ratio : 0;
  });
  return { loss, weights, metrics: tokens === 0 ? {} : { approxKl: drift / tokens } };
}

export const sapoKind = defineUpdate({
  kind: "sapo",
  formula: "−A·4/τ·σ(τ(ρ − 1)): a soft clip",
  source: "arXiv:2511.20347",
  /** arXiv:2511.20347, as verl and TRL. */
  settings: { tauPos: z.number().positive().default(1), tauNeg: z.number().positive().default(1.05) },
  loss: sapo,
});
