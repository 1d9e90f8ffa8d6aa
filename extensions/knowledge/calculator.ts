/**
 * A calculator for one expression in Python's syntax: numbers, + - * / // %, parentheses, around all of it `print(…)` if one likes.
 * It prints what Python prints: whole numbers have no limit, `/` gives a fraction, `//` and `%` round down.
 * @returns the number, or an error in words, as a Python interpreter writes its last line
 */
export function evaluate(code: string): string {
  const expression = /^\s*print\s*\((.*)\)\s*$/s.exec(code)?.[1] ?? code;
  try {
    return printed(new Parser(expression).parse());
  } catch (error) {
    if (error instanceof CalculationError) return error.message;
    throw error;
  }
}

class CalculationError extends Error {}

/** As in Python, a number is whole or a fraction for good: 4 / 2 is 2.0. */
type Numeric = bigint | number;

const longest = 1000;
const deepest = 100;

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;
  #depth = 0;

  /** @throws CalculationError at what is no part of an expression */
  constructor(text: string) {
    if (text.length > longest) throw new CalculationError(`SyntaxError: an expression has at most ${longest} characters`);
    const pattern = /\s*(?:((?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\/\/|\*(?!\*)|[-+/%()])|(\*\*|\S))/gy;
    this.#tokens = [...text.matchAll(pattern)].map(([, token, unknown]) => {
      if (unknown !== undefined)
        throw new CalculationError(
          `SyntaxError: cannot calculate ${JSON.stringify(unknown)}: write numbers, + - * / // % and ( )`,
        );
      return token;
    });
  }

  parse(): Numeric {
    if (this.#tokens.length === 0) throw new CalculationError("SyntaxError: there is nothing to calculate");
    const value = this.#sum();
    if (this.#at < this.#tokens.length) throw this.#unexpected();
    return value;
  }

  #sum(): Numeric {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value = add(value, this.#product());
      else if (this.#take("-")) value = add(value, negated(this.#product()));
      else return value;
    }
  }

  #product(): Numeric {
    let value = this.#factor();
    for (;;) {
      if (this.#take("*")) value = multiply(value, this.#factor());
      else if (this.#take("/")) value = divide(value, this.#factor());
      else if (this.#take("//")) value = divideDown(value, this.#factor());
      else if (this.#take("%")) value = remainder(value, this.#factor());
      else return value;
    }
  }

  #factor(): Numeric {
    if (++this.#depth > deepest) throw new CalculationError("SyntaxError: too many nested parentheses");
    const value = this.#take("-") ? negated(this.#factor()) : this.#take("+") ? this.#factor() : this.#atom();
    this.#depth--;
    return value;
  }

  #atom(): Numeric {
    if (this.#take("(")) {
      const value = this.#sum();
      if (!this.#take(")")) throw this.#unexpected();
      return value;
    }
    const token = this.#tokens[this.#at];
    if (token === undefined || !/[\d.]/.test(token[0])) throw this.#unexpected();
    this.#at++;
    return numberOf(token);
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at++;
    return true;
  }

  #unexpected(): CalculationError {
    const token = this.#tokens[this.#at];
    return new CalculationError(
      token === undefined ? "SyntaxError: the expression is not complete" : `SyntaxError: unexpected ${token}`,
    );
  }
}

function numberOf(token: string): Numeric {
  if (/_(?!\d)/.test(token)) throw new CalculationError("SyntaxError: invalid decimal literal");
  const digits = token.replaceAll("_", "");
  if (!/^\d+$/.test(digits)) return Number(digits);
  if (/^0+[1-9]/.test(digits)) throw new CalculationError("SyntaxError: a whole number has no leading zeros");
  return BigInt(digits);
}

function negated(a: Numeric): Numeric {
  return -a;
}

function add(a: Numeric, b: Numeric): Numeric {
  return typeof a === "bigint" && typeof b === "bigint" ? a + b : fraction(a) + fraction(b);
}

function multiply(a: Numeric, b: Numeric): Numeric {
  return typeof a === "bigint" && typeof b === "bigint" ? a * b : fraction(a) * fraction(b);
}

function divide(a: Numeric, b: Numeric): number {
  requireDivisor(b);
  const isExact = (n: Numeric) => typeof n === "number" || (n >= -(2n ** 53n) && n <= 2n ** 53n);
  // Python rounds the exact quotient; two numbers that are rounded before do not give it.
  if (typeof a === "bigint" && typeof b === "bigint" && !(isExact(a) && isExact(b)))
    throw new CalculationError("OverflowError: numbers above 2 to the 53 cannot be divided by /: use //");
  return fraction(a) / fraction(b);
}

function divideDown(a: Numeric, b: Numeric): Numeric {
  requireDivisor(b);
  if (typeof a === "bigint" && typeof b === "bigint") return (a - modulo(a, b)) / b;
  const [x, y] = [fraction(a), fraction(b)];
  // As CPython's float_floor_div: from the remainder, so that both agree.
  const quotient = (x - floatModulo(x, y)) / y;
  if (quotient === 0) return x / y < 0 || Object.is(x / y, -0) ? -0 : 0;
  const down = Math.floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

function remainder(a: Numeric, b: Numeric): Numeric {
  requireDivisor(b);
  return typeof a === "bigint" && typeof b === "bigint" ? modulo(a, b) : floatModulo(fraction(a), fraction(b));
}

/** With the sign of the divisor. */
function modulo(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}

function floatModulo(x: number, y: number): number {
  const rest = x % y;
  if (rest === 0) return y < 0 ? -0 : 0;
  return rest < 0 !== y < 0 ? rest + y : rest;
}

function requireDivisor(b: Numeric): void {
  // biome-ignore lint/suspicious/noDoubleEquals: 0n is 0
  if (b == 0) throw new CalculationError("ZeroDivisionError: division by zero");
}

/** @throws CalculationError for a whole number that no fraction is as great as */
function fraction(a: Numeric): number {
  const value = Number(a);
  if (typeof a === "bigint" && !Number.isFinite(value))
    throw new CalculationError("OverflowError: int too large to convert to float");
  return value;
}

/** As Python's `repr`, whose exponents begin at 1e16 and 1e-5 and have two digits at least. */
function printed(value: Numeric): string {
  if (typeof value === "bigint") return String(value);
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e16 || size < 1e-4)) {
    const [digits, exponent] = value.toExponential().split("e");
    const [sign, number] = [exponent[0], exponent.slice(1)];
    return `${digits}e${sign}${number.padStart(2, "0")}`;
  }
  const text = Object.is(value, -0) ? "-0" : String(value);
  return text.includes(".") ? text : `${text}.0`;
}
