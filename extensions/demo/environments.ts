import { z } from "zod";
import type { Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { defineEnvironment } from "../../src/environments/define.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { calculate, drawProblem, type Operation, operations, type Problem } from "./word-problems.ts";

/** Tasks of each split. Numbers and sentences of a task are drawn from its split and index. */
const sizes = { train: 8192, validation: 160, test: 160, challenge: 160 };

const tasks = Object.fromEntries(
  Object.entries(sizes).map(([split, size]) => [
    split,
    () =>
      Array.from({ length: size }, (_, i) =>
        drawProblem(randomStream(0, "word problems", split, i), split === "challenge" ? "unseen" : "seen"),
      ),
  ]),
);

const calculation = /^\s*(\d{1,6})\s*([-+*/x×÷])\s*(\d{1,6})\s*\.?\s*$/;
const signs: Readonly<Record<string, Operation>> = { x: "*", "×": "*", "÷": "/" };

/** The value of a text that is one calculation of two numbers. Undefined for any other text. */
function calculated(text: string): number | undefined {
  const [, a, sign, b] = calculation.exec(text) ?? [];
  const operation = signs[sign] ?? operations.find((each) => each === sign);
  return operation === undefined ? undefined : calculate(Number(a), operation, Number(b));
}

/** Word problems whose answer is the calculation, such as "12 + 7". `retrograde demo smollm2` trains in it. */
export function calculationEnvironment(): Environment {
  return defineEnvironment<Problem>({
    name: "calculation",
    system: "Write the calculation that solves the problem, such as 3 + 4. Nothing else.",
    tasks,
    start: ({ answer }) => ({ tools: [], reward: (end) => (calculated(end.answer) === answer ? 1 : 0) }),
    // The form alone: operation and order are drawn, so that the right ones are for reinforcement to find.
    demonstrate: ({ numbers }, random) => {
      const [a, b] = random.shuffle([...numbers]);
      return [{ role: "assistant", content: `${a} ${random.pick(operations)} ${b}` }];
    },
  });
}

const calculator = defineTool({
  name: "calculate",
  description: "Calculates.",
  parameters: z.object({ a: z.number(), operation: z.enum(operations), b: z.number() }),
  replayable: true,
  execute: ({ a, operation, b }) => String(calculate(a, operation, b)),
});

/** The same problems with a calculator that is called: one turn calls it, the next one answers. */
export function calculatorEnvironment(): Environment {
  return defineEnvironment<Problem>({
    name: "calculator",
    system: "Solve the problem with the calculator.",
    tasks,
    start: ({ answer }) => ({
      tools: [calculator],
      limits: { turns: 3 },
      reward: ({ answer: said, conversation }) => (called(conversation) && lastNumber(said) === answer ? 1 : 0),
    }),
    demonstrate: ({ numbers }, random) => {
      const [a, b] = random.shuffle([...numbers]);
      const operation = random.pick(operations);
      const result = String(calculate(a, operation, b));
      return [
        { role: "assistant", content: "", toolCalls: [{ name: calculator.name, arguments: { a, operation, b } }] },
        { role: "tool", name: calculator.name, content: result },
        { role: "assistant", content: `The answer is ${result}.` },
      ];
    },
  });
}

const called = (conversation: readonly Message[]) => conversation.some(({ role }) => role === "tool");

function lastNumber(text: string): number | undefined {
  const numbers = text.match(/-?\d+(?:\.\d+)?/g);
  return numbers === null ? undefined : Number(numbers[numbers.length - 1]);
}
