import { z } from "zod";
import { ToolError } from "../../src/core/errors.ts";
import type { Message } from "../../src/core/messages.ts";
import type { Random } from "../../src/core/random.ts";
import { type DefinedTask, defineEnvironment } from "../../src/environments/define.ts";
import type { Environment, Episode } from "../../src/environments/environment.ts";
import { defineTool } from "../../src/tools/tool.ts";
import { drawnTasks, lastNumber } from "./tasks.ts";
import { calculate, drawProblem, type Problem } from "./word-problems.ts";
import { type Operation, operations } from "./wordings.ts";

const tasks = drawnTasks("word problems", drawProblem);

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

interface Answering {
  readonly name: string;
  readonly system: string;
  /** The tools and limits of an episode. */
  readonly shown: Pick<Episode, "tools" | "limits">;
  readonly act: (choice: Choice) => Message[];
  /** The reward of a whole conversation. */
  readonly rewardOf: (problem: Problem, conversation: readonly Message[]) => number;
}

function problemEnvironment({ name, system, shown, act, rewardOf }: Answering): Environment<DefinedTask<Problem>> {
  const environment = defineEnvironment<Problem>({
    ...{ name, system, tasks },
    start: (problem) => ({ ...shown, reward: ({ conversation }) => rewardOf(problem, conversation) }),
    demonstrate: (problem, random) => act(drawChoice(problem, random)),
  });
  const play = ({ request }: DefinedTask<Problem>) => {
    const messages = act(request);
    return { messages, score: { reward: rewardOf(request, messages) } };
  };
  return { ...environment, expert: { play } };
}

const lastText = (conversation: readonly Message[]) => conversation.at(-1)?.content ?? "";

/** Word problems whose answer is the calculation, such as "12 + 7". `retrograde-rl demo smollm2` trains in it. */
export function calculationEnvironment(): Environment<DefinedTask<Problem>> {
  return problemEnvironment({
    name: "calculation",
    system: "Write the calculation that solves the problem, such as 3 + 4. Nothing else.",
    shown: { tools: [] },
    act: ({ numbers: [a, b], operation }) => [{ role: "assistant", content: `${a} ${operation} ${b}` }],
    rewardOf: ({ answer }, conversation) => Number(calculated(lastText(conversation)) === answer),
  });
}

/** Two decimals: a quotient that is not whole would be many tokens. No wrong one becomes the answer by it. */
const rounded = (value: number) => String(Math.round(value * 100) / 100);

const calculator = defineTool({
  name: "calculate",
  description: "Calculates.",
  parameters: z.object({ expression: z.string() }),
  replayable: true,
  execute: ({ expression }) => {
    const value = calculated(expression);
    if (value === undefined) throw new ToolError("expression", expression, { expected: "two numbers, as in 3 + 4" });
    return rounded(value);
  },
});

/** The same problems with a calculator that is called: one turn calls it, the next one answers. */
export function calculatorEnvironment(): Environment<DefinedTask<Problem>> {
  return problemEnvironment({
    name: "calculator",
    system: "Solve the problem with the calculator.",
    shown: { tools: [calculator], limits: { turns: 2 } },
    act: ({ numbers: [a, b], operation }) => {
      const call = { name: calculator.name, arguments: { expression: `${a} ${operation} ${b}` } };
      const result = rounded(calculate(a, operation, b));
      return [
        { role: "assistant", content: "", toolCalls: [call] },
        { role: "tool", name: calculator.name, content: result },
        { role: "assistant", content: result },
      ];
    },
    rewardOf: ({ answer }, conversation) =>
      Number(calculatedBy(conversation).includes(answer) && lastNumber(lastText(conversation)) === answer),
  });
}

/** The results of the calculator. An answer counts if it is one of them: who calls it in vain and knows the answer has not used it. */
const calculatedBy = (conversation: readonly Message[]) =>
  conversation.filter(({ role }) => role === "tool").map(({ content }) => Number(content));
