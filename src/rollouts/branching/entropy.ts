import { EngineError } from "../../core/errors.ts";
import type { SampledAction } from "../../engines/engine.ts";
import type { Branching } from "./settings.ts";

export interface EntropyOptions {
  /** k: the number of tokens, from the first. */
  readonly tokens: number;
  readonly vocabularySize: number;
}

/** Candidates of "top-10". */
export const candidates = 10;

/**
 * How unsure the model was when it began an action: H_0 of a rollout's first one, H_t of the one after its t-th tool result.
 * @throws EngineError where the sampler did not report the most likely candidates that it was asked for
 */
export function entropyOf(action: SampledAction, kind: Branching["entropy"], options: EntropyOptions): number {
  if (kind === "exact") return meanEntropy(action.entropies, options);
  return branchEntropy(topLogprobsOf(action), options);
}

function topLogprobsOf({ topLogprobs }: SampledAction): readonly (readonly number[])[] {
  if (topLogprobs !== undefined) return topLogprobs;
  throw new EngineError("topLogprobs", undefined, {
    expected: "an engine that gives the most probable candidates of every token",
    hint: "Set rollout.branching.entropy to exact.",
  });
}

/** How unsure the model was of each token of an action, in nats. @throws EngineError as `entropyOf` */
export function tokenEntropies(action: SampledAction, kind: Branching["entropy"]): readonly number[] {
  if (kind === "exact") return action.entropies;
  return topLogprobsOf(action).map((logprobs) => logprobs.reduce((sum, logprob) => sum - Math.exp(logprob) * logprob, 0));
}

/**
 * ARPO's entropy of a continuation, as its published code takes it (arXiv:2507.19849; `vllm_rollout_with_tools.py`): the truncated
 * entropies of its first tokens, summed, over log V. It grows with the number of tokens and can exceed 1.
 *
 *   H = −Σ_k Σ_j p_kj ln p_kj / ln V          over the first `tokens` tokens k and the most likely candidates j of each
 *
 * @param topLogprobs for each generated token the log-probs of its most likely candidates (10 in ARPO), in nats
 */
export function branchEntropy(topLogprobs: readonly (readonly number[])[], { tokens, vocabularySize }: EntropyOptions): number {
  let sum = 0;
  for (const ofToken of topLogprobs.slice(0, tokens)) for (const logprob of ofToken) sum -= Math.exp(logprob) * logprob;
  return sum / Math.log(vocabularySize);
}

/**
 * The mean entropy of the first tokens, over log V: between 0 and 1, whatever the number of tokens.
 * @param entropies in nats, one per token, at least one
 */
export function meanEntropy(entropies: readonly number[], { tokens, vocabularySize }: EntropyOptions): number {
  const first = entropies.slice(0, tokens);
  return first.reduce((sum, entropy) => sum + entropy, 0) / first.length / Math.log(vocabularySize);
}
