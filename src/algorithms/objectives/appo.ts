import { z } from "zod";
import { checkRows, clamp, type LossAndWeights, type SurrogateBatch, type TokenRows } from "./objective.ts";
import { ppu } from "./ppu.ts";
import { clipRange, defineUpdate } from "./update-kind.ts";

/**
 * Future-aware credit, APPO (arXiv:2606.12384, eq. 7; `compute_policy_loss_future_kl` of AMAP-ML/APPO): a token counts more where the
 * policy has come to find likelier what followed it.
 *
 *   Ω_t = exp( Σ_{k≥t} γ^(k−t) · d_k ),   d_k = logπ_k − logπ_old,k, left out where ρ_k > 3       γ = 2^(−1/halfLife)
 *   A'_t = A_t · (1 + b · clip(Ω_t, 1, 1 + ε))                     held constant; then PPO's clipped surrogate of A'
 *
 * Distances count action tokens: tool results between them, which the code counts, are none of the policy's. Its caps for samples that are
 * far off policy, and its filter of sequences, are left out. At ratio 1 each weight is (1 + b)·A.
 *
 * The paper's other parts are the branching rule `appo` (rollouts/branching/appo.ts) and the advantage `dual-group`
 * (advantages/dual-group.ts).
 */
export function futureValues(batch: Pick<SurrogateBatch, "logprobs" | "oldLogprobs">, halfLife: number): number[][] {
  const gamma = 2 ** (-1 / halfLife);
  return batch.logprobs.map((row, b) => {
    let future = 0;
    return row
      .map((logprob, t) => clamp(logprob - batch.oldLogprobs[b][t], -20, 20))
      .toReversed()
      .map((d) => {
        future = (d > mostRaised ? 0 : d) + gamma * future;
        return Math.exp(future);
      })
      .toReversed();
  });
}

/** log of the code's `clip_ratio_c`. */
const mostRaised = Math.log(3);

interface AppoOptions {
  readonly clip: { readonly low: number; readonly high: number };
  readonly halfLife: number;
  readonly influence: number;
  readonly influenceClip: number;
}

/** @throws ShapeError if rows do not fit each other */
export function appo(batch: SurrogateBatch, { clip, halfLife, influence, influenceClip }: AppoOptions): LossAndWeights {
  const { logprobs, oldLogprobs, advantages, tokenScales } = batch;
  checkRows({ logprobs, oldLogprobs, advantages }, tokenScales);
  const future = futureValues(batch, halfLife);
  const scaled: TokenRows = advantages.map((row, b) =>
    row.map((advantage, t) => advantage * (1 + influence * clamp(future[b][t], 1, 1 + influenceClip))),
  );
  return ppu({ ...batch, advantages: scaled }, { level: "token", clip });
}

export const appoUpdateKind = defineUpdate({
  kind: "appo",
  formula: "ppu at token level of A·(1 + b·clip(Ω, 1, 1 + ε)), Ω the discounted ratio of all that followed in the trajectory",
  source: "arXiv:2606.12384",
  rows: () => "trajectories",
  weighsByLogprob: true,
  readsEveryToken: "off-policy",
  settings: {
    /** The authors' launch files'. */
    clip: clipRange(0.2, 0.28),
    /** Tokens over which what follows counts half. 64: the launch files' `decay_rate`. */
    halfLife: z.number().positive().default(64),
    /** b. 1: the launch files'. */
    influence: z.number().min(0).default(1),
    /** ε. 0.2: the launch files', from above alone. */
    influenceClip: z.number().min(0).default(0.2),
  },
  loss: appo,
});
