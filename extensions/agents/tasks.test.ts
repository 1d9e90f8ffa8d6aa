import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readTasks, splitTasks } from "./tasks.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-tasks-"));
afterAll(() => rmSync(folder, { recursive: true }));
const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ prompt: `Number ${n}?`, n }));

test.each([
  [5, 1],
  [7, 1],
  [8, 2],
  [10, 2],
  [100, 20],
])("of %i tasks %i are measured, and no other", (count, measured) => {
  const tasks = numbered(count);
  const { train, test: kept } = splitTasks(tasks);
  expect([train.length, kept.length]).toEqual([count - measured, measured]);
  expect([...train, ...kept].sort((a, b) => a.n - b.n)).toEqual(tasks);
});

test("fewer than five are trained and measured alike", () => {
  const tasks = numbered(4);
  expect(splitTasks(tasks)).toEqual({ train: tasks, test: tasks });
});

test("the place in the list decides nothing, and tasks of one prompt are on one side", () => {
  const tasks = numbered(30);
  const measured = (of: typeof tasks) =>
    splitTasks(of)
      .test.map(({ n }) => n)
      .sort((a, b) => a - b);
  expect(measured(tasks.toReversed())).toEqual(measured(tasks));
  const twins = numbered(10).flatMap((task) => [task, { ...task, n: task.n + 100 }]);
  const { train, test: kept } = splitTasks(twins);
  const prompts = new Set(train.map(({ prompt }) => prompt));
  expect(kept.filter(({ prompt }) => prompts.has(prompt))).toEqual([]);
  expect(kept.length % 2).toBe(0);
});

test("no task, and a task that is there twice, are refused", () => {
  expect(() => splitTasks([])).toThrow(/tasks is "none"/);
  expect(() => splitTasks([...numbered(6), { prompt: "Number 3?", n: 3 }])).toThrow(/each task once/);
});

test("a file's lines are tasks; blank ones are not, and the first that is none is named", () => {
  const file = join(folder, "tasks.jsonl");
  writeFileSync(file, '{"prompt":"a","of":1}\n\n  \n{"prompt":"b","kind":"k"}\n');
  expect(readTasks(file)).toEqual([
    { prompt: "a", of: 1 },
    { prompt: "b", kind: "k" },
  ]);
  for (const line of ["{", '{"text":"a"}', '{"prompt":1}', '{"prompt":"a","kind":1}']) {
    writeFileSync(file, `{"prompt":"a"}\n\n${line}\n`);
    expect(() => readTasks(file)).toThrow(`tasks.jsonl:3 is `);
  }
  expect(() => readTasks(join(folder, "none.jsonl"))).toThrow(/tasks is .*none\.jsonl"; expected a file of JSON lines/);
});
