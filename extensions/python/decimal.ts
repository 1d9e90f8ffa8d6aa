import { binaryOf } from "./exact.ts";
import { Printed } from "./objects.ts";
import { isInt, isNumber, PyError, typeError, typeName, type Value, valueError } from "./values.ts";

/** The largest precision of Python's decimal contexts. */
const maxPrecision = 999999999999999999n;
/** Most digits that are computed. Python would need gigabytes. */
const mostDigits = 100_000n;

/**
 * Python's `Decimal(number).sqrt()` in a context of this precision, rounded half to even on the exact value of the number.
 * @param number an int, float or bool that is not negative
 * @throws PyError as Python does for a wrong precision
 */
export function decimalSquareRoot(number: Value, precision: Value): Printed {
  if (!isInt(precision)) throw typeError("argument must be an integer");
  const digits = BigInt(precision);
  if (digits < -0x8000000000000000n || digits > 0x7fffffffffffffffn)
    throw new PyError("OverflowError", "Python int too large to convert to C ssize_t");
  if (digits < 1n || digits > maxPrecision) throw valueError("valid range for prec is [1, MAX_PREC]");
  if (digits > mostDigits) throw new PyError("MemoryError", "");
  if (!isNumber(number)) throw typeError(`conversion from ${typeName(number)} to Decimal is not supported`);
  if (typeof number === "number" && !Number.isFinite(number)) return decimal(Number.isNaN(number) ? "NaN" : "Infinity");
  // number = coefficient · 10^exponent
  let coefficient = BigInt(typeof number === "number" ? 0 : number);
  let exponent = 0;
  if (typeof number === "number") {
    const binary = binaryOf(number);
    coefficient = binary.exponent >= 0 ? binary.mantissa << BigInt(binary.exponent) : binary.mantissa;
    exponent = Math.min(binary.exponent, 0);
    while (exponent < 0 && coefficient % 2n === 0n && coefficient !== 0n) {
      coefficient /= 2n;
      exponent++;
    }
    if (coefficient === 0n) exponent = 0;
    coefficient *= 5n ** BigInt(-exponent);
  }
  if (coefficient === 0n) return decimal(Object.is(number, -0) ? "-0" : "0");
  return decimal(root(coefficient, exponent, Number(digits)));
}

function decimal(text: string): Printed {
  return new Printed("decimal.Decimal", `Decimal('${text}')`, text);
}

/** The square root with `digits` significant digits; an exact one has the exponent that is next to half of the number's. */
function root(coefficient: bigint, exponent: number, digits: number): string {
  const ideal = Math.floor(exponent / 2);
  const length = coefficient.toString().length;
  // The integer root of coefficient · 10^shift has digits + 1 digits, so that the last one decides the rounding.
  let shift = 2 * (digits + 1) - length;
  if ((exponent - shift) % 2 !== 0) shift++;
  const scaled = shift >= 0 ? coefficient * 10n ** BigInt(shift) : coefficient / 10n ** BigInt(-shift);
  let value = integerRoot(scaled);
  let at = (exponent - shift) / 2;
  const exact = value * value === scaled && (shift >= 0 || coefficient % 10n ** BigInt(-shift) === 0n);
  if (exact) {
    while (at < ideal && value % 10n === 0n) {
      value /= 10n;
      at++;
    }
    for (; at > ideal && value.toString().length < digits; at--) value *= 10n;
  }
  const excess = value.toString().length - digits;
  if (excess > 0) {
    const unit = 10n ** BigInt(excess);
    const rest = value % unit;
    value /= unit;
    at += excess;
    // A root that is not exact is never a tie: there is always more behind its digits.
    const half = unit / 2n;
    if (rest > half || (rest === half && (!exact || value % 2n === 1n))) value += 1n;
    if (value.toString().length > digits) {
      value /= 10n;
      at++;
    }
  }
  return scientific(value.toString(), at);
}

/** Python's text of a Decimal: an exponent if it is positive, or if the number is below 10^-6. */
function scientific(digits: string, exponent: number): string {
  const adjusted = exponent + digits.length - 1;
  if (exponent <= 0 && adjusted >= -6) {
    if (exponent === 0) return digits;
    const padded = digits.padStart(-exponent + 1, "0");
    return `${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
  }
  const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
  return `${mantissa}E${adjusted < 0 ? "-" : "+"}${Math.abs(adjusted)}`;
}

/** ⌊√n⌋ by Newton's method. */
function integerRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let x = 1n << BigInt((n.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}
