/**
 * Returns p-values adjusted for their number by Holm's step-down method (1979): rejecting those below α keeps the chance of any false alarm
 * among all of them below α, whatever depends on what.
 *
 *   p̃_(i) = max_{j ≤ i} min(1, (m − j + 1) · p_(j)),   p_(1) ≤ … ≤ p_(m)
 *
 * @returns in the order of the p-values that were given
 */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((_, i) => i).sort((a, b) => pValues[a] - pValues[b]);
  const adjusted = new Array<number>(pValues.length);
  let largest = 0;
  for (const [rank, index] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (pValues.length - rank) * pValues[index]));
    adjusted[index] = largest;
  }
  return adjusted;
}
