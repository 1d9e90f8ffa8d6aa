import fc from "fast-check";

/**
 * Numbers spread evenly over an interval, both ends included. `fc.double` is spread evenly over floating-point numbers, nearly all of which are
 * near 0: properties of shares, advantages and drifts then see hardly any.
 */
export function real(min: number, max: number): fc.Arbitrary<number> {
  return fc.integer({ min: 0, max: 1000 }).map((i) => min + ((max - min) * i) / 1000);
}
