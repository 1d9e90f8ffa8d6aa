/**
 * The ends of an interval of shares in per cent with one decimal, rounded outwards, so that an interval below 100 % never reads as 100: "83.6", "92.1".
 */
export function outwards({ low, high }: { readonly low: number; readonly high: number }): readonly [string, string] {
  return [tenths(low, Math.floor), tenths(high, Math.ceil)];
}

function tenths(share: number, round: (value: number) => number): string {
  // What is a rounding error away from a tenth is that tenth.
  const nearest = Math.round(share * 1000);
  const rounded = Math.abs(share * 1000 - nearest) < 1e-6 ? nearest : round(share * 1000);
  return (rounded / 10).toFixed(1).replace("-", "−");
}
