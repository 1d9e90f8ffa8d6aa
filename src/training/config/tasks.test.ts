import "../../../test/office.ts";
import { expect, test } from "vitest";
import { lettersEnvironment } from "../../../test/letters.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { defineEnvironment } from "../../environments/define.ts";
import type { Environment } from "../../environments/environment.ts";
import { resolveConfig } from "./config.ts";
import { checkSplit, checkSplits, evaluationTasks, sizeOf, trainingTasks } from "./tasks.ts";

const ids = async (size: number, position: number, count: number, seed: number) =>
  (await trainingTasks(lettersEnvironment(size), position, count, seed)).map(({ id }) => id);

test("a split with an end is gone through once before any task comes again, each time in another order", async () => {
  const [first, second] = [await ids(20, 0, 20, 1), await ids(20, 20, 20, 1)];
  expect(new Set(first).size).toBe(20);
  expect([...second].sort()).toEqual([...first].sort());
  expect(second).not.toEqual(first);
});

test("a position alone decides what comes next", async () => {
  for (const size of [7, Number.POSITIVE_INFINITY]) {
    const all = await ids(size, 0, 30, 4);
    expect([...(await ids(size, 0, 11, 4)), ...(await ids(size, 11, 19, 4))]).toEqual(all);
    expect(await ids(size, 0, 30, 5)).not.toEqual(all);
  }
});

test("an evaluation takes the first tasks, as many as there are", async () => {
  expect((await evaluationTasks(lettersEnvironment(), "test", 3)).map(({ id }) => id)).toEqual(["test/0", "test/1", "test/2"]);
  expect(await evaluationTasks(lettersEnvironment(2), "test", 3)).toHaveLength(2);
});

test("an environment that cannot give a task is named, with the task and the reason", async () => {
  const broken = {
    ...lettersEnvironment(3),
    task: () => {
      throw new Error("file not found");
    },
  };
  await expect(evaluationTasks(broken, "test", 2)).rejects.toThrow(EnvError);
  await expect(evaluationTasks(broken, "test", 2)).rejects.toThrow('task 0 of the test split of "letters" is file not found');
  const start = () => ({ tools: [], reward: () => 1 });
  const unasked = defineEnvironment({ name: "unasked", tasks: () => ({ question: "When?" }) as never, start });
  await expect(evaluationTasks(unasked, "test", 2)).rejects.toThrow(
    /^task 0 of the test split is {"question":"When\?"}; expected an object with a `prompt`, which the model reads\.$/,
  );
});

test("an environment that cannot say its size is named; an error of its own is left as it is", async () => {
  const sized = (thrown: Error): Environment => ({
    ...lettersEnvironment(3),
    size: () => {
      throw thrown;
    },
  });
  await expect(sizeOf(sized(new Error("no file")), "test")).rejects.toThrow(
    'size of the test split of "letters" is no file; expected a number of tasks',
  );
  const refused = new EnvError("GET /tasks", "ECONNREFUSED", { expected: "an answer" });
  await expect(sizeOf(sized(refused), "test")).rejects.toBe(refused);
});

test("two tasks of one id are refused, by name; a task that is drawn twice is one task", async () => {
  const letters = lettersEnvironment(4);
  const rows: Environment = {
    ...letters,
    task: async (split, index) => ({ ...(await letters.task(split, index)), id: `row-${index % 3}` }),
  };
  await expect(evaluationTasks(rows, "test", 4)).rejects.toThrow(EnvError);
  await expect(evaluationTasks(rows, "test", 4)).rejects.toThrow(
    'the id of task 3 of the test split of "letters" is "row-0"; expected another one than that of task 0',
  );
  expect(await evaluationTasks(rows, "test", 3)).toHaveLength(3);
  expect(await trainingTasks(lettersEnvironment(2), 0, 6, 1)).toHaveLength(6);
});

test("a split without tasks is refused with the setting that asks for it and the splits that there are", async () => {
  const environment = { ...lettersEnvironment(), size: (split: string) => (split === "challenge" ? 0 : 4) };
  await checkSplits(resolveConfig(), environment);
  const challenge = checkSplits(resolveConfig({ evaluation: { challenge: true } }), environment);
  await expect(challenge).rejects.toThrow(ConfigError);
  await expect(challenge).rejects.toThrow('evaluation.challenge is "challenge"; expected "train", "validation" or "test"');
});

test("a split may have any name, and a name that is none of them is refused", async () => {
  const other: Environment = {
    ...lettersEnvironment(),
    splits: ["easy", "hard"],
    size: async (split) => (split === "easy" ? 3 : 0),
  };
  await checkSplit(other, "rollout.split", "easy");
  await expect(checkSplit(other, "rollout.split", "hard")).rejects.toThrow(
    /expected "easy". The environment .* has no hard tasks/,
  );
  await expect(checkSplit(other, "rollout.split", "esay")).rejects.toThrow(/Did you mean "easy"/);
  await expect(checkSplit(other, "rollout.split", "train")).rejects.toThrow(/expected "easy"/);
  expect((await trainingTasks(other, 0, 3, 1, { split: "easy" })).map(({ id }) => id.split("/")[0])).toEqual([
    "easy",
    "easy",
    "easy",
  ]);
  // A generated world has no end, but not in every name.
  const endless = { ...lettersEnvironment(), size: (split: string) => (split === "test" ? Number.POSITIVE_INFINITY : 0) };
  await expect(checkSplit(endless, "evaluation.split", "tset")).rejects.toThrow(/Did you mean "test"/);
  expect(() => resolveConfig({ evaluation: { split: "../../evil" } })).toThrow(/evaluation.split/);
});
