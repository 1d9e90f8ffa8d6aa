import { asciiDigits, strip } from "./characters.ts";
import { divideToEven, fixedText, intToFloat, quotientToFloat, roundFloat, roundToInt, truncate } from "./exact.ts";
import { powFloat, sinCos } from "./fixed-point.ts";
import { needed } from "./functions.ts";
import { Complex } from "./objects.ts";
import { iterate } from "./operators.ts";
import { intText, repr, reprText, str } from "./text.ts";
import { isInt, isNumber, PyError, PySet, Tuple, typeError, typeName, type Value, valueError } from "./values.ts";

type Number_ = boolean | bigint | number;

/** An int or float, bools as ints. */
function plain(value: Number_): bigint | number {
  return typeof value === "boolean" ? BigInt(value) : value;
}

function float(value: bigint | number): number {
  return typeof value === "bigint" ? intToFloat(value) : value;
}

function unsupported(operator: string, a: Value, b: Value): PyError {
  return typeError(`unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`);
}

/** Applies one of two functions to two numbers: ints stay ints. */
function numeric(a: Number_, b: Number_, ints: (a: bigint, b: bigint) => Value, floats: (a: number, b: number) => Value): Value {
  const left = plain(a);
  const right = plain(b);
  return typeof left === "bigint" && typeof right === "bigint" ? ints(left, right) : floats(float(left), float(right));
}

function complexOf(value: Value): Complex | undefined {
  if (value instanceof Complex) return value;
  return isNumber(value) ? new Complex(float(plain(value)), 0) : undefined;
}

/** Both operands as complex numbers, if one of them is complex and the other a number. */
function complexPair(a: Value, b: Value): readonly [Complex, Complex] | undefined {
  if (!(a instanceof Complex || b instanceof Complex)) return undefined;
  const left = complexOf(a);
  const right = complexOf(b);
  return left === undefined || right === undefined ? undefined : [left, right];
}

/** Python's `a + b`. @param operator the sign that error sentences show, "+=" for assignments */
export function add(a: Value, b: Value, operator = "+"): Value {
  if (isNumber(a) && isNumber(b))
    return numeric(
      a,
      b,
      (x, y) => x + y,
      (x, y) => x + y,
    );
  if (typeof a === "string") {
    if (typeof b === "string") return a + b;
    throw typeError(`can only concatenate str (not "${typeName(b)}") to str`);
  }
  if (Array.isArray(a)) {
    if (operator === "+=") {
      a.push(...iterate(b));
      return a;
    }
    if (Array.isArray(b)) return [...a, ...b];
    throw typeError(`can only concatenate list (not "${typeName(b)}") to list`);
  }
  if (a instanceof Tuple) {
    if (b instanceof Tuple) return new Tuple([...a.items, ...b.items]);
    throw typeError(`can only concatenate tuple (not "${typeName(b)}") to tuple`);
  }
  const pair = complexPair(a, b);
  if (pair !== undefined) return new Complex(pair[0].real + pair[1].real, pair[0].imaginary + pair[1].imaginary);
  throw unsupported(operator, a, b);
}

export function subtract(a: Value, b: Value, operator = "-"): Value {
  if (isNumber(a) && isNumber(b))
    return numeric(
      a,
      b,
      (x, y) => x - y,
      (x, y) => x - y,
    );
  if (a instanceof PySet && b instanceof PySet) return new PySet(a.items().filter((item) => !b.has(item)));
  const pair = complexPair(a, b);
  if (pair !== undefined) return new Complex(pair[0].real - pair[1].real, pair[0].imaginary - pair[1].imaginary);
  throw unsupported(operator, a, b);
}

export function multiply(a: Value, b: Value): Value {
  if (isNumber(a) && isNumber(b))
    return numeric(
      a,
      b,
      (x, y) => x * y,
      (x, y) => x * y,
    );
  if (isSequence(a)) return repeat(a, b);
  if (isSequence(b)) return repeat(b, a);
  const pair = complexPair(a, b);
  if (pair !== undefined) {
    const [x, y] = pair;
    return new Complex(x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real);
  }
  throw unsupported("*", a, b);
}

function isSequence(value: Value): value is string | Value[] | Tuple {
  return typeof value === "string" || Array.isArray(value) || value instanceof Tuple;
}

/** Most items of a repeated sequence. Python has no such limit but that of its memory. */
const longest = 10_000_000;

function repeat(sequence: string | Value[] | Tuple, times: Value): Value {
  if (!isInt(times)) throw typeError(`can't multiply sequence by non-int of type '${typeName(times)}'`);
  if (BigInt(times) > 0x7fffffffffffffffn) throw new PyError("OverflowError", "cannot fit 'int' into an index-sized integer");
  const items = typeof sequence === "string" ? sequence : sequence instanceof Tuple ? sequence.items : sequence;
  const count = Math.max(0, Number(times));
  if (items.length * count > longest) throw new PyError("MemoryError", "");
  if (typeof items === "string") return items.repeat(count);
  const repeated = Array.from({ length: count }, () => items).flat();
  return sequence instanceof Tuple ? new Tuple(repeated) : repeated;
}

export function divide(a: Value, b: Value): Value {
  if (isNumber(a) && isNumber(b)) return numeric(a, b, divideInts, divideFloats);
  const pair = complexPair(a, b);
  if (pair !== undefined) return divideComplex(...pair);
  throw unsupported("/", a, b);
}

function divideInts(a: bigint, b: bigint): number {
  if (b === 0n) throw new PyError("ZeroDivisionError", "division by zero");
  const quotient = quotientToFloat(a, b);
  if (!Number.isFinite(quotient)) throw new PyError("OverflowError", "integer division result too large for a float");
  return quotient;
}

function divideFloats(a: number, b: number): number {
  if (b === 0) throw new PyError("ZeroDivisionError", "float division by zero");
  return a / b;
}

/** Smith's method, as CPython's `_Py_c_quot`. */
function divideComplex(a: Complex, b: Complex): Complex {
  if (b.real === 0 && b.imaginary === 0) throw new PyError("ZeroDivisionError", "complex division by zero");
  if (Math.abs(b.real) >= Math.abs(b.imaginary)) {
    const ratio = b.imaginary / b.real;
    const denominator = b.real + b.imaginary * ratio;
    return new Complex((a.real + a.imaginary * ratio) / denominator, (a.imaginary - a.real * ratio) / denominator);
  }
  const ratio = b.real / b.imaginary;
  const denominator = b.real * ratio + b.imaginary;
  return new Complex((a.real * ratio + a.imaginary) / denominator, (a.imaginary * ratio - a.real) / denominator);
}

export function floorDivide(a: Value, b: Value): Value {
  if (!isNumber(a) || !isNumber(b)) throw unsupported("//", a, b);
  return numeric(
    a,
    b,
    (x, y) => {
      if (y === 0n) throw new PyError("ZeroDivisionError", "integer division or modulo by zero");
      return (x - floorModulo(x, y)) / y;
    },
    (x, y) => {
      if (y === 0) throw new PyError("ZeroDivisionError", "float floor division by zero");
      const quotient = (x - floatModulo(x, y)) / y;
      if (quotient === 0) return x / y < 0 || Object.is(x / y, -0) ? -0 : 0;
      const floor = Math.floor(quotient);
      return quotient - floor > 0.5 ? floor + 1 : floor;
    },
  );
}

function floorModulo(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

function floatModulo(a: number, b: number): number {
  const rest = a % b;
  if (rest === 0) return b < 0 ? -0 : 0;
  return rest < 0 !== b < 0 ? rest + b : rest;
}

export function modulo(a: Value, b: Value): Value {
  if (typeof a === "string") return formatPercent(a, b);
  if (!isNumber(a) || !isNumber(b)) throw unsupported("%", a, b);
  return numeric(
    a,
    b,
    (x, y) => {
      if (y === 0n) throw new PyError("ZeroDivisionError", "integer modulo by zero");
      return floorModulo(x, y);
    },
    (x, y) => {
      if (y === 0) throw new PyError("ZeroDivisionError", "float modulo");
      return floatModulo(x, y);
    },
  );
}

/** Python's `template % values`, with %s, %r, %d, %i, %f and %%. */
function formatPercent(template: string, values: Value): string {
  const list = values instanceof Tuple ? values.items : [values];
  let used = 0;
  const text = template.replace(/%(?:\.(\d+))?([srdif%])/g, (_, digits: string | undefined, kind: string) => {
    if (kind === "%") return "%";
    const value = needed(list[used++], "not enough arguments for format string");
    if (kind === "s") return str(value);
    if (kind === "r") return repr(value);
    if (kind === "f") {
      if (!isNumber(value)) throw typeError(`must be real number, not ${typeName(value)}`);
      return formatFixed(value, Number(digits ?? 6));
    }
    if (!isNumber(value)) throw typeError(`%${kind} format: a real number is required, not ${typeName(value)}`);
    return intText(toInt(value));
  });
  if (used < list.length && typeName(values) !== "dict") throw typeError("not all arguments converted during string formatting");
  return text;
}

/** Python's `a ** b`. */
export function power(a: Value, b: Value): Value {
  if (isNumber(a) && isNumber(b))
    return numeric(a, b, (x, y) => (y >= 0n ? intPower(x, y) : floatPower(intToFloat(x), intToFloat(y))), floatPower);
  const pair = complexPair(a, b);
  if (pair !== undefined) return complexPower(...pair);
  throw unsupported("** or pow()", a, b);
}

/** Bits of the largest power that is computed; CPython would not print it, having computed for very long. */
const mostBits = 1 << 24;

function intPower(base: bigint, exponent: bigint): bigint {
  const size = (base < 0n ? -base : base).toString(2).length;
  if (size > 1 && BigInt(size - 1) * exponent > BigInt(mostBits)) intText(10n ** 4301n);
  return base ** exponent;
}

const rangeError = "(34, 'Numerical result out of range')";

function floatPower(a: number, b: number): Value {
  if (b === 0) return 1;
  if (Number.isNaN(a) || Number.isNaN(b)) return a === 1 ? 1 : Number.NaN;
  const odd = Number.isInteger(b) && Math.abs(b % 2) === 1;
  if (!Number.isFinite(b)) {
    const size = Math.abs(a);
    return size === 1 ? 1 : b > 0 === size > 1 ? Number.POSITIVE_INFINITY : 0;
  }
  if (!Number.isFinite(a)) {
    if (b > 0) return odd ? a : Math.abs(a);
    return odd ? Math.sign(a) * 0 : 0;
  }
  if (a === 0) {
    if (b < 0) throw new PyError("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return odd ? a : 0;
  }
  if (a < 0 && !Number.isInteger(b)) return complexPower(new Complex(a, 0), new Complex(b, 0));
  const size = Math.abs(a) === 1 ? 1 : powFloat(Math.abs(a), b);
  if (!Number.isFinite(size)) throw new PyError("OverflowError", rangeError);
  return a < 0 && odd ? -size : size;
}

/** CPython's `_Py_c_pow`, in polar form, and by repeated squaring for small whole exponents. */
function complexPower(a: Complex, b: Complex): Complex {
  if (b.real === 0 && b.imaginary === 0) return new Complex(1, 0);
  if (a.real === 0 && a.imaginary === 0) {
    if (b.imaginary !== 0 || b.real < 0) throw new PyError("ZeroDivisionError", "0.0 to a negative or complex power");
    return new Complex(0, 0);
  }
  if (b.imaginary === 0 && Number.isInteger(b.real) && Math.abs(b.real) <= 100) return wholePower(a, b.real);
  const size = a.imaginary === 0 ? Math.abs(a.real) : Math.hypot(a.real, a.imaginary);
  const angle = Math.atan2(a.imaginary, a.real);
  let length = powFloat(size, b.real);
  let phase = angle * b.real;
  if (b.imaginary !== 0) {
    length *= Math.exp(-angle * b.imaginary);
    phase += b.imaginary * Math.log(size);
  }
  const { sin, cos } = sinCos(phase);
  const result = new Complex(length * cos, length * sin);
  if (!Number.isFinite(result.real) || !Number.isFinite(result.imaginary))
    throw new PyError("OverflowError", "complex exponentiation");
  return result;
}

function wholePower(a: Complex, n: number): Complex {
  let result = new Complex(1, 0);
  let square = a;
  const times = (x: Complex, y: Complex) =>
    new Complex(x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real);
  for (let mask = 1; mask <= Math.abs(n); mask *= 2) {
    if (Math.abs(n) & mask) result = times(result, square);
    square = times(square, square);
  }
  return n < 0 ? divideComplex(new Complex(1, 0), result) : result;
}

/** Python's `-value`. */
export function negate(value: Value): Value {
  if (isNumber(value)) return -plain(value);
  if (value instanceof Complex) return new Complex(-value.real, -value.imaginary);
  throw typeError(`bad operand type for unary -: '${typeName(value)}'`);
}

/** Python's `abs(value)`. */
export function absolute(value: Value): Value {
  if (value instanceof Complex) return Math.hypot(value.real, value.imaginary);
  if (!isNumber(value)) throw typeError(`bad operand type for abs(): '${typeName(value)}'`);
  const number = plain(value);
  return typeof number === "bigint" ? (number < 0n ? -number : number) : Math.abs(number);
}

const floatLiteral = /^[-+]?(?:(?:\d+(?:_\d+)*)?\.\d+(?:_\d+)*|\d+(?:_\d+)*\.?)(?:[eE][-+]?\d+(?:_\d+)*)?$/;
const namedFloat = /^([-+]?)(inf|infinity|nan)$/i;

/** Python's `float(value)`. */
export function toFloat(value: Value): number {
  if (isNumber(value)) return float(plain(value));
  if (typeof value !== "string") throw typeError(`float() argument must be a string or a real number, not '${typeName(value)}'`);
  const text = asciiDigits(strip(value, null, "both"));
  if (floatLiteral.test(text)) return Number(text.replaceAll("_", ""));
  const [, sign, name] = namedFloat.exec(text) ?? [];
  if (name === undefined) throw valueError(`could not convert string to float: ${reprText(value)}`);
  const size = name.toLowerCase() === "nan" ? Number.NaN : Number.POSITIVE_INFINITY;
  return sign === "-" ? -size : size;
}

/** Python's `int(value)`. */
export function toInt(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "boolean") return BigInt(value);
  if (typeof value === "number") return truncate(value);
  if (typeof value !== "string")
    throw typeError(`int() argument must be a string, a bytes-like object or a real number, not '${typeName(value)}'`);
  const text = asciiDigits(strip(value, null, "both"));
  if (!/^[-+]?\d+(_\d+)*$/.test(text)) throw valueError(`invalid literal for int() with base 10: ${reprText(value)}`);
  const digits = text.replaceAll("_", "").replace(/^\+/, "");
  if (digits.replace("-", "").length > 4300)
    throw valueError(
      `Exceeds the limit (4300 digits) for integer string conversion: value has ${digits.replace("-", "").length} digits; use sys.set_int_max_str_digits() to increase the limit`,
    );
  return digits.startsWith("-") ? -BigInt(digits.slice(1)) : BigInt(digits);
}

/** Python's `round(value, digits)`, with None or no digits to an int. */
export function round(value: Value, digits: Value = null): Value {
  if (!isNumber(value)) throw typeError(`type ${typeName(value)} doesn't define __round__ method`);
  const number = plain(value);
  if (digits === null) return typeof number === "bigint" ? number : roundToInt(number);
  if (!isInt(digits)) throw typeError(`'${typeName(digits)}' object cannot be interpreted as an integer`);
  const places = BigInt(digits);
  if (typeof number === "number")
    return roundFloat(number, Number(places < -10000n ? -10000n : places > 10000n ? 10000n : places));
  if (places >= 0n) return number;
  if (-places > BigInt(mostBits)) return 0n;
  const unit = 10n ** -places;
  return divideToEven(number, unit) * unit;
}

/** Python's `f"{value:.2f}"` with any number of decimals. */
export function formatFixed(value: Value, decimals: number): string {
  if (isNumber(value)) {
    const x = float(plain(value));
    if (Number.isNaN(x)) return "nan";
    return Number.isFinite(x) ? fixedText(x, decimals) : x > 0 ? "inf" : "-inf";
  }
  if (typeof value === "string") throw valueError("Unknown format code 'f' for object of type 'str'");
  throw typeError(`unsupported format string passed to ${typeName(value)}.__format__`);
}

/** Python's `sum(items)`: from left to right, without compensation (as before CPython 3.12). */
export function sum(items: readonly Value[], start: Value = 0n): Value {
  return items.reduce((total, item) => add(total, item), start);
}
