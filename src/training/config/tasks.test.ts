import "../../../test/office.ts";
import { expect, test } from "vitest";
import { lettersEnvironment } from "../../../test/letters.ts";
import { ConfigError, EnvError } from "../../core/errors.ts";
import { defineEnvironment } from "../../environments/define.ts";
import type { Environment } from "../../environments/environment.ts";
import { resolveConfig } from "./config.ts";
import {
  checkSplit,
  checkSplits,
  chosenTasks,
  evaluationTasks,
  sizeOf,
  taskNamed,
  trainingTasks,
  withOnlySplit,
} from "./tasks.ts";

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

test("a step's tasks are chosen by what the run has seen of them, where the sampler asks for it", async () => {
  const asked: number[] = [];
  const counted: Environment = {
    ...lettersEnvironment(3),
    task: (split, index) => {
      asked.push(index);
      return { id: `${split}/${index}` };
    },
  };
  const choose = async (tasks: object, outcomes?: ReadonlyMap<string, number>) => {
    asked.length = 0;
    const config = resolveConfig({ rollout: { tasksPerStep: 4, tasks: tasks as never }, seed: 3 });
    return (await chosenTasks(counted, 0, config, outcomes)).map(({ id }) => id);
  };
  const never = { kind: "difficulty", hardWeight: 0, easyWeight: 0 };
  const seen = new Map([
    ["train/0", 0],
    ["train/2", 1],
    ["train/9", 0.5],
  ]);
  expect(await choose(never, seen)).toEqual(Array(4).fill("train/1"));
  expect(asked.slice(0, 3)).toEqual([0, 1, 2]);
  expect(new Set(await choose(never)).size).toBeGreaterThan(1);
  expect(asked).toHaveLength(4); // without outcomes no task is asked for but those that are played
  expect(new Set(await choose({ kind: "epochs" }, seen))).toEqual(new Set(["train/0", "train/1", "train/2"]));
  expect(asked).toHaveLength(4);
  const easy = resolveConfig({ rollout: { split: "easy" } });
  expect((await chosenTasks(counted, 0, easy)).every(({ id }) => id.startsWith("easy/"))).toBe(true);
  expect(await taskNamed(counted, "train/2")).toEqual({ id: "train/2" });
  expect(await taskNamed(counted, "test/1", "test")).toEqual({ id: "test/1" });
  expect(await taskNamed(counted, "train/3")).toBeUndefined();
});

test("a sampler by outcomes needs a split with an end, and each setting that asks for tasks is named", async () => {
  const sized = (sizes: Readonly<Record<string, number>>): Environment => ({
    ...lettersEnvironment(),
    size: (split: string) => sizes[split] ?? 0,
  });
  const all = { train: 100_000, validation: 4, test: 4, challenge: 4 };
  const difficulty = resolveConfig({ rollout: { tasks: { kind: "difficulty" } } });
  await expect(checkSplits(difficulty, sized(all))).resolves.toBeUndefined();
  for (const train of [100_001, Number.POSITIVE_INFINITY, Number.NaN])
    await expect(checkSplits(difficulty, sized({ ...all, train }))).rejects.toThrow(
      'rollout.tasks is "difficulty"; expected "epochs", or a split of at most 100000 tasks: the outcome of each is recorded.',
    );
  await expect(checkSplits(resolveConfig(), sized({ ...all, train: Number.POSITIVE_INFINITY }))).resolves.toBeUndefined();
  const needs: readonly (readonly [object, string, string])[] = [
    [{}, "train", "environment"],
    [{ rollout: { split: "train" } }, "train", "rollout.split"],
    [{}, "test", "evaluation.split"],
    [{ evaluation: { challenge: true } }, "challenge", "evaluation.challenge"],
    [{ evaluation: { during: { every: 1 } } }, "validation", "evaluation.during.split"],
  ];
  for (const [user, split, setting] of needs) {
    const check = checkSplits(resolveConfig(user), sized({ ...all, [split]: 0 }));
    await expect(check).rejects.toThrow(`${setting} is "${split}"; expected "`);
    await expect(check).rejects.toThrow(`The environment "letters" has no ${split} tasks.`);
  }
  const without = { evaluation: { tasks: 0, challenge: true } };
  await expect(checkSplits(resolveConfig(without), sized({ train: 1 }))).resolves.toBeUndefined();
  const conversations = { algorithm: { kind: "sft", data: "rows.jsonl" }, ...without } as const;
  await expect(checkSplits(resolveConfig(conversations), sized({}))).resolves.toBeUndefined();
  await expect(checkSplits(resolveConfig({ algorithm: "sft", ...without }), sized({ test: 1 }))).rejects.toThrow(
    "environment is",
  );
  for (const size of [0, Number.NaN])
    await expect(checkSplit(sized({ train: size, test: size, validation: size, challenge: size }), "x", "train")).rejects.toThrow(
      'the tasks of "letters" is "none"; expected at least one in the split train. ' +
        "size() of the environment gives 0, or no number, for each of its splits.",
    );
});

test("an environment with training tasks alone is evaluated on them, unless another split is asked for", () => {
  const alone = { ...lettersEnvironment(), splits: ["train"] };
  const both = { ...lettersEnvironment(), splits: ["train", "test"] };
  const config = resolveConfig();
  const changed = withOnlySplit(config, alone, [{}]);
  expect(changed.config).toEqual({ ...config, evaluation: { ...config.evaluation, split: "train" } });
  expect(changed.warnings).toEqual([
    '"letters" has training tasks alone: it is evaluated on the tasks that it is trained on, which says nothing of others. ' +
      "Write tasks: { train: […], test: […] }.",
  ]);
  const same = { config, warnings: [] };
  expect(withOnlySplit(config, both, [{}])).toEqual(same);
  expect(withOnlySplit(config, { ...alone, splits: ["test"] }, [{}])).toEqual(same);
  expect(withOnlySplit(config, alone, [{}, { evaluation: { split: "test" } }])).toEqual(same);
  const written = [{ evaluation: { tasks: 4 } }];
  expect(withOnlySplit(config, alone, written).warnings).toHaveLength(1);
  for (const evaluation of [{ tasks: 0 }, { split: "train" }]) {
    const own = resolveConfig({ evaluation });
    expect(withOnlySplit(own, alone, [{}])).toEqual({ config: own, warnings: [] });
  }
});

test("a task without an id that is a text is refused, and an environment's own error passes as it is", async () => {
  const giving = (task: unknown): Environment => ({ ...lettersEnvironment(3), task: () => task as never });
  await expect(evaluationTasks(giving({ id: 5 }), "test", 1)).rejects.toThrow(
    'task 0 of the test split of "letters" is {"id":5}; expected an object whose `id` is a text.',
  );
  await expect(evaluationTasks(giving(undefined), "test", 1)).rejects.toThrow('task 0 of the test split of "letters" is missing');
  const own = new EnvError("GET /task", "ECONNREFUSED", { expected: "an answer" });
  const refusing: Environment = {
    ...lettersEnvironment(3),
    task: () => {
      throw own;
    },
  };
  await expect(evaluationTasks(refusing, "test", 1)).rejects.toBe(own);
  const slow: Environment = { ...lettersEnvironment(3), task: () => new Promise<never>(() => {}) };
  await expect(evaluationTasks(slow, "test", 1, 1)).rejects.toThrow(
    'the error of task 0 of the test split of "letters" is no answer within 1 ms; expected a task.',
  );
  await expect(evaluationTasks({ ...slow, size: () => new Promise<never>(() => {}) }, "test", 1, 1)).rejects.toThrow(
    'size of the test split of "letters" is no answer within 1 ms; expected a number of tasks.',
  );
});
