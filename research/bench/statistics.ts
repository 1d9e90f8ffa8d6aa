export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** With as many decimals as tell something, and the thousands apart. */
export function figure(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The median, and the lowest and highest where there are several: "4,210 (4,160–4,360)". */
export function spread(values: readonly number[]): string {
  const middle = figure(median(values));
  return values.length === 1 ? middle : `${middle} (${figure(Math.min(...values))}–${figure(Math.max(...values))})`;
}
