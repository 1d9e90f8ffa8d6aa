import { pythonFloat } from "./python-float.ts";

const longest = 1000;
const token = /\s*(?:((?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\/\/|\*(?!\*)|[-+/%()])|(\*\*|\S))/gy;

class CalculationError extends Error {
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

const syntaxError = (message: string) => new CalculationError("SyntaxError", message);

/**
 * A calculator for one expression in Python's syntax: numbers, + - * / // %, parentheses, around all of it `print(…)` if one likes.
 * It prints what Python prints: whole numbers have no limit, `/` gives a fraction, `//` and `%` round down.
 * @returns the number, or an error in words, as a Python interpreter writes its last line
 */
export function evaluate(code: string): string {
  const expression = (/^\s*print\s*\((.*)\)\s*$/s.exec(code)?.[1] ?? code).trim().replace(/\s+/g, " ");
  try {
    const value = new Calculation(tokensOf(expression)).result();
    return typeof value === "bigint" ? String(value) : pythonFloat(value);
  } catch (error) {
    if (!(error instanceof CalculationError)) throw error;
    return `${error.kind}: ${error.message}`;
  }
}

function tokensOf(expression: string): string[] {
  if (expression.length > longest) throw syntaxError(`an expression has at most ${longest} characters`);
  if (expression === "") throw syntaxError("there is nothing to calculate");
  return [...expression.matchAll(token)].map(([, known = "", unknown]) => {
    if (unknown !== undefined)
      throw syntaxError(`cannot calculate ${JSON.stringify(unknown)}: write numbers, + - * / // % and ( )`);
    return known;
  });
}

/** Recursive descent over `sum = product ((+|-) product)*`, `product = signed ((*|/|//|%) signed)*`, `signed = (+|-)* atom`. */
class Calculation {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  result(): bigint | number {
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw syntaxError(this.#next() === ")" ? "unmatched ')'" : "invalid syntax");
    return value;
  }

  #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #sum(): bigint | number {
    return this.#chain(["+", "-"], () => this.#chain(["*", "/", "//", "%"], () => this.#signed()));
  }

  #chain(operators: readonly string[], operand: () => bigint | number): bigint | number {
    let value = operand();
    for (let next = this.#next(); next !== undefined && operators.includes(next); next = this.#next()) {
      this.#at++;
      value = apply(next, value, operand());
    }
    return value;
  }

  #signed(): bigint | number {
    let negative = false;
    for (; this.#next() === "-" || this.#next() === "+"; this.#at++) if (this.#next() === "-") negative = !negative;
    const value = this.#atom();
    return negative ? -value : value;
  }

  #atom(): bigint | number {
    const next = this.#next();
    this.#at++;
    if (next === undefined) throw syntaxError("the expression is not complete");
    if (next === "(") {
      // Empty parentheses are a tuple in Python.
      if (this.#next() === ")") throw new CalculationError("TypeError", "() is no number");
      const value = this.#sum();
      if (this.#next() === undefined) throw syntaxError("the expression is not complete");
      if (this.#next() !== ")") throw syntaxError("invalid syntax");
      this.#at++;
      return value;
    }
    if (!/[\d.]/.test(next)) throw syntaxError(next === ")" ? "unmatched ')'" : "invalid syntax");
    return numberOf(next);
  }
}

function numberOf(text: string): bigint | number {
  if (/__|_(?!\d)/.test(text)) throw syntaxError("invalid decimal literal");
  const digits = text.replaceAll("_", "");
  if (/[.eE]/.test(digits)) return Number(digits);
  if (/^0+[1-9]/.test(digits))
    throw syntaxError("leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers");
  return BigInt(digits);
}

function apply(operator: string, a: bigint | number, b: bigint | number): bigint | number {
  if (typeof a === "bigint" && typeof b === "bigint") {
    if (operator === "+") return a + b;
    if (operator === "-") return a - b;
    if (operator === "*") return a * b;
    if (b === 0n) throw divisionByZero(operator === "/" ? "division by zero" : "integer division or modulo by zero");
    if (operator === "/") return quotient(a, b);
    const rest = a % b;
    const down = rest !== 0n && rest < 0n !== b < 0n;
    return operator === "//" ? a / b - (down ? 1n : 0n) : down ? rest + b : rest;
  }
  const [x, y] = [float(a), float(b)];
  if (operator === "+") return x + y;
  if (operator === "-") return x - y;
  if (operator === "*") return x * y;
  if (y === 0)
    throw divisionByZero(
      operator === "/" ? "float division by zero" : operator === "//" ? "float floor division by zero" : "float modulo",
    );
  return operator === "/" ? x / y : floored(x, y)[operator === "//" ? 0 : 1];
}

const divisionByZero = (message: string) => new CalculationError("ZeroDivisionError", message);

function float(value: bigint | number): number {
  const number = Number(value);
  if (typeof value === "bigint" && !Number.isFinite(number))
    throw new CalculationError("OverflowError", "int too large to convert to float");
  return number;
}

/** The quotient of whole numbers, rounded once: 64 bits of it, the last of which says whether anything is left. */
function quotient(a: bigint, b: bigint): number {
  const [x, y] = [Number(a), Number(b)];
  if (Number.isSafeInteger(x) && Number.isSafeInteger(y)) return x / y;
  const [top, bottom] = [a < 0n ? -a : a, b < 0n ? -b : b];
  const shift = 64 - (top.toString(2).length - bottom.toString(2).length);
  const scaled = shift > 0 ? top << BigInt(shift) : top;
  const divisor = shift < 0 ? bottom << BigInt(-shift) : bottom;
  const whole = (scaled / divisor) | (scaled % divisor === 0n ? 0n : 1n);
  const half = Math.trunc(shift / 2); // 2^shift alone may be no float
  const value = Number(whole) / 2 ** half / 2 ** (shift - half);
  if (!Number.isFinite(value)) throw new CalculationError("OverflowError", "integer division result too large for a float");
  return a < 0n !== b < 0n ? -value : value;
}

/** `x // y` and `x % y` as CPython's float_divmod. */
function floored(x: number, y: number): readonly [number, number] {
  let rest = x % y;
  let whole = (x - rest) / y;
  if (rest !== 0 && rest < 0 !== y < 0) [rest, whole] = [rest + y, whole - 1];
  else if (rest === 0) rest = y < 0 ? -0 : 0;
  if (whole === 0) return [x < 0 !== y < 0 ? -0 : 0, rest];
  const down = Math.floor(whole);
  return [whole - down > 0.5 ? down + 1 : down, rest];
}
