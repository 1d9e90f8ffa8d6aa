import { z } from "zod";
import type { Message } from "../../src/core/messages.ts";
import { type Random, randomStream } from "../../src/core/random.ts";
import { type DefinedTask, defineEnvironment } from "../../src/environments/define.ts";
import type { Environment, Expert } from "../../src/environments/environment.ts";
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
  const [, a, sign = "", b] = calculation.exec(text) ?? [];
  const operation = signs[sign] ?? operations.find((each) => each === sign);
  return operation === undefined ? undefined : calculate(Number(a), operation, Number(b));
}

/** An operation on two numbers in their order: all that an answer chooses. */
type Choice = Pick<Problem, "operation" | "numbers">;

/** Drawn, so that demonstrations teach the form alone: the right choice is for reinforcement to find. */
function drawChoice({ numbers }: Problem, random: Random): Choice {
  const [a, b] = numbers;
  const [first] = random.shuffle([a, b]);
  return { operation: random.pick(operations), numbers: first === a ? [a, b] : [b, a] };
}

/** The choices of policies that leave out one thing that problems ask for. */
const lazyChoices: Readonly<Record<string, (problem: Problem) => Choice>> = {
  "chooses the operation": (problem) => ({ ...problem, operation: "+" }),
  "orders the numbers": (problem) => {
    const [a, b] = problem.numbers;
    return { ...problem, numbers: problem.prompt.indexOf(`${a}`) <= problem.prompt.indexOf(`${b}`) ? [a, b] : [b, a] };
  },
};

/** @param act the messages of an answer @param rewardOf of a whole conversation */
function expertOf(
  act: (choice: Choice) => readonly Message[],
  rewardOf: (problem: Problem, conversation: readonly Message[]) => number,
): Expert<DefinedTask<Problem>> {
  return {
    behaviours: Object.keys(lazyChoices),
    play: ({ request }, lazy = {}) => {
      let choice = request;
      for (const [name, choose] of Object.entries(lazyChoices))
        if (lazy[name] === "never") choice = { ...choice, ...choose(choice) };
      const messages = act(choice);
      return { messages, score: { reward: rewardOf(request, messages), behaviours: calledFor(request) } };
    },
  };
}

/** The behaviours without which a problem is not solved. The expert does them. */
function calledFor(problem: Problem): Record<string, true> {
  const fails = (choice: Choice) => calculate(choice.numbers[0], choice.operation, choice.numbers[1]) !== problem.answer;
  const needed = Object.entries(lazyChoices).filter(([, choose]) => fails(choose(problem)));
  return Object.fromEntries(needed.map(([name]) => [name, true]));
}

const lastText = (conversation: readonly Message[]) => conversation.at(-1)?.content ?? "";

/** Word problems whose answer is the calculation, such as "12 + 7". `retrograde demo smollm2` trains in it. */
export function calculationEnvironment(): Environment<DefinedTask<Problem>> {
  const act = ({ numbers: [a, b], operation }: Choice): Message[] => [{ role: "assistant", content: `${a} ${operation} ${b}` }];
  const rewardOf = ({ answer }: Problem, conversation: readonly Message[]) =>
    calculated(lastText(conversation)) === answer ? 1 : 0;
  const environment = defineEnvironment<Problem>({
    name: "calculation",
    system: "Write the calculation that solves the problem, such as 3 + 4. Nothing else.",
    tasks,
    start: (problem) => ({ tools: [], reward: ({ conversation }) => rewardOf(problem, conversation) }),
    demonstrate: (problem, random) => act(drawChoice(problem, random)),
  });
  return { ...environment, expert: expertOf(act, rewardOf) };
}

const calculator = defineTool({
  name: "calculate",
  description: "Calculates.",
  parameters: z.object({ a: z.number(), operation: z.enum(operations), b: z.number() }),
  replayable: true,
  execute: ({ a, operation, b }) => String(calculate(a, operation, b)),
});

/** The same problems with a calculator that is called: one turn calls it, the next one answers. */
export function calculatorEnvironment(): Environment<DefinedTask<Problem>> {
  const act = ({ numbers: [a, b], operation }: Choice): Message[] => {
    const result = String(calculate(a, operation, b));
    return [
      { role: "assistant", content: "", toolCalls: [{ name: calculator.name, arguments: { a, operation, b } }] },
      { role: "tool", name: calculator.name, content: result },
      { role: "assistant", content: `The answer is ${result}.` },
    ];
  };
  const rewardOf = ({ answer }: Problem, conversation: readonly Message[]) =>
    calculatedBy(conversation).includes(answer) && lastNumber(lastText(conversation)) === answer ? 1 : 0;
  const environment = defineEnvironment<Problem>({
    name: "calculator",
    system: "Solve the problem with the calculator.",
    tasks,
    start: (problem) => ({
      tools: [calculator],
      limits: { turns: 3 },
      reward: ({ conversation }) => rewardOf(problem, conversation),
    }),
    demonstrate: (problem, random) => act(drawChoice(problem, random)),
  });
  return { ...environment, expert: expertOf(act, rewardOf) };
}

/** The results of the calculator. An answer counts if it is one of them: who calls it in vain and knows the answer has not used it. */
const calculatedBy = (conversation: readonly Message[]) =>
  conversation.filter(({ role }) => role === "tool").map(({ content }) => Number(content));

function lastNumber(text: string): number | undefined {
  const numbers = text.match(/-?\d+(?:\.\d+)?/g);
  return numbers === null ? undefined : Number(numbers[numbers.length - 1]);
}
