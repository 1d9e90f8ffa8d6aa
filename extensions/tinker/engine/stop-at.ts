import type { TokenId } from "../../../src/core/trajectory.ts";

/**
 * The number of tokens after which a text contains one of the stop strings; undefined if it never does. Servers take stop tokens or stop
 * strings, not both: strings are looked for here, and what was sampled behind them is dropped.
 */
export function stopAfter(
  tokens: readonly TokenId[],
  stops: readonly string[],
  decode: (tokens: readonly TokenId[]) => string,
): number | undefined {
  const contains = (count: number) => {
    const text = decode(tokens.slice(0, count));
    return stops.some((stop) => text.includes(stop));
  };
  if (stops.length === 0 || !contains(tokens.length)) return undefined;
  let [without, within] = [0, tokens.length];
  while (within - without > 1) {
    const middle = (without + within) >> 1;
    if (contains(middle)) within = middle;
    else without = middle;
  }
  return within;
}
