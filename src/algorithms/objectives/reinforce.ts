import { z } from "zod";
import type { Logprobs } from "../../core/policy.ts";
import { checkRows, type LossAndWeights, type SurrogateBatch } from "./objective.ts";
import { defineUpdate } from "./update-kind.ts";

/**
 * REINFORCE (R. Williams, 1992): the score function weighted by the advantage.
 *
 *   ℓ_t = −A_t · logπ_t                      level "token"
 *   ℓ_t = −Ā · logπ_t,  Ā = mean_t A_t        level "sequence": the row is one action with one advantage
 *
 * The two differ only where advantages differ within a row. There is no ratio: with several steps on one batch nothing bounds them.
 * @throws ShapeError if rows do not fit each other
 * @example
 * reinforce({ logprobs: [[-1, -2]], advantages: [[0.5, 0.5]], tokenScales: [0.5] }, { level: "token" }).weights; // [[0.25, 0.25]]
 */
export function reinforce(
  { logprobs, advantages, tokenScales }: Omit<SurrogateBatch, "oldLogprobs">,
  { level }: { readonly level: "token" | "sequence" },
): LossAndWeights {
  checkRows({ logprobs, advantages }, tokenScales);
  const weights: number[][] = [];
  let loss = 0;
  for (let b = 0; b < logprobs.length; b++) {
    const [row, advantage, scale] = [logprobs[b], advantages[b], tokenScales[b]];
    const weight = new Array<number>(row.length);
    const shared = level === "sequence" ? meanOf(advantage) : 0;
    for (let t = 0; t < row.length; t++) {
      weight[t] = scale * (level === "sequence" ? shared : advantage[t]);
      loss -= weight[t] * row[t];
    }
    weights.push(weight);
  }
  return { loss, weights, metrics: {} };
}

export const reinforceKind = defineUpdate({
  kind: "reinforce",
  formula: '−A log π; with `level: "sequence"` A is the mean over the trajectory. Nothing bounds the step',
  source: "Williams 1992",
  settings: { level: z.enum(["token", "sequence"]).default("token") },
  rows: ({ level }) => (level === "sequence" ? "trajectories" : "turns"),
  loss: reinforce,
});

/** Cross-entropy of what was written: ℓ_t = −logπ_t. */
export function crossEntropy(logprobs: Logprobs, tokenScales: readonly number[]): LossAndWeights {
  return reinforce({ logprobs, advantages: logprobs.map((row) => row.map(() => 1)), tokenScales }, { level: "token" });
}

/** Computes the mean of a row; for equal numbers their own value, without rounding. */
function meanOf(row: readonly number[]): number {
  let sum = 0;
  let equal = true;
  for (let t = 0; t < row.length; t++) {
    sum += row[t];
    equal &&= row[t] === row[0];
  }
  return equal ? (row[0] ?? 0) : sum / row.length;
}
