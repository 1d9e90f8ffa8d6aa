import type { Random } from "../../src/core/random.ts";
import type { Words } from "./tasks.ts";
import { type Operation, operations, wordings } from "./wordings.ts";

/** A word problem of two numbers and one operation. */
export interface Problem {
  readonly prompt: string;
  readonly kind: "sum" | "difference" | "product" | "quotient";
  /** In the order that the operation takes them. A text may say them the other way round. */
  readonly numbers: readonly [number, number];
  readonly operation: Operation;
  readonly answer: number;
}

const kinds = { "+": "sum", "-": "difference", "*": "product", "/": "quotient" } as const satisfies Record<Operation, string>;
const names = ["Ana", "Ben", "Carla", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas", "Kira", "Leon"];
const things = "apples books coins stickers marbles pencils shells cards eggs buttons stamps beads".split(" ");

/** Draws a problem. @param words the sentences of training, or those that no training task has */
export function drawProblem(random: Random, words: Words): Problem {
  const operation = random.pick(operations);
  const [name = "", other = ""] = random.shuffle(names);
  const numbers = drawNumbers(random, operation);
  const { stories, questions } = wordings[operation][words];
  const fill: Readonly<Record<string, string>> = {
    ...{ name, other, thing: random.pick(things) },
    ...{ a: String(numbers[0]), b: String(numbers[1]) },
  };
  const text = `${random.pick(stories)} ${random.pick(questions)}`;
  return {
    prompt: text.replace(/\{(\w+)\}/g, (_, slot: string) => fill[slot] ?? slot),
    kind: kinds[operation],
    ...{ numbers, operation, answer: calculate(numbers[0], operation, numbers[1]) },
  };
}

/** Quotients are whole, differences positive, and no operation but the right one gives the answer. */
function drawNumbers(random: Random, operation: Operation): [number, number] {
  for (;;) {
    const b = 2 + random.integer(operation === "+" || operation === "-" ? 60 : 11);
    const a =
      operation === "/" ? b * (2 + random.integer(14)) : operation === "-" ? b + 1 + random.integer(60) : 2 + random.integer(60);
    const answers = operations.flatMap((each) => [calculate(a, each, b), calculate(b, each, a)]);
    const right = calculate(a, operation, b);
    const commutes = operation === "+" || operation === "*";
    if (a !== b && answers.filter((answer) => answer === right).length === (commutes ? 2 : 1)) return [a, b];
  }
}

const values: Readonly<Record<Operation, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

export function calculate(a: number, operation: Operation, b: number): number {
  return values[operation](a, b);
}
