/**
 * Returns the chance that at least one of k attempts succeeds, estimated without bias from n attempts of which c did
 * (Chen et al., arXiv:2107.03374, equation 1).
 *
 *   pass@k = 1 - C(n-c, k) / C(n, k) = 1 - Π_{i=n-c+1}^{n} (1 - k/i)
 *
 * @param k at most n
 */
export function passAtK(n: number, c: number, k: number): number {
  if (n - c < k) return 1;
  let allFail = 1;
  for (let i = n - c + 1; i <= n; i++) allFail *= 1 - k / i;
  return 1 - allFail;
}

/**
 * Returns the chance that all of k attempts succeed, estimated without bias from n attempts of which c did (Yao et al., τ-bench,
 * arXiv:2406.12045, §4).
 *
 *   pass^k = C(c, k) / C(n, k) = 1 - pass@k of the failures
 *
 * @param k at most n
 */
export function passHatK(n: number, c: number, k: number): number {
  return 1 - passAtK(n, n - c, k);
}
