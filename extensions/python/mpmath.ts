import { asciiDigits, strip } from "./characters.ts";
import { type Binary, binaryOf, bitLength, divideToEven } from "./exact.ts";
import { lnFixed, piFixed } from "./fixed-point.ts";
import { toFloat, toInt } from "./numbers.ts";
import { Complex, Printed } from "./objects.ts";
import { repr } from "./text.ts";
import { isNumber, PyError, typeError, type Value } from "./values.ts";

/** A number of mpmath's: finite, or one of three special ones. */
type Mpf = Binary | "inf" | "-inf" | "nan";
type Mpc = { readonly real: Mpf; readonly imaginary: Mpf };

const bitsPerDigit = 3.3219280948873626;

/** Most bits of a working precision. Python would compute for minutes. */
const mostBits = 200_000;

/**
 * mpmath's `log(value) / log(base)` with `mp.dps = precision`, printed as its repr: mpf('1.5'), or mpc(...) where a number is negative.
 * Follows mpmath 1.3.0.
 * @throws PyError as mpmath does
 */
export function logarithm(value: Value, base: Value, precision: Value): Printed {
  const bits = workingBits(toInt(precision));
  const quotient = divideLogs(naturalLog(convert(value, bits), bits), naturalLog(convert(base, bits), bits), bits);
  const decimals = Math.max(1, roundHalfEven(bits / bitsPerDigit) - 1);
  const text = (x: Mpf) => mpfText(x, decimals === 15 ? 17 : decimals + 3);
  if (isMpc(quotient)) return new Printed("mpc", `mpc(real='${text(quotient.real)}', imag='${text(quotient.imaginary)}')`);
  return new Printed("mpf", `mpf('${text(quotient)}')`, mpfText(quotient, Math.max(1, Number(toInt(precision)))));
}

function workingBits(digits: bigint): number {
  const bits = Math.max(1, roundHalfEven((Number(digits) + 1) * bitsPerDigit));
  if (bits > mostBits) throw new PyError("MemoryError", "");
  return bits;
}

/** Python's `round` of a positive float. */
function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  return x - floor > 0.5 || (x - floor === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}

function isMpc(x: Mpf | Mpc): x is Mpc {
  return typeof x === "object" && "real" in x;
}

const zero: Binary = { mantissa: 0n, exponent: 0 };

function isZero(x: Mpf): boolean {
  return typeof x === "object" && x.mantissa === 0n;
}

function isNegative(x: Mpf): boolean {
  return typeof x === "object" ? x.mantissa < 0n : x === "-inf";
}

function fromFloat(x: number): Mpf {
  if (Number.isFinite(x)) return binaryOf(x);
  return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

function convert(value: Value, bits: number): Mpf | Mpc {
  if (isNumber(value)) return typeof value === "number" ? fromFloat(value) : { mantissa: BigInt(value), exponent: 0 };
  if (value instanceof Complex) return { real: fromFloat(value.real), imaginary: fromFloat(value.imaginary) };
  const parsed = typeof value === "string" ? fromText(value, bits) : undefined;
  if (parsed === undefined) throw typeError(`cannot create mpf from ${repr(value)}`);
  return parsed;
}

/** Reads a decimal literal or a fraction of two ints. Undefined for other texts. */
function fromText(value: string, bits: number): Mpf | undefined {
  const text = asciiDigits(strip(value.toLowerCase(), null, "both"));
  if (text === "inf" || text === "+inf") return "inf";
  if (text === "-inf" || text === "nan") return text;
  const [, numerator, denominator] = /^([-+]?\d+)l?\/([-+]?\d+)l?$/.exec(text) ?? [];
  if (numerator !== undefined && denominator !== undefined)
    return roundedQuotient(BigInt(numerator.replace("+", "")), BigInt(denominator.replace("+", "")), bits);
  const [, minus, whole = "", part = "", power] = /^([-+]?)(\d*)\.?(\d*)(?:e([-+]?\d+))?$/.exec(text.replaceAll("_", "")) ?? [];
  if (whole + part === "") return undefined;
  toFloat(text);
  const digits = BigInt(whole + part) * (minus === "-" ? -1n : 1n);
  const exponent = Number(power ?? 0) - part.length;
  return exponent >= 0
    ? rounded({ mantissa: digits * 10n ** BigInt(exponent), exponent: 0 }, bits)
    : roundedQuotient(digits, 10n ** BigInt(-exponent), bits);
}

/** Rounds to a number of bits, ties to even. */
function rounded({ mantissa, exponent }: Binary, bits: number): Binary {
  const excess = bitLength(mantissa) - bits;
  if (excess <= 0) return { mantissa, exponent };
  return { mantissa: divideToEven(mantissa, 1n << BigInt(excess)), exponent: exponent + excess };
}

/** numerator / denominator to a number of bits; one bit beyond records an inexact rest, so that ties are real ones. */
function roundedQuotient(numerator: bigint, denominator: bigint, bits: number): Binary {
  if (denominator === 0n) throw new PyError("ZeroDivisionError", "");
  const n = denominator < 0n ? -numerator : numerator;
  const d = denominator < 0n ? -denominator : denominator;
  const shift = Math.max(bits + 2 - bitLength(n) + bitLength(d), 0);
  const size = (n < 0n ? -n : n) << BigInt(shift);
  const quotient = 2n * (size / d) + (size % d === 0n ? 0n : 1n);
  return rounded({ mantissa: n < 0n ? -quotient : quotient, exponent: -shift - 1 }, bits);
}

function naturalLog(x: Mpf | Mpc, bits: number): Mpf | Mpc {
  if (isMpc(x)) return { real: naturalLog(x.real, bits) as Mpf, imaginary: zero };
  if (isNegative(x)) {
    const size: Mpf = x === "-inf" ? "inf" : { mantissa: -(x as Binary).mantissa, exponent: (x as Binary).exponent };
    return {
      real: naturalLog(size, bits) as Mpf,
      imaginary: rounded({ mantissa: piFixed(bits + 32), exponent: -bits - 32 }, bits),
    };
  }
  if (typeof x === "string") return x;
  if (x.mantissa === 0n) return "-inf";
  const { value, bits: point } = lnFixed(x, bits + 20);
  return rounded({ mantissa: value, exponent: -point }, bits);
}

function divideLogs(a: Mpf | Mpc, b: Mpf | Mpc, bits: number): Mpf | Mpc {
  if (!isMpc(a) && !isMpc(b)) return quotient(a, b, bits);
  if (!isMpc(b)) return { real: quotient((a as Mpc).real, b, bits), imaginary: quotient((a as Mpc).imaginary, b, bits) };
  const { real: c, imaginary: d } = b;
  const [p, q] = isMpc(a) ? [a.real, a.imaginary] : [a, zero];
  // (p + qi) / (c + di) = (pc + qd + (qc - pd)i) / (c² + d²)
  const size = sum(product(c, c), product(d, d), bits + 10);
  const real = sum(product(p, c), product(q, d), bits + 10);
  const imaginary = sum(product(q, c), minus(product(p, d)), bits + 10);
  return { real: quotient(real, size, bits), imaginary: quotient(imaginary, size, bits) };
}

function sign(x: Mpf): number {
  return isZero(x) ? 0 : isNegative(x) ? -1 : 1;
}

function quotient(a: Mpf, b: Mpf, bits: number): Mpf {
  if (isZero(b)) {
    if (a === "nan" || isZero(a)) throw new PyError("ZeroDivisionError", "");
    throw new PyError("ZeroDivisionError", "");
  }
  if (a === "nan" || b === "nan") return "nan";
  if (typeof a === "string") return typeof b === "string" ? "nan" : sign(a) * sign(b) > 0 ? "inf" : "-inf";
  if (typeof b === "string") return zero;
  const value = roundedQuotient(a.mantissa, b.mantissa, bits);
  return { mantissa: value.mantissa, exponent: value.exponent + a.exponent - b.exponent };
}

function product(a: Mpf, b: Mpf): Mpf {
  if (a === "nan" || b === "nan") return "nan";
  if (typeof a === "string" || typeof b === "string")
    return sign(a) * sign(b) === 0 ? "nan" : sign(a) * sign(b) > 0 ? "inf" : "-inf";
  return { mantissa: a.mantissa * b.mantissa, exponent: a.exponent + b.exponent };
}

function minus(x: Mpf): Mpf {
  if (typeof x === "object") return { mantissa: -x.mantissa, exponent: x.exponent };
  return x === "nan" ? x : x === "inf" ? "-inf" : "inf";
}

function sum(a: Mpf, b: Mpf, bits: number): Mpf {
  if (typeof a === "string" || typeof b === "string") {
    if (a === "nan" || b === "nan" || (typeof a === "string" && typeof b === "string" && a !== b)) return "nan";
    return typeof a === "string" ? a : b;
  }
  const exponent = Math.min(a.exponent, b.exponent);
  const mantissa = (a.mantissa << BigInt(a.exponent - exponent)) + (b.mantissa << BigInt(b.exponent - exponent));
  return rounded({ mantissa, exponent }, bits);
}

/** mpmath's `to_str`: this number of significant digits, zeros at the end stripped, at least one decimal. */
function mpfText(x: Mpf, digits: number): string {
  if (typeof x === "string") return x === "inf" ? "+inf" : x;
  if (x.mantissa === 0n) return "0.0";
  const negative = x.mantissa < 0n ? "-" : "";
  const size = negative === "" ? x.mantissa : -x.mantissa;
  let { text, exponent } = decimalDigits(size, x.exponent, digits);
  let split = 1;
  if (Math.min(-Math.floor(digits / 3), -5) < exponent && exponent < digits) {
    if (exponent < 0) text = "0".repeat(-exponent) + text;
    else split = exponent + 1;
    exponent = 0;
  }
  let out = `${text.slice(0, split)}.${text.slice(split)}`.replace(/0+$/, "");
  if (out.endsWith(".")) out += "0";
  return negative + out + (exponent === 0 ? "" : `e${exponent > 0 ? "+" : ""}${exponent}`);
}

/** The first `digits` digits of mantissa · 2^exponent, rounded half up, and the power of ten of the first one. */
function decimalDigits(mantissa: bigint, exponent: number, digits: number): { text: string; exponent: number } {
  let guess = Math.floor((bitLength(mantissa) + exponent - 1) * Math.LOG10E * Math.LN2);
  for (;;) {
    // mantissa · 2^exponent · 10^(digits - guess): one digit more than wanted
    const scale = digits - guess;
    const numerator = (mantissa << BigInt(Math.max(exponent, 0))) * 10n ** BigInt(Math.max(scale, 0));
    const denominator = (1n << BigInt(Math.max(-exponent, 0))) * 10n ** BigInt(Math.max(-scale, 0));
    const text = (numerator / denominator).toString();
    if (text.length < digits + 1) guess--;
    else if (text.length > digits + 1) guess++;
    else {
      const up = ((BigInt(text) + 5n) / 10n).toString();
      return up.length > digits ? { text: up.slice(0, digits), exponent: guess + 1 } : { text: up, exponent: guess };
    }
  }
}
