import { expect, test } from "vitest";
import { agentMatchers } from "../entries/vitest.ts";

/** Answers its prompt, but for those that the task says it cannot. */
const agent = async (prompt: string) => {
  if (prompt === "lost") throw new Error("no such shelf");
  if (prompt === "down") throw Object.assign(new Error("overloaded"), { status: 503 });
  return prompt;
};
const reward = ({ task, answer }: { task: { prompt: string }; answer: unknown }) =>
  Number(answer === task.prompt && task.prompt !== "no");
const tasksOf = (...prompts: readonly string[]) => prompts.map((prompt, i) => ({ prompt, i }));
const many = (prompt: string, times: number) => Array<string>(times).fill(prompt);
const lines = async (atLeast: number, prompts: readonly string[], more: object = {}) => {
  const { pass, message, actual, expected } = await agentMatchers.toSucceed.call(undefined, agent, tasksOf(...prompts), {
    ...{ reward, atLeast, concurrency: 1 },
    ...more,
  } as never);
  return { pass, lines: message().split("\n"), mean: actual.mean, expected };
};

test("a share that is reached passes, and its message has the interval and pass^k", async () => {
  expect(await lines(0.5, ["a", "no"], { k: 2 })).toEqual({
    ...{ pass: true, mean: 0.5, expected: 0.5 },
    lines: [
      expect.stringMatching(
        /^expected at least 50\.0 % of 4 attempts to succeed: 50\.0 % {2}\[\S+, \S+\], the 95 % interval over tasks$/,
      ),
      "all 2 attempts at a task succeed: 50.0 % (pass^2)",
      "The interval contains the limit: more tasks or attempts decide it, a repetition does not.",
    ],
  });
  expect((await lines(0.51, ["a", "no"])).pass).toBe(false);
  expect((await lines(1, ["a", "a"])).pass).toBe(true);
  expect((await lines(0, ["no"])).pass).toBe(true);
});

test("an interval beside the limit decides", async () => {
  const clear = await lines(0.1, many("a", 20));
  expect(clear.lines).toHaveLength(2);
  expect(clear.lines.join()).not.toContain("contains the limit");
});

test("the agent's own failures and errors that are not counted are named with the first", async () => {
  const { lines: said, pass } = await lines(0.9, [...many("a", 18), "lost", "down"]);
  expect([pass, ...said.slice(-2)]).toEqual([
    true,
    "1 attempts failed by an error of the agent, the first: no such shelf",
    "1 attempts ended by another error and are not counted, the first: overloaded",
  ]);
  expect(said[0]).toMatch(/^expected at least 90\.0 % of 19 attempts to succeed: 94\.7 % /);
  await expect(lines(0.5, ["a", "a", "down"])).rejects.toThrow(
    'toSucceed is "no verdict: 1 of 3 attempts of the agent ended by an error, more than a tenth"; expected errors in at most a tenth of the ' +
      "attempts. An error of a server, the network or the reward is no result, so neither toSucceed nor its negation holds. The first: overloaded.",
  );
});

test.each([-0.1, 1.1, Number.NaN])("a limit of %d is refused", async (atLeast) => {
  await expect(lines(atLeast, ["a"])).rejects.toThrow(`atLeast is ${atLeast}; expected a share from 0 to 1.`);
});

test("a test that does not wait for the assertion fails by it, also by its negation", async () => {
  const failures = async (prompt: string, isNot: boolean) => {
    const task: { promises?: Promise<unknown>[] } = {};
    const result = agentMatchers.toSucceed.call({ isNot, task }, agent, tasksOf(prompt), { reward, atLeast: 1 } as never);
    const waiting = [...(task.promises ?? [])];
    const settled = await Promise.allSettled(waiting);
    await result;
    return [waiting.length, settled.map(({ status }) => status), task.promises];
  };
  expect(await failures("a", false)).toEqual([1, ["fulfilled"], []]);
  expect(await failures("no", false)).toEqual([1, ["rejected"], []]);
  expect(await failures("a", true)).toEqual([1, ["rejected"], []]);
  expect(await failures("no", true)).toEqual([1, ["fulfilled"], []]);
});
