import { expect, test } from "vitest";
import type { AgentRun } from "../agents/train-agent.ts";
import { textOf } from "./evals.ts";
import { type EvaliteScorer, fromEvalite, fromMastra } from "./scorers.ts";

const run = (task: object) => ({ task }) as unknown as AgentRun<never>;
const exact: EvaliteScorer = ({ output, expected }) => output === expected;

test("evalite: data are tasks, its task is the agent, the mean of its scorers the reward; null is 0", async () => {
  const seen: unknown[] = [];
  const evals = await fromEvalite<unknown, string>({
    data: () => [{ input: "2 + 2?", expected: "4" }, { input: { of: 3 } }],
    task: (input) => `It is ${JSON.stringify(input)}`,
    scorers: [
      exact,
      { name: "half", scorer: () => ({ score: 0.5 }) },
      async () => null,
      (sample) => {
        seen.push(sample);
        return { score: null };
      },
    ],
  });
  const [sum, other] = evals.tasks;
  expect(evals.tasks).toEqual([
    { prompt: "2 + 2?", input: "2 + 2?", expected: "4" },
    { prompt: '{"of":3}', input: { of: 3 }, expected: undefined },
  ]);
  expect(await evals.agent("", run(other ?? {}))).toBe('It is {"of":3}');
  expect(await evals.reward({ task: sum as never, answer: "4" })).toBe((1 + 0.5) / 4);
  expect(await evals.reward({ task: sum as never, answer: "5" })).toBe(0.5 / 4);
  expect(seen).toEqual(["4", "5"].map((output) => ({ input: "2 + 2?", output, expected: "4" })));
});

test("Mastra: scorers get the text of an answer and the ground truth; an agent generates, a function is one", async () => {
  const seen: unknown[] = [];
  const scorer = {
    run: async (sample: { output: string; groundTruth: string }) => {
      seen.push(sample);
      return { score: Number(sample.output === sample.groundTruth) };
    },
  };
  const data = [{ input: "2 + 2?", groundTruth: "4" }];
  const target = { generate: async (input: string) => ({ text: `${input} 4` }) };
  const { tasks, agent, reward } = fromMastra({ data, scorers: [scorer, { run: async () => ({}) }], target });
  const [task] = tasks as [(typeof tasks)[number]];
  expect(await agent("other", run(task))).toBe("2 + 2? 4");
  expect(await reward({ task, answer: { text: "4" } })).toBe(0.5);
  expect(seen).toEqual([{ input: "2 + 2?", output: "4", groundTruth: "4" }]);
  const own = async (prompt: string) => prompt;
  expect(fromMastra({ data, scorers: [scorer], target: own }).agent).toBe(own);
});

test("an option that is not known is refused by name", async () => {
  const evalite = { data: [], task: () => "", columns: [] };
  expect((await fromEvalite(evalite)).tasks).toEqual([]);
  await expect(fromEvalite({ ...evalite, trialCount: 3 } as never)).rejects.toThrow("trialCount");
  expect(() => fromMastra({ data: [], scorers: [], target: async () => "", onItemComplete: 1 } as never)).toThrow(
    "onItemComplete",
  );
});

test.each([
  ["4", "4"],
  [{ text: "4", steps: [] }, "4"],
  [{ text: 4 }, '{"text":4}'],
  [[1], "[1]"],
  [undefined, ""],
  [null, "null"],
])("the text of the answer %j", (answer, expected) => {
  expect(textOf(answer)).toBe(expected);
});
