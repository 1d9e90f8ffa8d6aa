/** Returns the mean; NaN of nothing. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns the middle value, the upper one of two; 0 of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Returns the variance with divisor n − 1; 0 of fewer than two values. */
export function variance(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
}

/** Returns the standard deviation with divisor n − 1; 0 of fewer than two values. */
export function standardDeviation(values: readonly number[]): number {
  return Math.sqrt(variance(values));
}
