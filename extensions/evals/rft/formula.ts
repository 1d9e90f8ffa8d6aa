import { ConfigError } from "../../../src/core/errors.ts";

const functions: Readonly<Record<string, (...values: number[]) => number>> = {
  ...{ min: Math.min, max: Math.max, abs: Math.abs, floor: Math.floor, ceil: Math.ceil },
  ...{ exp: Math.exp, sqrt: Math.sqrt, log: Math.log },
};

/**
 * Computes the formula of a multi-grader: numbers, names of graders, + - * / ^, brackets, min, max, abs, floor, ceil, exp, sqrt and log.
 * @throws ConfigError for a formula of another form, and for an unknown name
 */
export function calculate(formula: string, scores: Readonly<Record<string, number>>): number {
  const tokens = formula.match(/\s*(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|[A-Za-z_]\w*|\S)/g)?.map((token) => token.trim()) ?? [];
  let at = 0;
  const wrong = (what: string) =>
    new ConfigError("calculate_output", formula, {
      expected: `a formula of ${Object.keys(scores).join(", ")}, with ${Object.keys(functions).join(", ")}`,
      hint: `${what} is not part of one.`,
    });
  const take = (token: string) => {
    if (tokens[at] !== token) throw wrong(tokens[at] ?? "Its end");
    at++;
  };
  const sum = (): number => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") value += tokens[at++] === "+" ? product() : -product();
    return value;
  };
  const product = (): number => {
    let value = signed();
    while (tokens[at] === "*" || tokens[at] === "/") value = tokens[at++] === "*" ? value * signed() : value / signed();
    return value;
  };
  const signed = (): number => {
    if (tokens[at] !== "-") return power();
    at++;
    return -signed();
  };
  const power = (): number => {
    const base = atom();
    if (tokens[at] !== "^") return base;
    at++;
    return base ** signed();
  };
  const atom = (): number => {
    const token = tokens[at++] ?? "";
    if (token === "(") {
      const value = sum();
      take(")");
      return value;
    }
    if (/^[.\d]/.test(token)) return Number(token);
    const called = tokens[at] === "(" && Object.hasOwn(functions, token) ? functions[token] : undefined;
    if (called !== undefined) {
      const values: number[] = [];
      do {
        at++;
        values.push(sum());
      } while (tokens[at] === ",");
      take(")");
      return called(...values);
    }
    const score = Object.hasOwn(scores, token) ? scores[token] : undefined;
    if (score !== undefined) return score;
    throw wrong(token || "Its end");
  };
  const value = sum();
  if (at < tokens.length) throw wrong(tokens[at] ?? "");
  return value;
}
