type Value = bigint | number;

class CalculationError extends Error {}

const longest = 1000;
const token = /\s*(\d+\.?\d*|\.\d+|\/\/|\*(?!\*)|[-+/%()]|(\*\*|\S))/gy;
const levels = [
  ["+", "-"],
  ["*", "/", "//", "%"],
] as const;
const incomplete = () => new CalculationError("SyntaxError: the expression is not complete");

/**
 * A calculator for one expression in Python's syntax: numbers, + - * / // %, parentheses, around all of it `print(…)` if one likes.
 * It prints what Python prints below 1e16: whole numbers have no limit, `/` gives a fraction, `//` and `%` round down.
 * @returns the number, or an error in words, as a Python interpreter writes its last line
 */
export function evaluate(code: string): string {
  const expression = (/^\s*print\s*\((.*)\)\s*$/s.exec(code)?.[1] ?? code).trim().replace(/\s+/g, " ");
  try {
    const tokens = tokensOf(expression).reverse();
    const value = chain(tokens, 0);
    const [next] = tokens.slice(-1);
    if (next !== undefined) throw new CalculationError(`SyntaxError: ${next === ")" ? "unmatched ')'" : "invalid syntax"}`);
    return Number.isInteger(value) && Math.abs(Number(value)) < 1e16 ? Number(value).toFixed(1) : String(value);
  } catch (error) {
    if (!(error instanceof CalculationError)) throw error;
    return error.message;
  }
}

function tokensOf(expression: string): string[] {
  if (expression.length > longest) throw new CalculationError(`SyntaxError: an expression has at most ${longest} characters`);
  if (expression === "") throw new CalculationError("SyntaxError: there is nothing to calculate");
  return [...expression.matchAll(token)].map(([, known = "", unknown]) => {
    if (unknown === undefined) return known;
    const what = JSON.stringify(unknown);
    throw new CalculationError(`SyntaxError: cannot calculate ${what}: write numbers, + - * / // % and ( )`);
  });
}

/** Recursive descent, sums above products above signed numbers. @param tokens the next one last */
function chain(tokens: string[], level: number): Value {
  const operators: readonly string[] | undefined = levels[level];
  if (operators === undefined) return signed(tokens);
  let value = chain(tokens, level + 1);
  for (let next = tokens.at(-1); next !== undefined && operators.includes(next); next = tokens.at(-1)) {
    tokens.pop();
    value = apply(next, value, chain(tokens, level + 1));
  }
  return value;
}

function signed(tokens: string[]): Value {
  const next = tokens.pop();
  if (next === undefined) throw incomplete();
  if (next === "-") return -signed(tokens);
  if (next === "+") return signed(tokens);
  if (next === "(") {
    const value = chain(tokens, 0);
    const closing = tokens.pop();
    if (closing === undefined) throw incomplete();
    if (closing !== ")") throw new CalculationError("SyntaxError: invalid syntax");
    return value;
  }
  if (!/\d/.test(next)) throw new CalculationError(`SyntaxError: ${next === ")" ? "unmatched ')'" : "invalid syntax"}`);
  return next.includes(".") ? Number(next) : BigInt(next);
}

function apply(operator: string, a: Value, b: Value): Value {
  if (operator !== "+" && operator !== "-" && operator !== "*" && Number(b) === 0)
    throw new CalculationError("ZeroDivisionError: division by zero");
  if (typeof a === "bigint" && typeof b === "bigint" && operator !== "/") {
    const rest = operator === "//" || operator === "%" ? ((a % b) + b) % b : 0n;
    return { "+": a + b, "-": a - b, "*": a * b, "%": rest }[operator] ?? (a - rest) / b;
  }
  const [x, y] = [Number(a), Number(b)];
  const down = Math.floor(x / y);
  return { "+": x + y, "-": x - y, "*": x * y, "/": x / y, "//": down }[operator] ?? x - y * down;
}
