import { z } from "zod";
import { acts } from "../core/acts.ts";
import { ShapeError } from "../core/errors.ts";
import type { Policy } from "../core/policy.ts";
import type { ActionInContext } from "../core/trajectory.ts";
import { tokenScales } from "./objectives/aggregation.ts";
import { crossEntropy } from "./objectives/reinforce.ts";
import { minimise, type StepMetrics } from "./step/minimise.ts";

/**
 * One step of supervised fine-tuning: cross-entropy of demonstrated actions in their contexts.
 *
 *   L = −1/N Σ_i Σ_t log π_θ(a_it | c_i, a_i,<t)       over the N action tokens of the batch
 *
 * Every action counts, whatever its trajectory's return: choose the demonstrations before the update.
 * @throws ShapeError without demonstrations, EngineError for a log-prob that is not finite
 */
export async function sftUpdate(policy: Policy, demonstrations: readonly ActionInContext[]): Promise<StepMetrics> {
  if (demonstrations.length === 0) throw new ShapeError("number of demonstrations", 0, { expected: "at least 1" });
  const lengths = demonstrations.map(({ action }) => action.length);
  const scales = tokenScales(lengths, "token-mean");
  const { metrics } = await minimise(policy, demonstrations, (logprobs) => crossEntropy(logprobs, scales), {
    knownWeights: demonstrations.map(({ action }, i) => action.map(() => scales[i])),
    reasons: () => demonstrations.map(({ trajectory, turn }) => ({ trajectory, turn, advantage: 1 })),
  });
  return metrics;
}

export const sftSettings = z.strictObject({
  kind: z.literal("sft"),
  /** A JSONL file of conversations. Default: demonstrations by the environment's expert. */
  data: acts.reads(z.string().min(1)).optional(),
  /** Whole demonstrations fill a step up to this number of tokens. 2,000 suits models of a few million parameters on a laptop. */
  tokensPerStep: z.int().min(1).default(2000),
});
