import "../../test/loopback.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { filesOf } from "../../src/training/config/config-file.ts";
import { codeOf, functionOf, isProgram, rewardOf, tasksOf, trainedAgent, trainingOf } from "./train-agent.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-train-agent-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const reward = file("reward.mjs", "export default () => 1;\n");
const agent = file("agent.mjs", "export default async (prompt) => prompt + '!';\n");
const prompts = Array.from({ length: 10 }, (_, i) => ({ prompt: `${i}?` }));

test.each<[readonly string[], unknown]>([
  ...["a.ts", "a.js", "a.mts", "a.cts", "a.mjs", "a.cjs", "a.tsx", "a.jsx"].map((name): [string[], unknown] => [[name], name]),
  [["agent"], { command: ["agent"] }],
  [["a.tsv"], { command: ["a.tsv"] }],
  [["ats"], { command: ["ats"] }],
  [["a.ts", "--fast"], { command: ["a.ts", "--fast"] }],
  [["python", "agent.py"], { command: ["python", "agent.py"] }],
])("the words %j are the agent %j", async (words, expected) => {
  const training = await trainingOf(words, { tasks: "tasks.jsonl", reward });
  expect(training).toEqual({ agent: expected, tasks: "tasks.jsonl", reward: expect.any(Function) });
  expect(isProgram(training.agent)).toBe(typeof expected === "object");
});

test("a command line without tasks, and a reward that is none, are refused by their flags", async () => {
  await expect(trainingOf(["a.ts"], { reward })).rejects.toThrow(
    '--tasks is "none"; expected a file of JSON lines, each with a prompt.',
  );
  expect((await rewardOf(reward))({ task: { prompt: "" }, answer: "" })).toBe(1);
  const none = file("none.mjs", "export default 7;\n");
  for (const given of [undefined, none])
    await expect(rewardOf(given)).rejects.toThrow(/^--reward is .*; expected a module whose default export is a function of \{/);
});

test("an agent is a function, that of a module, or an object of a framework", async () => {
  const own = async (prompt: string) => prompt;
  expect(await functionOf(own)).toBe(own);
  expect(await (await functionOf(agent))("Hi", {} as never)).toBe("Hi!");
  expect(await (await functionOf({ generate: async (prompt: string) => ({ text: `${prompt}?` }) }))("Hi", {} as never)).toBe(
    "Hi?",
  );
  const strange = file("strange.mjs", "export default 7;\n");
  await expect(functionOf(strange)).rejects.toThrow(
    /strange\.mjs is "number"; expected a function \(prompt\) => answer, or an agent object of OpenAI Agents, Mastra, LangGraph or the AI SDK\. Write `export default async/,
  );
  await expect(functionOf({})).rejects.toThrow(/^agent is "object"/);
});

test("the code of an agent is that of its files, and its own text where there is none", () => {
  const own = async (prompt: string) => prompt;
  expect(codeOf(own)).toBe(String(own));
  const script = file("agent.py", "print(1)\n");
  const [module, program] = [codeOf(agent), codeOf({ command: ["python", script] })];
  expect(JSON.parse(module)).toEqual({ "agent.mjs": expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(program).toMatch(/^python,\S+agent\.py \{"agent\.py":"[0-9a-f]{64}"\}$/);
  file("agent.py", "print(2)\n");
  expect(codeOf({ command: ["python", script] })).not.toBe(program);
  expect(codeOf({ command: ["python", "-c", "1"] })).toBe("python,-c,1 {}");
});

test("tasks are a list that is split, both lists, or a file", () => {
  const both = { train: prompts.slice(0, 3), test: prompts.slice(2, 4) };
  expect(tasksOf(both)).toBe(both);
  const { train, test: kept } = tasksOf(prompts);
  expect([train.length, kept.length]).toEqual([8, 2]);
  const lines = file("tasks.jsonl", prompts.map((task) => `${JSON.stringify(task)}\n`).join(""));
  expect(tasksOf(lines)).toEqual({ train, test: kept });
});

test("a training knows the files of its agent and its reward, and has its tasks and settings", async () => {
  const given = { tasks: { train: prompts.slice(0, 2), test: prompts.slice(2, 3) }, reward: await rewardOf(reward) };
  const environment = trainedAgent({ ...given, agent, concurrency: 2 });
  expect(filesOf(environment)).toEqual([agent, reward]);
  expect([environment.name, environment.concurrency]).toEqual(["agent", 2]);
  expect([environment.size("train"), environment.size("test")]).toEqual([2, 1]);
  const named = trainedAgent({ ...given, agent: { command: ["python", "none.py"] }, name: "desk" });
  expect([named.name, named.concurrency, filesOf(named)]).toEqual(["desk", undefined, [reward]]);
  // A program is started once an episode: there is nothing to open or to close.
  await named.open?.();
  await named.close?.();
  expect(() => trainedAgent({ ...given, agent, reward: 1 as never })).toThrow(
    "reward is 1; expected a function of { task, answer }.",
  );
});
