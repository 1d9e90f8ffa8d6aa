import { expect, test } from "vitest";
import { defineEnvironment } from "../environments/define.ts";
import type { Environment } from "../environments/environment.ts";
import { resolveConfig } from "../training/config/config.ts";
import { tasksOf } from "./made-of.ts";

const rows = (from: number, count: number) => Array.from({ length: count }, (_, i) => ({ prompt: `question ${from + i}` }));
const world = (splits: Record<string, readonly { prompt: string }[]>) =>
  defineEnvironment({ name: "w", tasks: splits as never, start: () => ({ tools: [], reward: () => 0 }) });
const splits = { train: rows(0, 4), test: rows(10, 3), validation: rows(20, 3), challenge: rows(30, 3) };
const of = (evaluation: object, more: object = {}, environment: Environment = world(splits)) =>
  tasksOf(resolveConfig({ environment: "office", evaluation, ...more }), environment);
const named = async (...given: Parameters<typeof of>) => Object.keys((await of(...given)).madeOf);

test("the parts of a run are the tasks that it trains, and those of each split that it measures", async () => {
  const every = { every: 5, split: "validation", tasks: 2 };
  expect(await named({ tasks: 3, split: "test", challenge: true, during: every })).toEqual([
    ...["the train tasks", "the validation tasks", "the challenge tasks", "the test tasks"],
  ]);
  expect(await named({ tasks: 3, split: "test", challenge: false })).toEqual(["the train tasks", "the test tasks"]);
  expect(await named({ tasks: 0, split: "test", challenge: true })).toEqual(["the train tasks"]);
  expect(await named({ tasks: 0, split: "test", during: every })).toEqual(["the train tasks", "the validation tasks"]);
  expect(await named({ tasks: 3, split: "train", challenge: false })).toEqual(["the train tasks", "the measured train tasks"]);
  expect(await named({ tasks: 3, split: "test", challenge: false }, { rollout: { split: "validation" } })).toEqual([
    ...["the validation tasks", "the test tasks"],
  ]);
  const data = { algorithm: { kind: "sft", data: "rows.jsonl" } };
  expect(await named({ tasks: 3, split: "test", challenge: false }, data)).toEqual(["the test tasks"]);
});

test("of training tasks the first 64 and their number count, of measured ones as many as are measured", async () => {
  const sized = async (train: number, last: string, measured: number) => {
    const tasks = [...rows(0, train - 1), { prompt: last }];
    return (await of({ tasks: measured, split: "test", challenge: false }, {}, world({ ...splits, train: tasks }))).madeOf;
  };
  const trained = async (count: number, last: string) => (await sized(count, last, 2))["the train tasks"];
  expect(await trained(64, "x")).not.toBe(await trained(64, "y"));
  expect(await trained(65, "x")).toBe(await trained(65, "y"));
  expect(await trained(65, "x")).not.toBe(await trained(66, "x"));
  expect((await sized(4, "x", 2))["the test tasks"]).not.toBe((await sized(4, "x", 3))["the test tasks"]);
  expect((await sized(4, "x", 3))["the test tasks"]).toBe((await sized(4, "x", 4))["the test tasks"]);
});

test("prompts that are trained and measured are counted, the first of them is shown, cut", async () => {
  const long = "x".repeat(99);
  const both = world({
    ...splits,
    train: [{ prompt: "a" }, { prompt: long }],
    test: [{ prompt: "b" }, { prompt: long }, { prompt: "a" }],
  });
  expect((await of({ tasks: 3, split: "test", challenge: false }, {}, both)).shared).toBe(
    `2 of 3 test tasks have the prompt of a train task, so what is measured was trained; the first: "${"x".repeat(80)}". Put equal prompts on one side.`,
  );
  expect((await of({ tasks: 3, split: "test", challenge: true }, {}, both)).shared).toMatch(/^2 of 3 test tasks/);
  expect((await of({ tasks: 3, split: "train", challenge: false }, {}, both)).shared).toBeUndefined();
});

test("tasks without a prompt are not compared, nor those without an end", async () => {
  const endless = (task: (index: number) => object, size: number): Environment =>
    ({
      ...{ name: "w", splits: ["train", "test"], size: () => size },
      task: (_: string, index: number) => ({ id: `t${index}`, ...task(index) }),
    }) as unknown as Environment;
  const same = { tasks: 2, split: "test", challenge: false };
  expect(
    (
      await of(
        same,
        {},
        endless(() => ({}), 3),
      )
    ).shared,
  ).toBeUndefined();
  expect(
    (
      await of(
        same,
        {},
        endless(() => ({ request: { prompt: 5 } }), 3),
      )
    ).shared,
  ).toBeUndefined();
  expect(
    (
      await of(
        same,
        {},
        endless(() => ({ request: { prompt: "a" } }), Number.POSITIVE_INFINITY),
      )
    ).shared,
  ).toBeUndefined();
  expect(
    (
      await of(
        same,
        {},
        endless(() => ({ request: { prompt: "a" } }), 3),
      )
    ).shared,
  ).toMatch(/^2 of 2 test tasks/);
  // A number beyond 2^53 may be in a task.
  expect(
    (
      await of(
        same,
        {},
        endless((index) => ({ n: BigInt(index) }), 3),
      )
    ).madeOf["the test tasks"],
  ).toMatch(/^[0-9a-f]{64}$/);
});
