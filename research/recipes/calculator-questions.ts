/**
 * The questions of Danau5tin/calculator_agent_rl, drawn by its rules (its rows have no licence, and some golds err): plain sums in words and nested
 * ones. The model writes one nested expression in YAML in a tag, reads its value, and answers. Two scorings: `success` is the published one, the
 * answer's last number within 0.1; `corrected` asks for the value to two decimals, or to a millionth of it. The published reward has a judge for 80 %
 * of it; here is none.
 */
import type { Message } from "../../src/core/messages.ts";
import type { Random } from "../../src/core/random.ts";
import { defineEnvironment } from "../../src/environments/define.ts";

const operations = ["add", "subtract", "multiply", "divide"] as const;
type Operation = (typeof operations)[number];
type Expression = number | { readonly operation: Operation; readonly operands: readonly Expression[] };

const nouns: Readonly<Record<Operation, string>> = {
  add: "sum",
  subtract: "difference",
  multiply: "product",
  divide: "quotient",
};
const infixes: Readonly<Record<Operation, readonly string[]>> = {
  add: ["plus", "added to"],
  subtract: ["minus"],
  multiply: ["times", "multiplied by"],
  divide: ["divided by"],
};
const questions = ["What is X?", "What's the result of X?", "Calculate X", "Compute X", "How much is X?", "Find X", "I need X."];

const system = `Use the calculator for every calculation:
<calculator>
operation: add
operands:
  - 5
  - operation: multiply
    operands:
      - 3
      - 4
</calculator>
Operations: add, subtract, multiply, divide. Then wait for its <output>. Your last line is "Answer: NUMBER".`;

/** @returns the value, as the published calculator's: operands from left to right. NaN or infinite beyond numbers */
export function valueIn(expression: Expression): number {
  if (typeof expression === "number") return expression;
  const apply: Readonly<Record<Operation, (a: number, b: number) => number>> = {
    add: (a, b) => a + b,
    subtract: (a, b) => a - b,
    multiply: (a, b) => a * b,
    divide: (a, b) => a / b,
  };
  return expression.operands.map(valueIn).reduce(apply[expression.operation]);
}

/** @param depth of nesting that is left */
function draw(random: Random, depth: number): Expression {
  const operand = () =>
    depth > 1 && random.integer(2) === 0 ? draw(random, depth - 1) : 2 + random.integer(random.pick([98, 998, 9998]));
  return { operation: random.pick(operations), operands: [operand(), operand()] };
}

/** An expression inside another one: no order of operations is left to guess. */
function noun(expression: Expression): string {
  if (typeof expression === "number") return `${expression}`;
  const [a = 0, b = 0] = expression.operands;
  return `the ${nouns[expression.operation]} of ${noun(a)} and ${noun(b)}`;
}

interface Question {
  readonly prompt: string;
  readonly kind: string;
  readonly expression: Expression;
}

export function question(random: Random): Question {
  for (;;) {
    const depth = random.pick([1, 1, 2, 3]);
    const expression = draw(random, depth);
    const size = Math.abs(valueIn(expression));
    if (typeof expression === "number" || !(size >= 0.5 && size < 1e12)) continue;
    const [a = 0, b = 0] = expression.operands;
    const infix = random.pick(infixes[expression.operation]);
    const text = random.integer(2) === 0 ? noun(expression) : `${noun(a)} ${infix} ${noun(b)}`;
    return {
      prompt: random.pick(questions).replace("X", text),
      kind: depthOf(expression) === 1 ? "plain" : "nested",
      expression,
    };
  }
}

const depthOf = (expression: Expression): number =>
  typeof expression === "number" ? 0 : 1 + Math.max(...expression.operands.map(depthOf));

export function written(expression: Expression, indent = ""): string {
  if (typeof expression === "number") return `${expression}`;
  const operands = expression.operands.map((each) => `${indent}  - ${written(each, `${indent}    `)}`);
  return [`operation: ${expression.operation}`, `${indent}operands:`, ...operands].join("\n");
}

/** Reads what `written` writes: the published parser takes any YAML. @returns undefined for anything else */
export function read(text: string): Expression | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const expression = readFrom(lines, "");
  return lines.length === 0 ? expression : undefined;
}

/** Takes an expression off the lines. The first one may have lost its indent to the dash before it. */
function readFrom(lines: string[], indent: string): Expression | undefined {
  const name = /^\s*operation: "?(\w+)"?\s*$/.exec(lines.shift() ?? "")?.[1];
  const operation = operations.find((each) => each === name);
  if (operation === undefined || lines.shift()?.trimEnd() !== `${indent}operands:`) return undefined;
  const operands: Expression[] = [];
  const item = `${indent}  - `;
  while (lines[0]?.startsWith(item)) {
    const text = lines[0].slice(item.length).trim();
    const isNumber = /^-?\d+(\.\d+)?$/.test(text);
    if (isNumber) lines.shift();
    else lines[0] = text;
    const operand = isNumber ? Number(text) : readFrom(lines, `${indent}    `);
    if (operand === undefined) return undefined;
    operands.push(operand);
  }
  return operands.length === 0 ? undefined : { operation, operands };
}

const tag = /<calculator>\n?([\s\S]*?)<\/calculator>/;

/** The calculator's answer to a message; undefined to one without its tag, which ends the episode. */
function outputOf(message: string): string | undefined {
  const call = tag.exec(message)?.[1];
  if (call === undefined) return undefined;
  const expression = read(call);
  if (expression === undefined) return "Error: Unable to parse yaml expression inside <calculator> tag.";
  const value = valueIn(expression);
  return Number.isFinite(value) ? `<output>${value}</output>` : "Error: Unable to calculate the expression.";
}

/** The published scoring of an answer's last number, and the corrected one. */
export function scores(answer: string, expression: Expression): { readonly success: number; readonly corrected: number } {
  const last = [...answer.matchAll(/-?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?/g)].at(-1)?.[0].replaceAll(",", "") ?? "";
  const value = last.endsWith("%") ? Number(last.slice(0, -1)) / 100 : last === "" ? Number.NaN : Number(last);
  const gold = valueIn(expression);
  const miss = Math.abs(value - gold);
  return { success: Number(miss <= 0.1), corrected: Number(miss <= Math.max(0.005, 1e-6 * Math.abs(gold))) };
}

/** The same shape with operations, and the order of operands, drawn at random. */
function disturbed(expression: Expression, random: Random): Expression {
  if (typeof expression === "number") return expression;
  return {
    operation: random.pick(operations),
    operands: random.shuffle(expression.operands).map((each) => disturbed(each, random)),
  };
}

function conversation(expression: Expression): Message[] {
  const call = `<calculator>\n${written(expression)}\n</calculator>`;
  return [
    { role: "assistant", content: call },
    { role: "user", content: outputOf(call) ?? "" },
    { role: "assistant", content: `Answer: ${valueIn(expression)}` },
  ];
}

export const environment = {
  ...defineEnvironment<Question>({
    name: "calculator-agent",
    system,
    tasks: question,
    start: ({ expression }) => ({
      tools: [],
      reply: ({ content }) => outputOf(content),
      reward: ({ answer }) => {
        const scored = scores(answer, expression);
        return { reward: scored.success, scores: { ...scored } };
      },
    }),
    demonstrate: ({ expression }, random) => {
      for (;;) {
        const other = disturbed(expression, random);
        if (Number.isFinite(valueIn(other))) return conversation(other);
      }
    },
  }),
  metrics: ["corrected"],
};
