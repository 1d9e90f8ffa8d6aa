import { z } from "zod";
import { type LossAndWeights, type SurrogateBatch, sumOverTokens } from "./objective.ts";
import { defineUpdate } from "./update-kind.ts";

/**
 * Direct reward optimisation (DRO, arXiv:2405.19107), per token as in verl: REINFORCE with a quadratic pull to the old policy.
 *
 *   ℓ_t = −( A_t · logπ_t − β/2 · d_t² ),   d_t = logπ_t − logπ_old,t
 *
 * @throws ShapeError if rows do not fit each other
 */
export function dro(batch: SurrogateBatch, { beta }: { readonly beta: number }): LossAndWeights {
  let drift = 0;
  const { loss, weights, tokens } = sumOverTokens(batch, (logRatio, advantage, logprob, out) => {
    drift -= logRatio;
    out.loss = -(advantage * logprob - (beta / 2) * logRatio * logRatio);
    out.derivative = -(advantage - beta * logRatio);
  });
  return { loss, weights, metrics: tokens === 0 ? {} : { approxKl: drift / tokens } };
}

export const droKind = defineUpdate({
  kind: "dro",
  formula: "−(A log π − β/2 (log ρ)²)",
  source: "arXiv:2405.19107",
  /** The source leaves it to the task. */
  settings: { beta: z.number().positive().default(0.5) },
  readsEveryToken: "off-policy",
  loss: dro,
});
