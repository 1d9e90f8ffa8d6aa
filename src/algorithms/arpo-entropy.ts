/**
 * ARPO's entropy of a continuation, as its published code takes it (arXiv:2507.19849; `vllm_rollout_with_tools.py`): the truncated
 * entropies of its first tokens, summed, over log V. It grows with the number of tokens and can exceed 1.
 *
 *   H = −Σ_k Σ_j p_kj ln p_kj / ln V          over the first `tokens` tokens k and the most likely candidates j of each
 *
 * @param topLogprobs for each generated token the log-probs of its most likely candidates (10 in ARPO), in nats
 */
export function branchEntropy(
  topLogprobs: readonly (readonly number[])[],
  { tokens, vocabularySize }: { readonly tokens: number; readonly vocabularySize: number },
): number {
  let sum = 0;
  for (const candidates of topLogprobs.slice(0, tokens)) for (const logprob of candidates) sum -= Math.exp(logprob) * logprob;
  return sum / Math.log(vocabularySize);
}
