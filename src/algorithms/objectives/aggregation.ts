/**
 * How token losses become one scalar. With B sequences of n_b tokens, and N tokens in all:
 *
 *   token-mean                 1/N Σ_b Σ_t ℓ_bt                DAPO (arXiv:2503.14476, §3.3)
 *   sequence-mean-token-mean   1/B Σ_b 1/n_b Σ_t ℓ_bt          GRPO (arXiv:2402.03300, eq. 3)
 *   tokenSumOver: H            1/B Σ_b 1/H Σ_t ℓ_bt            Dr. GRPO (arXiv:2503.20783), H a constant
 */
export type Aggregation = "token-mean" | "sequence-mean-token-mean" | { readonly tokenSumOver: number };

/**
 * Computes how much the loss of one token counts in the scalar, for each sequence: the scalar is Σ_b c_b Σ_t ℓ_bt.
 * A sequence without tokens counts as none (as in verl since 2026; older code still divides by it); its c is 0.
 * @param lengths n_b, the number of action tokens of each sequence
 */
export function tokenScales(lengths: readonly number[], aggregation: Aggregation): number[] {
  const sequences = lengths.filter((length) => length > 0).length;
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  return lengths.map((length) => {
    if (length === 0) return 0;
    if (aggregation === "token-mean") return 1 / tokens;
    if (aggregation === "sequence-mean-token-mean") return 1 / (sequences * length);
    return 1 / (sequences * aggregation.tokenSumOver);
  });
}
