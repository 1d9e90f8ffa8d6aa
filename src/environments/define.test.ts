import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../tools/tool.ts";
import { defineEnvironment } from "./define.ts";

const counter = defineEnvironment({
  name: "counter",
  system: "Count.",
  tasks: (random) => ({ prompt: `Count to ${2 + random.integer(50)}.` }),
  start: () => {
    let count = 0;
    const tool = defineTool({ name: "next", description: "Counts", parameters: z.object({}), execute: () => ++count });
    return { tools: [tool], reward: ({ answer }) => (answer === String(count) ? 1 : 0) };
  },
});

test("an episode starts with the system message and the request, and ends with the first answer", async () => {
  const task = await counter.task("test", 3);
  const episode = await counter.start(task, 1);
  expect(episode.messages).toEqual([
    { role: "system", content: "Count." },
    { role: "user", content: task.request.prompt },
  ]);
  expect(await episode.reply({ role: "assistant", content: "1" })).toEqual({ done: true });
});

test("episodes share no state, and the reward reads the last answer", async () => {
  const task = await counter.task("train", 0);
  const [first, second] = [await counter.start(task, 1), await counter.start(task, 1)];
  const signal = new AbortController().signal;
  first.tools[0].execute({}, { signal });
  first.tools[0].execute({}, { signal });
  const conversation = [{ role: "assistant", content: "7" } as const, { role: "assistant", content: "2" } as const];
  expect(await first.score(conversation)).toEqual({ reward: 1 });
  expect(await second.score(conversation)).toEqual({ reward: 0 });
});

test("made-up tasks are the same each time, and other ones in other splits", async () => {
  const prompts = async (split: "train" | "test") =>
    Promise.all(Array.from({ length: 20 }, async (_, i) => (await counter.task(split, i)).request.prompt));
  expect(await prompts("train")).toEqual(await prompts("train"));
  expect(await prompts("test")).not.toEqual(await prompts("train"));
  expect(counter.size("train")).toBe(Number.POSITIVE_INFINITY);
});

test("listed tasks make up the splits that they are listed for", async () => {
  const listed = defineEnvironment({
    name: "listed",
    tasks: { train: [{ prompt: "one" }, { prompt: "two", kind: "even" }] },
    start: () => ({ tools: [], reward: () => ({ reward: 0.5, scores: { brevity: 1 } }) }),
  });
  expect([listed.size("train"), listed.size("test")]).toEqual([2, 0]);
  const task = await listed.task("train", 1);
  expect(task).toMatchObject({ id: "train/1", kind: "even" });
  const episode = await listed.start(task, 0);
  expect(episode.messages).toEqual([{ role: "user", content: "two" }]);
  expect(await episode.score([])).toEqual({ reward: 0.5, scores: { brevity: 1 } });
});

test("a list of tasks alone is to train on", async () => {
  const environment = defineEnvironment({ name: "own", tasks: [{ prompt: "one" }], start: () => ({ tools: [] }) });
  expect(environment.splits).toEqual(["train"]);
  expect(await environment.task("train", 0)).toMatchObject({ id: "train/0", request: { prompt: "one" } });
});

test("a property that nothing reads is refused where it stands, with the place where it belongs", async () => {
  const tasks = { train: [{ prompt: "one" }] };
  const start = () => ({ tools: [], reward: () => 1 });
  // As plain JavaScript, or a definition of type any, lets them through.
  const define = (definition: object) => () => defineEnvironment(definition as Parameters<typeof defineEnvironment>[0]);
  expect(define({ name: "own", tasks, start, reward: () => 1 })).toThrow(/reward.*belongs to what start\(\) returns/s);
  expect(define({ name: "own", tasks, start, systm: "Be kind." })).toThrow(/systm.*Did you mean "?system/s);
  const misspelt = define({ name: "own", tasks, start: () => ({ tools: [], rewards: () => 1 }) })();
  await expect(async () => misspelt.start(await misspelt.task("train", 0), 1)).rejects.toThrow(/rewards.*reward/s);
  class Desk {
    readonly tools = [];
    count = 0;
    reward = () => 1;
  }
  const own = defineEnvironment({ name: "own", tasks, start: () => new Desk() });
  expect(await (await own.start(await own.task("train", 0), 1)).score([])).toEqual({ reward: 1 });
});

test("two tools of one name are refused: those of two MCP servers, for instance", async () => {
  const tool = { name: "search", description: "", parameters: { type: "object" }, execute: () => "" } as const;
  const start = () => ({ tools: [tool, { ...tool }], reward: () => 1 });
  const own = defineEnvironment({ name: "own", tasks: [{ prompt: "one" }], start });
  await expect(async () => own.start(await own.task("train", 0), 1)).rejects.toThrow(/a tool of .* is "search".*Rename one/);
});

test.each(["../../evil", "a/b", "a\\b", "..", "", "a\u202eb", "x".repeat(101)])("%j is no name", (name) => {
  expect(() => defineEnvironment({ name, tasks: [], start: () => ({ tools: [] }) })).toThrow(
    /name of the environment is .*no path/,
  );
});
