import { PyError } from "./values.ts";

/** Exact arithmetic on floats: a float is sign · mantissa · 2^exponent with integers. */
export interface Binary {
  /** Signed. 0n for zero. */
  readonly mantissa: bigint;
  readonly exponent: number;
}

const view = new DataView(new ArrayBuffer(8));

/** The exact value of a finite float. */
export function binaryOf(x: number): Binary {
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = field === 0 ? fraction : fraction | 0x10000000000000n;
  return { mantissa: bits >> 63n ? -mantissa : mantissa, exponent: Math.max(field, 1) - 1075 };
}

export function bitLength(n: bigint): number {
  const hex = (n < 0n ? -n : n).toString(16);
  return hex === "0" ? 0 : (hex.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(hex.charAt(0), 16)));
}

/** numerator / denominator, rounded to the nearest integer, ties to even. The denominator is positive. */
export function divideToEven(numerator: bigint, denominator: bigint): bigint {
  const magnitude = numerator < 0n ? -numerator : numerator;
  let quotient = magnitude / denominator;
  const twice = 2n * (magnitude % denominator);
  if (twice > denominator || (twice === denominator && quotient % 2n === 1n)) quotient += 1n;
  return numerator < 0n ? -quotient : quotient;
}

/** The float nearest to numerator / denominator, ties to even. Infinite if it is too large. */
export function quotientToFloat(numerator: bigint, denominator: bigint): number {
  if (numerator === 0n) return 0;
  const negative = numerator < 0n !== denominator < 0n;
  const n = numerator < 0n ? -numerator : numerator;
  const d = denominator < 0n ? -denominator : denominator;
  const scaledTo = (exponent: number) =>
    exponent >= 0 ? divideToEven(n, d << BigInt(exponent)) : divideToEven(n << BigInt(-exponent), d);
  // A quotient of 53 bits, or fewer below the smallest normal float.
  let exponent = Math.max(bitLength(n) - bitLength(d) - 53, -1074);
  let scaled = scaledTo(exponent);
  if (scaled > 0x20000000000000n) scaled = scaledTo(++exponent);
  const value = scaleBy(Number(scaled), exponent);
  return negative ? -value : value;
}

/** x · 2^exponent in steps that stay exact. */
function scaleBy(x: number, exponent: number): number {
  let value = x;
  let rest = exponent;
  for (; rest > 1000; rest -= 1000) value *= 2 ** 1000;
  for (; rest < -1000; rest += 1000) value *= 2 ** -1000;
  return value * 2 ** rest;
}

/** The float nearest to an int. @throws PyError OverflowError if there is none */
export function intToFloat(n: bigint): number {
  const x = Number(n);
  if (Number.isFinite(x)) return x;
  throw new PyError("OverflowError", "int too large to convert to float");
}

/** |x| · 10^digits, rounded to the nearest integer, ties to even. */
function scaledDecimal(x: number, digits: number): bigint {
  const { mantissa, exponent } = binaryOf(Math.abs(x));
  const numerator = (digits > 0 ? mantissa * 10n ** BigInt(digits) : mantissa) << BigInt(Math.max(exponent, 0));
  const denominator = (digits < 0 ? 10n ** BigInt(-digits) : 1n) << BigInt(Math.max(-exponent, 0));
  return divideToEven(numerator, denominator);
}

/** A finite float with this number of decimals, rounded half to even on its exact value. */
export function fixedText(x: number, decimals: number): string {
  const digits = scaledDecimal(x, decimals)
    .toString()
    .padStart(decimals + 1, "0");
  const sign = x < 0 || Object.is(x, -0) ? "-" : "";
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Python's `round(x, digits)` for a float. @throws PyError OverflowError if the result is no float */
export function roundFloat(x: number, digits: number): number {
  if (!Number.isFinite(x) || digits > 323) return x;
  if (digits < -308) return 0 * x;
  const sign = x < 0 || Object.is(x, -0) ? -1 : 1;
  const rounded = Number(`${scaledDecimal(x, digits)}e${-digits}`);
  if (!Number.isFinite(rounded)) throw new PyError("OverflowError", "rounded value too large to represent");
  return sign * rounded;
}

/** Python's `int(x)`. @throws PyError for NaN and infinities */
export function truncate(x: number): bigint {
  if (Number.isNaN(x)) throw new PyError("ValueError", "cannot convert float NaN to integer");
  if (!Number.isFinite(x)) throw new PyError("OverflowError", "cannot convert float infinity to integer");
  return BigInt(Math.trunc(x));
}

/** Python's `round(x)`: to an int, half to even. */
export function roundToInt(x: number): bigint {
  truncate(x);
  const { mantissa, exponent } = binaryOf(x);
  return exponent >= 0 ? mantissa << BigInt(exponent) : divideToEven(mantissa, 1n << BigInt(-exponent));
}
