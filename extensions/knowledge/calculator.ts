import { evaluate as evaluated } from "../python/evaluate.ts";
import { parseExpression } from "../python/syntax.ts";
import { repr } from "../python/text.ts";
import { isNumber, PyError } from "../python/values.ts";

const longest = 1000;
const token = /\s*(?:(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|\/\/|\*(?!\*)|[-+/%()])|\s*(\*\*|\S)/gy;

/**
 * A calculator for one expression in Python's syntax: numbers, + - * / // %, parentheses, around all of it `print(…)` if one likes.
 * It prints what Python prints: whole numbers have no limit, `/` gives a fraction, `//` and `%` round down.
 * @returns the number, or an error in words, as a Python interpreter writes its last line
 */
export function evaluate(code: string): string {
  const expression = (/^\s*print\s*\((.*)\)\s*$/s.exec(code)?.[1] ?? code).trim().replace(/\s+/g, " ");
  const wrong = unreadable(expression);
  if (wrong !== undefined) return `SyntaxError: ${wrong}`;
  try {
    const result = evaluated(parseExpression(expression), () => undefined);
    // Empty parentheses are a tuple in Python.
    return isNumber(result) ? repr(result) : `TypeError: ${repr(result)} is no number`;
  } catch (error) {
    if (!(error instanceof PyError)) throw error;
    const { kind, message } = error;
    const isIncomplete = kind === "SyntaxError" && (/[-+*/%(]$/.test(expression) || message.includes("never closed"));
    return `${kind}: ${isIncomplete ? "the expression is not complete" : message}`;
  }
}

/** The reason in words why a text is no calculation; undefined for one. */
function unreadable(expression: string): string | undefined {
  if (expression.length > longest) return `an expression has at most ${longest} characters`;
  if (expression === "") return "there is nothing to calculate";
  const [, unknown] = [...expression.matchAll(token)].find(([, rest]) => rest !== undefined) ?? [];
  return unknown && `cannot calculate ${JSON.stringify(unknown)}: write numbers, + - * / // % and ( )`;
}
