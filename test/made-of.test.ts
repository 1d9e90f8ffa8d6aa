import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { splitTasks } from "../extensions/agents/tasks.ts";
import { rewardOf, trainedAgent } from "../extensions/agents/train-agent.ts";
import { defineEnvironment } from "../src/environments/define.ts";
import { codeDigests } from "../src/files/code-digests.ts";
import { createRun, requireSameParts } from "../src/runs/write.ts";
import { codeAndData, tasksOf } from "../src/sdk/made-of.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { loadConfigFile } from "../src/training/config/config-file.ts";
import { root } from "./house.ts";

const fresh = () => mkdtempSync(join(tmpdir(), "retrograde-made-of-"));
const rows = (...numbers: readonly number[]) => numbers.map((n) => ({ prompt: `question ${n}` }));
const world = (train: readonly { prompt: string }[], test: readonly { prompt: string }[]) =>
  defineEnvironment({ name: "w", tasks: { train, test }, start: () => ({ tools: [], reward: () => 0 }) });
const config = resolveConfig({ environment: "office", evaluation: { tasks: 4, split: "test" } });
const partsOf = async (train: readonly { prompt: string }[], test: readonly { prompt: string }[]) =>
  (await tasksOf(config, world(train, test))).madeOf;

test("other tasks, fewer of them, another order: each is another run", async () => {
  const before = await partsOf(rows(1, 2, 3), rows(8, 9));
  expect(await partsOf(rows(1, 2, 3), rows(8, 9))).toEqual(before);
  for (const changed of [partsOf(rows(1, 2), rows(8, 9)), partsOf(rows(1, 3, 2), rows(8, 9)), partsOf(rows(1, 2, 4), rows(8, 9))])
    expect(await changed).toMatchObject({ "the test tasks": before["the test tasks"] });
  expect((await partsOf(rows(1, 2), rows(8, 9)))["the train tasks"]).not.toBe(before["the train tasks"]);
  expect((await partsOf(rows(1, 3, 2), rows(8, 9)))["the train tasks"]).not.toBe(before["the train tasks"]);
  expect((await partsOf(rows(1, 2, 3), rows(8, 7)))["the test tasks"]).not.toBe(before["the test tasks"]);
});

test("a run over changed parts is refused in one line that names them, or continues knowingly", () => {
  const folder = join(fresh(), "run");
  const before = { "the train tasks": "a", "the test tasks": "b", "code reward.ts": "c" };
  createRun(folder, config, "cpu", before);
  expect(requireSameParts(folder, before, false)).toBeUndefined();
  const now = { ...before, "the test tasks": "x", "code reward.ts": "y" };
  expect(() => requireSameParts(folder, now, false)).toThrow(
    /is "the test tasks, code reward.ts have changed since the run began".*--allow-changed/,
  );
  expect(requireSameParts(folder, now, true)).toMatch(/have changed since the run began: .*are not compared/);
  expect(() => requireSameParts(folder, { "the train tasks": "a", "the test tasks": "b" }, false)).toThrow(
    /code reward.ts has changed/,
  );
});

test("code is its file and what that imports from beside it, packages not", () => {
  const folder = fresh();
  writeFileSync(
    join(folder, "reward.ts"),
    'import { z } from "zod";\nimport { near } from "./near.js";\nexport default () => near;',
  );
  writeFileSync(join(folder, "near.ts"), 'export { near } from "./far";');
  writeFileSync(join(folder, "far.ts"), "export const near = 1;");
  const before = codeDigests([join(folder, "reward.ts")]);
  expect(Object.keys(before)).toEqual(["reward.ts", "near.ts", "far.ts"]);
  writeFileSync(join(folder, "far.ts"), "export const near = 2;");
  const after = codeDigests([join(folder, "reward.ts")]);
  expect(after).toEqual({ ...before, "far.ts": after["far.ts"] });
  expect(after["far.ts"]).not.toBe(before["far.ts"]);
  expect(codeDigests([join(folder, "none.ts")])).toEqual({});
  // This package's own modules are not the user's code, though they are beside it in a checkout.
  const recipe = join(root, "research/recipes/calculator-questions.ts");
  expect(Object.keys(codeDigests([recipe]))).toEqual(["calculator-questions.ts"]);
});

test("an agent's module, its reward, an own environment and a reward in code are parts by their files", async () => {
  const folder = fresh();
  writeFileSync(join(folder, "agent.mjs"), "export default async () => 'a';");
  writeFileSync(join(folder, "reward.mjs"), "export default () => 1;");
  const agent = trainedAgent({
    agent: join(folder, "agent.mjs"),
    tasks: { train: rows(1), test: rows(2) },
    reward: await rewardOf(join(folder, "reward.mjs")),
  });
  expect(Object.keys(await codeAndData(config, agent, {}))).toEqual(["code agent.mjs", "code reward.mjs"]);
  const file = join(folder, "own.config.mjs");
  writeFileSync(
    file,
    "export default { environment: { name: 'own', start() {} }, rewards: [{ name: 'r', weight: 1, verify: () => 1 }] };",
  );
  const user = await loadConfigFile(file);
  expect(Object.keys(await codeAndData(config, user.environment as never, user))).toEqual(["code own.config.mjs"]);
  const data = join(folder, "rows.jsonl");
  writeFileSync(data, "{}\n");
  const sft = resolveConfig({ environment: "office", algorithm: { kind: "sft", data } });
  expect(Object.keys(await codeAndData(sft, world([], []), {}))).toEqual(["the conversations"]);
});

test("prompts on both sides of a split are found, and tasks of one prompt are split to one side", async () => {
  const { shared } = await tasksOf(config, world(rows(1, 2, 3), rows(3, 9)));
  expect(shared).toMatch(/^1 of 2 test tasks have the prompt of a train task.*"question 3"/);
  expect((await tasksOf(config, world(rows(1, 2), rows(8, 9)))).shared).toBeUndefined();
  const doubled = Array.from({ length: 40 }, (_, i) => ({ prompt: `question ${i % 20}`, answer: i }));
  const { train, test: kept } = splitTasks(doubled);
  const trained = new Set(train.map(({ prompt }) => prompt));
  expect(kept.filter(({ prompt }) => trained.has(prompt))).toEqual([]);
  expect(train.length + kept.length).toBe(40);
  expect(kept.length).toBeGreaterThanOrEqual(8);
});
