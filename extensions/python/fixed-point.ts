import { type Binary, binaryOf, bitLength, quotientToFloat } from "./exact.ts";

/**
 * Elementary functions in fixed-point arithmetic on bigints, to any number of bits. A fixed-point number n with p bits is n / 2^p.
 * They give correctly rounded results where JavaScript's `Math` leaves the last digit open.
 */

/** Σ x^(2i+1)/(2i+1), with alternating signs if asked: atanh(x), or atan(x). */
function oddPowers(x: bigint, bits: bigint, alternating: boolean): bigint {
  const square = (x * x) >> bits;
  let power = x;
  let sum = x;
  for (let i = 3n; ; i += 2n) {
    power = (power * square) >> bits;
    const term = power / i;
    if (term === 0n || term === -1n) return sum;
    sum += alternating && i % 4n === 3n ? -term : term;
  }
}

const constants = new Map<string, bigint>();

function constant(name: string, bits: number, compute: (bits: bigint) => bigint): bigint {
  const key = `${name} ${bits}`;
  let value = constants.get(key);
  if (value === undefined) {
    value = compute(BigInt(bits) + 16n) >> 16n;
    constants.set(key, value);
  }
  return value;
}

/** log 2 = 2·atanh(1/3). */
function ln2(bits: number): bigint {
  return constant("ln2", bits, (p) => 2n * oddPowers((1n << p) / 3n, p, false));
}

/** π by Machin's formula: 16·atan(1/5) - 4·atan(1/239). */
export function piFixed(bits: number): bigint {
  return constant("pi", bits, (p) => 16n * oddPowers((1n << p) / 5n, p, true) - 4n * oddPowers((1n << p) / 239n, p, true));
}

/**
 * The natural logarithm of a positive binary number, with at least `bits` significant bits.
 * @returns a fixed-point number and its bits
 */
export function lnFixed({ mantissa, exponent }: Binary, bits: number): { value: bigint; bits: number } {
  const length = bitLength(mantissa);
  // x = y · 2^k with y in [3/4, 3/2): near 1 the logarithm is small, and its leading zeros cost bits.
  const over = mantissa * 4n >= 3n << BigInt(length);
  const k = exponent + length - (over ? 0 : 1);
  const one = 1n << BigInt(length - (over ? 0 : 1));
  const distance = mantissa - one;
  if (distance === 0n && k === 0) return { value: 0n, bits };
  const lost = k === 0 ? length - bitLength(distance) : 0;
  const p = bits + lost + 32;
  // y = mantissa / one, log y = 2·atanh((y-1)/(y+1))
  const series = distance === 0n ? 0n : 2n * oddPowers((distance << BigInt(p)) / (mantissa + one), BigInt(p), false);
  return { value: series + BigInt(k) * ln2(p), bits: p };
}

/** e^x for a fixed-point x. @returns value · 2^shift with `bits` bits after the point */
function expFixed(x: bigint, bits: number): { value: bigint; shift: number } {
  const p = BigInt(bits);
  const half = ln2(bits);
  let shift = x / half;
  let rest = x - shift * half;
  if (rest < 0n) {
    rest += half;
    shift -= 1n;
  }
  // e^r = (e^(r/256))^256
  const small = rest >> 8n;
  let term = 1n << p;
  let sum = term;
  for (let i = 1n; term > 0n; i++) {
    term = ((term * small) >> p) / i;
    sum += term;
  }
  for (let i = 0; i < 8; i++) sum = (sum * sum) >> p;
  return { value: sum, shift: Number(shift) };
}

/** x^y for finite x > 0 and y, correctly rounded. Infinite or 0 if out of range. */
export function powFloat(x: number, y: number): number {
  if (y === 2) return x * x;
  const base = binaryOf(x);
  if (Number.isInteger(y) && Math.abs(y) <= 64) return integerPower(base, y);
  const logarithm = lnFixed(base, 160);
  const power = binaryOf(y);
  // y·log x as a fixed-point number
  const product = logarithm.value * power.mantissa;
  const bits = 140;
  const shift = logarithm.bits - power.exponent - bits;
  const scaled = shift >= 0 ? product >> BigInt(shift) : product << BigInt(-shift);
  const limit = BigInt(800) << BigInt(bits);
  if (scaled > limit) return Number.POSITIVE_INFINITY;
  if (scaled < -limit) return 0;
  const { value, shift: exponent } = expFixed(scaled, bits);
  return toFloat(value, exponent - bits);
}

function integerPower({ mantissa, exponent }: Binary, n: number): number {
  const power = mantissa ** BigInt(Math.abs(n));
  const scale = exponent * Math.abs(n);
  return n >= 0 ? toFloat(power, scale) : quotient(1n, power, -scale);
}

function toFloat(mantissa: bigint, exponent: number): number {
  return quotient(mantissa, 1n, exponent);
}

/** The float nearest to numerator / denominator · 2^exponent. */
function quotient(numerator: bigint, denominator: bigint, exponent: number): number {
  const magnitude = bitLength(numerator) - bitLength(denominator) + exponent;
  if (magnitude > 1030) return Number.POSITIVE_INFINITY;
  if (magnitude < -1090) return 0;
  return exponent >= 0
    ? quotientToFloat(numerator << BigInt(exponent), denominator)
    : quotientToFloat(numerator, denominator << BigInt(-exponent));
}

/** sin x and cos x for a finite x, correctly rounded. */
export function sinCos(x: number): { sin: number; cos: number } {
  const { mantissa, exponent } = binaryOf(x);
  if (mantissa === 0n) return { sin: x, cos: 1 };
  const bits = 200 + Math.max(exponent + 53, 0) + 64;
  const p = BigInt(bits);
  const value = exponent + bits >= 0 ? mantissa << BigInt(exponent + bits) : mantissa >> BigInt(-exponent - bits);
  const turn = 2n * piFixed(bits);
  const angle = value - (value / turn) * turn;
  let term = 1n << p;
  let cos = term;
  let sin = 0n;
  for (let i = 1n; term !== 0n && term !== -1n; i++) {
    term = ((term * angle) >> p) / i;
    const sign = i % 4n < 2n ? 1n : -1n;
    if (i % 2n === 1n) sin += sign * term;
    else cos += i % 4n === 2n ? -term : term;
  }
  return { sin: toFloat(sin, -bits), cos: toFloat(cos, -bits) };
}
