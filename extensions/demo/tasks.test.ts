import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { calculationEnvironment, calculatorEnvironment } from "./environments.ts";
import { drawnTasks, lastNumber, type Words } from "./tasks.ts";
import { wordings } from "./wordings.ts";

/** Sixteen digits of a SHA-256. */
const digest = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
const splits = ["train", "validation", "test", "challenge"] as const;

test("a split has its own draws and its size; the challenge alone has unseen words", () => {
  const drawn = drawnTasks("some", (random, words: Words) => ({ prompt: `${words} ${random.integer(1e9)}` }));
  expect(Object.keys(drawn)).toEqual([...splits]);
  const tasks = splits.map((split) => drawn[split]?.() ?? []);
  expect(tasks.map((some) => some.length)).toEqual([8192, 160, 160, 160]);
  expect(tasks.map((some) => [...new Set(some.map(({ prompt }) => prompt.split(" ")[0]))])).toEqual([
    ...[["seen"], ["seen"], ["seen"], ["unseen"]],
  ]);
  expect(new Set(tasks.flat().map(({ prompt }) => prompt)).size).toBe(8192 + 3 * 160);
  const again = drawnTasks("some", (random) => ({ prompt: String(random.integer(1e9)) }));
  expect(again.test?.()[7]?.prompt).toBe(String(randomStream(0, "some", "test", 7).integer(1e9)));
});

test("the last number of a text is its answer, with its sign and decimals", () => {
  const texts = ["", "none", "12", "3 + 4 = 7", "It is -2.5.", "1,5", "7-3", "0.10 apples", "v1.2.3"];
  expect(texts.map(lastNumber)).toEqual([undefined, undefined, 12, 7, -2.5, 5, -3, 0.1, 3]);
});

test("word problems, and what shows their form, are those that results were measured on, word for word", async () => {
  const some = async (environment: ReturnType<typeof calculationEnvironment>) => {
    const of = async (split: (typeof splits)[number]) => {
      const tasks = await Promise.all(Array.from({ length: 100 }, (_, i) => environment.task(split, i)));
      const shown = await Promise.all(tasks.map((task, i) => environment.demonstrate?.(task, i)));
      return [split, digest([tasks, shown, tasks.map((task) => environment.expert?.play(task))])] as const;
    };
    const { messages, tools, limits } = await environment.start(await environment.task("test", 0), 0);
    const opened = [messages, tools.map(({ name, description }) => [name, description]), limits];
    return { opened: digest(opened), ...Object.fromEntries(await Promise.all(splits.map(of))) };
  };
  expect(digest(wordings)).toMatchInlineSnapshot(`"45edb384dc6b464d"`);
  expect(await some(calculationEnvironment())).toMatchInlineSnapshot(`
    {
      "challenge": "94a9dc761caf6cfc",
      "opened": "06aff87f0979aaff",
      "test": "cf5a51149db4049e",
      "train": "1905c67ef699fd66",
      "validation": "85ba1141a24f7b14",
    }
  `);
  expect(await some(calculatorEnvironment())).toMatchInlineSnapshot(`
    {
      "challenge": "05cd0a20a99a6fae",
      "opened": "9b04d2c03ddd2ed7",
      "test": "c1c823bbb16618f5",
      "train": "7fbf48f9a893de4d",
      "validation": "ee8af73516dfdc11",
    }
  `);
});

test("the calculator says a value to two decimals, and what it cannot read", async () => {
  const environment = calculatorEnvironment();
  const { tools } = await environment.start(await environment.task("test", 0), 0);
  const [calculator] = tools;
  const context = { signal: new AbortController().signal };
  const said = async (expression: string) => {
    try {
      return await calculator?.execute({ expression }, context);
    } catch (error) {
      return String(error);
    }
  };
  const texts = ["2 / 3", "7 x 6", "7×6.", "3 - 10", "1 + 2 + 3", "1234567 + 1", "8 ÷ 3", "9 % 2"];
  expect(await Promise.all(texts.map(said))).toMatchInlineSnapshot(`
    [
      "0.67",
      "42",
      "42",
      "-7",
      "ToolError: expression is "1 + 2 + 3"; expected two numbers, as in 3 + 4.",
      "ToolError: expression is "1234567 + 1"; expected two numbers, as in 3 + 4.",
      "2.67",
      "ToolError: expression is "9 % 2"; expected two numbers, as in 3 + 4.",
    ]
  `);
});
