import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { planTaught, taughtTasks } from "./taught-plan.ts";

const folder = mkdtempSync(join(tmpdir(), "taught-plan-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("until a run begins, other settings of the runs take the recorded demonstrations; another teacher does not", async () => {
  const out = join(folder, "desk");
  const tasks = Array.from({ length: 20 }, (_, n) => ({ prompt: `Where is B${n}?` }));
  const agent = async (prompt: string) => prompt;
  const plan = (steps: number, teacher = () => ({ content: "" })) =>
    planTaught({ agent, tasks, reward: () => 1, teacher, demonstrations: { steps } }, { out, seed: 1 });
  const first = await plan(40);
  expect((await plan(30)).file).toBe(first.file);
  await expect(plan(30, () => ({ content: "It is here." }))).rejects.toThrow(/the teacher of this training/);

  mkdirSync(`${out}-sft`);
  expect((await plan(30)).file).toBe(first.file);
  await expect(plan(40)).rejects.toThrow(/"steps":30.*give another --out.*a copy of .*desk-demonstrations beside it/s);
});

const twenty = Array.from({ length: 20 }, (_, n) => ({ prompt: `Where is B${n}?` }));
const given = { agent: "./agent.ts", reward: () => 1, teacher: () => ({ content: "" }) };
const prompts = (tasks: readonly { prompt: string }[]) => tasks.map(({ prompt }) => prompt).sort();

test("the tasks are in three parts, half of the training ones demonstrated, and the names follow the folder", async () => {
  const out = join(folder, "parts");
  const plan = await planTaught({ ...given, tasks: twenty }, { out });
  expect(plan).toMatchObject({
    teacher: { name: "a scripted teacher", isScript: true },
    folders: { demonstrations: `${out}-demonstrations`, supervised: `${out}-sft`, reinforced: out },
    file: join(`${out}-demonstrations`, "demonstrations.jsonl"),
  });
  const { demonstrations, reinforcement, test: measured } = plan.tasks;
  expect([demonstrations.length, reinforcement.length, measured.length]).toEqual([8, 8, 4]);
  expect(prompts([...demonstrations, ...reinforcement, ...measured])).toEqual(prompts(twenty));
  // Neither part is the head of the file.
  const places = demonstrations.map((task) => twenty.indexOf(task));
  expect(Math.max(...places)).toBeGreaterThan(10);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(JSON.parse(readFileSync(join(`${out}-demonstrations`, "plan.json"), "utf8"))).toMatchObject({
    ...{ schema: 1, agent: "./agent.ts", demonstrations: "{}", settings: "{}" },
    teacher: expect.stringMatching(/^a scripted teacher, SHA-256 [0-9a-f]{16}$/),
  });
  const own = { teacher: { name: "gpt", baseUrl: "https://user:pass@host/v1", apiKey: "k" } };
  const endpoint = await planTaught({ ...given, ...own, tasks: twenty }, { out: join(folder, "endpoint") });
  expect(endpoint.teacher).toEqual({ name: "gpt", isScript: false });
  expect(readFileSync(join(endpoint.folders.demonstrations, "plan.json"), "utf8")).not.toContain("pass");
});

test("without a folder the same plan has the same one, and another plan another", async () => {
  const here = process.cwd();
  process.chdir(folder);
  try {
    const folderOf = async (more: object = {}) =>
      (await planTaught({ ...given, tasks: twenty, name: "desk", ...more }, {})).folders.reinforced;
    const first = await folderOf();
    expect(first).toMatch(/[\\/]runs[\\/]desk-[0-9a-f]{8}$/);
    expect(await folderOf()).toBe(first);
    expect(await folderOf({ agent: { command: ["python", "a.py"] } })).not.toBe(first);
    expect(await folderOf({ demonstrations: { tasks: 5 } })).not.toBe(first);
  } finally {
    process.chdir(here);
  }
});

const split = (train: number, test: number) => ({
  train: Array.from({ length: train }, (_, n) => ({ prompt: `train ${n}` })),
  test: Array.from({ length: test }, (_, n) => ({ prompt: `test ${n}` })),
});
test.each<[object, number | undefined, RegExp | [number, number]]>([
  [split(8, 2), undefined, [4, 4]],
  [
    split(7, 2),
    undefined,
    /^tasks is "7 to train and 2 to measure"; expected at least 8 training tasks and 2 others that measure\./,
  ],
  [split(8, 1), undefined, /^tasks is "8 to train and 1 to measure"/],
  [split(9, 2), undefined, [4, 5]],
  [split(9, 2), 5, [5, 4]],
  [split(9, 2), 6, /^demonstrations\.tasks is 6; expected a whole number from 4 to 5 here/],
  [split(9, 2), 3, /^demonstrations\.tasks is 3/],
  [split(9, 2), 4.5, /^demonstrations\.tasks is 4\.5/],
  [split(300, 2), undefined, [100, 200]],
  [
    { ...split(8, 1), test: [{ prompt: "other" }, { prompt: "train 3" }] },
    undefined,
    /^tasks is "train 3"; expected a prompt that is trained or measured, and not both\. A list of ten or more is split by itself/,
  ],
  // Equal prompts stay together.
  [{ ...split(8, 2), train: Array.from({ length: 10 }, (_, n) => ({ prompt: `t${Math.floor(n / 2)}`, n })) }, 4, [4, 6]],
])("of tasks as %j, %j demonstrated", async (tasks, count, expected) => {
  const out = join(folder, `split-${Math.random()}`);
  const plan = planTaught({ ...given, tasks: tasks as never, demonstrations: { tasks: count } }, { out });
  if (expected instanceof RegExp) return expect(plan).rejects.toThrow(expected);
  const { demonstrations, reinforcement } = (await plan).tasks;
  expect([demonstrations.length, reinforcement.length]).toEqual(expected);
  const shown = new Set(demonstrations.map(({ prompt }) => prompt));
  expect(reinforcement.filter(({ prompt }) => shown.has(prompt))).toEqual([]);
});

test("a folder of something else is refused, and an unknown setting of demonstrations", async () => {
  const out = join(folder, "taken");
  mkdirSync(out);
  await expect(planTaught({ ...given, tasks: twenty }, { out })).rejects.toThrow(
    `out is "${out}"; expected a new folder, or one that the same command began.`,
  );
  await expect(
    planTaught({ ...given, tasks: twenty, demonstrations: { task: 3 } as never }, { out: join(folder, "unknown") }),
  ).rejects.toThrow(/demonstrations.*task/);
});

test("once it began, another agent, reward, list or teacher is refused, and other demonstrations or settings once it trains", async () => {
  const out = join(folder, "same");
  const plan = (more: object = {}, settings: object = {}) =>
    planTaught({ ...given, tasks: twenty, ...more }, { out, ...settings });
  const { folders } = await plan();
  const others = "Demonstrations are of one agent, reward, teacher and list of tasks: give another --out for others.";
  await expect(plan({ agent: "./other.ts" })).rejects.toThrow(
    `the agent of this training is "./other.ts"; expected ./agent.ts, with which ${out} began. ${others}`,
  );
  await expect(plan({ reward: () => 2 })).rejects.toThrow(/^the reward of this training is/);
  await expect(plan({ tasks: twenty.slice(1) })).rejects.toThrow(/^the tasks of this training is/);
  await plan({ demonstrations: { steps: 3 } }, { seed: 2 });
  mkdirSync(folders.supervised);
  await expect(plan({}, { seed: 2 })).rejects.toThrow(/^the demonstrations of this training is "\{\}"; expected \{"steps":3\}/);
  await expect(plan({ demonstrations: { steps: 3 } }, { seed: 3 })).rejects.toThrow(
    /^the settings of this training is "\{\\"seed\\":3\}"; expected \{"seed":2\}, .* A training continues under its own settings: give another --out/,
  );
  expect((await plan({ demonstrations: { steps: 3 } }, { seed: 2 })).folders).toEqual(folders);
});

test("the reinforced run's tasks are those of the file without the demonstrated ones", async () => {
  const [out, file] = [join(folder, "found"), join(folder, "found.jsonl")];
  writeFileSync(file, twenty.map((task) => `${JSON.stringify(task)}\n`).join(""));
  expect(taughtTasks(out, file)).toBeUndefined();
  const { tasks } = await planTaught({ ...given, tasks: file, demonstrations: { tasks: 5 } }, { out });
  const found = taughtTasks(out, file);
  expect([prompts(found?.train ?? []), prompts(found?.test ?? [])]).toEqual([prompts(tasks.reinforcement), prompts(tasks.test)]);
  writeFileSync(
    file,
    twenty
      .slice(1)
      .map((task) => `${JSON.stringify(task)}\n`)
      .join(""),
  );
  expect(() => taughtTasks(out, file)).toThrow(`the tasks is "${file}"; expected those with which ${out} began.`);
});
