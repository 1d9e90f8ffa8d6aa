import type { Batch } from "./batch.ts";
import type { LabRules } from "./config.ts";
import type { Layout, Policy } from "./policy.ts";

/** What a turn update optimises: advantages, and M for every trajectory of the batch. */
export interface TurnUpdate {
  readonly turns: readonly number[];
  readonly batch: Batch;
  readonly advantages: Float64Array;
  readonly carried: Float64Array;
  /** The policy that ratios are taken to: as the turn update finds it, or the one that sampled. */
  readonly old: Policy;
}

/**
 * The objective of a turn update and its gradient with respect to the logits.
 *
 *   Σ_i w_i M_i A_i Σ_t min(ρ_it, clip(ρ_it, 1−ε, 1+ε))      with the sign of A_i inside of the minimum
 *   ρ_it = exp( 1/|t| Σ_{j∈t} (log π(a_ij) − log π_old(a_ij)) )
 *
 * Sums over turns, not means: at θ = old and with one token a turn the gradient is that of J.
 * @returns the value; the gradient is written into `gradient`, rows × vocabulary
 */
export function objective(
  { decisions, leaves, cellOf, rows, size: { tokens, vocabulary } }: Layout,
  policy: Policy,
  { turns, batch, advantages, carried, old }: TurnUpdate,
  { clip }: Pick<LabRules, "clip">,
  gradient: Float64Array,
): number {
  gradient.fill(0);
  let value = 0;
  for (const turn of turns)
    for (let i = 0; i < batch.count; i++) {
      const advantage = advantages[i];
      const coefficient = batch.weights[i] * carried[i] * advantage;
      if (coefficient === 0) continue;
      const from = (batch.contexts[i] * leaves + batch.leaves[i]) * decisions + turn * tokens;
      let product = 1;
      for (let k = from; k < from + tokens; k++) product *= policy[cellOf[k]] / old[cellOf[k]];
      const rho = product ** (1 / tokens);
      const isClipped = advantage > 0 ? rho > 1 + clip : rho < 1 - clip;
      value += coefficient * (isClipped ? (advantage > 0 ? 1 + clip : 1 - clip) : rho);
      if (isClipped) continue;
      for (let k = from; k < from + tokens; k++) gradient[cellOf[k]] += (coefficient * rho) / tokens;
    }
  // From d/d log π(token) to d/d logit: subtract each row's sum times the row's probabilities.
  for (let start = 0; start < rows * vocabulary; start += vocabulary) {
    let sum = 0;
    for (let token = 0; token < vocabulary; token++) sum += gradient[start + token];
    for (let token = 0; token < vocabulary; token++) gradient[start + token] -= sum * policy[start + token];
  }
  return value;
}
