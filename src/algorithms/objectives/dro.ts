import { type LossAndWeights, type SurrogateBatch, sumOverTokens } from "./objective.ts";

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
