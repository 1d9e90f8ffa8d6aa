import "../../../test/loopback.ts";
import "../../../test/clocked-engine.ts";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { RunPlan } from "../../../src/sdk/train.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { startClock } from "../../../test/clocked-engine.ts";
import { finish, model, root } from "../taught.fixture.ts";
import { askingAgent } from "./asking-agent.fixture.ts";
import { taughtLines } from "./taught-report.ts";
import { trainAgentCommand } from "./train-agent.ts";

beforeEach(startClock);
afterAll(() => rmSync(root, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};
const agent = file("agent.mjs", askingAgent);
const prompts = ["a", "b", "c", "s", "u", "t", "ab", "ac", "as", "au", "at", "ba"];
const given = {
  tasks: file("tasks.jsonl", prompts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join("")),
  reward: file("reward.mjs", "export default ({ task, answer }) => Number(answer === task.prompt);\n"),
  teacher: file("expert.mjs", "export default ({ messages }) => ({ content: messages[0].content });\n"),
  model,
  ...{ steps: "1", tasksPerStep: "2", groupSize: "2", set: ["engine.kind=clocked", "algorithm.kind=grpo", "evaluation.k=2"] },
};

async function command(flags: object, ends: (plan: RunPlan) => boolean = () => true) {
  let out = "";
  const plans: RunPlan[] = [];
  const stage = async (plan: RunPlan) => {
    plans.push(plan);
    if (!ends(plan)) return undefined;
    rmSync(plan.folder, { recursive: true, force: true });
    return finish(plan.folder);
  };
  const screen = createScreen({ write: (part: string) => (out += part), columns: 120 });
  const code = await trainAgentCommand([agent], { ...given, ...flags } as never, screen, stage as never);
  return { code, lines: out.trimEnd().split("\n"), plans };
}

test("the teacher's flags decide its stages, and what was learned is said at the end", async () => {
  const out = join(root, "whole");
  const flags = { demonstrations: "4", keep: "reward >= 0.5", sftSteps: "3", sftLearningRate: "3e-4", prices: "1,2,EUR" };
  const { code, lines, plans } = await command({ ...flags, out });
  expect(code).toBe(0);
  expect(lines.slice(0, 4)).toEqual([
    "Plan: 4 tasks for demonstrations, 6 for reinforcement, 2 for measuring; no prompt is in two parts",
    "  record    4 attempts of expert.mjs, a script: no tokens, no money; kept by reward >= 0.5",
    `  sft       3 steps of about 2,000 tokens, from ${model}`,
    "  grpo      1 step of 2 tasks × 2 rollouts",
  ]);
  expect(plans.map(({ folder }) => folder)).toEqual([`${out}-sft`, out]);
  expect(plans[0].config).toMatchObject({ steps: 3, optimizer: { learningRate: 3e-4 }, algorithm: { kind: "sft" } });
  expect(lines).toContain(
    "  4 demonstrations, kept from 100.0 % of the teacher's attempts; sft 1 min 00 s, grpo 1 min 00 s, at most 100 MB",
  );
  // All is done: the same command says the same again.
  const again = await command({ ...flags, out });
  expect([again.code, again.plans]).toEqual([0, []]);
  expect(again.lines.at(-1)).toBe(lines.at(-1));
});

test("an interrupted stage ends the command with the code of an interruption", async () => {
  const { code, plans } = await command({ out: join(root, "interrupted") }, () => false);
  expect([code, plans.length]).toEqual([130, 1]);
});

test("a configuration's environment is refused where its file is named", async () => {
  const config = file("office.config.mjs", 'export default { environment: "office" };\n');
  await expect(command({ config })).rejects.toThrow(
    /^environment of \S+office\.config\.mjs is "office"; expected none: the agent is the environment\. Take it out of the file/,
  );
  const named = file("named.config.mjs", 'export default { environment: { name: "office" } };\n');
  await expect(command({ config: named })).rejects.toThrow(/named\.config\.mjs is "office"; expected none/);
});

test.each([
  [{ demonstrations: "few" }, /^--demonstrations is/],
  [{ sftSteps: "0.5" }, /^--sft-steps is/],
  [{ sftLearningRate: "-1" }, /^--sft-learning-rate is/],
  [{ prices: "much" }, /^--prices is/],
  [{ teacher: "nobody" }, /^--teacher is "nobody"/],
  [{ tasks: undefined }, /^--tasks is/],
])("%j is refused", async (flags, message) => {
  await expect(command({ ...flags, out: join(root, "refused") })).rejects.toThrow(message);
});

const [none, half, all] = [[0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0], Array<number>(8).fill(1)];
const each = (rewards: readonly number[], times: number) => rewards.map((reward) => Array<number>(times).fill(reward));

test("the report has success before, after demonstrations and after reinforcement, with the paired changes", () => {
  const [sft, grpo] = [join(root, "report-sft"), join(root, "report")];
  const moments = (when: "before" | "after", rewards: readonly number[]) => [
    { when, decoding: "greedy", successes: each(rewards, 1) } as const,
    { when, decoding: "sampled", successes: each(rewards, 2) } as const,
  ];
  const supervised = { folder: sft, summary: finish(sft, moments("before", none), { wallSeconds: 90, peakRssMb: 1500 }) };
  const summary = finish(grpo, [...moments("before", half), ...moments("after", all)], { wallSeconds: 3600, peakRssMb: 900 });
  const record = { rows: 1, kept: 3, attempts: 9, errors: 1 };
  const lines = taughtLines({ folder: grpo, summary, supervised, record } as never, "grpo", 1);
  const rows = (label: string) => [
    `  ${label.padEnd(13)}before         0.0 %  [0.0, 37.0]`,
    expect.stringMatching(/^ {15}after sft {6}50\.0 % {2}\[\S+, \S+\] {3}\+50\.0 points {2}\[\S+, \S+\], p = 0\.13$/),
    expect.stringMatching(/^ {15}after grpo {5}100\.0 % {2}\[\S+, \S+\] {3}\+50\.0 points {2}\[\S+, \S+\], p = 0\.13$/),
    // Eight tasks of eight better: 2 x 0.5^8.
    expect.stringMatching(/^ {15}in all {9}\+100\.0 points {2}\[\S+, \S+\], p = 0\.0078$/),
  ];
  expect(lines).toEqual([
    "Success on 8 tasks that no stage had, with 95 % intervals",
    ...rows("greedy"),
    ...rows("sampled × 2"),
    "  1 demonstration, kept from 37.5 % of the teacher's attempts; sft 1 min 30 s, grpo 1 h 00 min, at most 1,500 MB",
  ]);
});

test("without evaluations the report has what the stages took alone", () => {
  const [sft, grpo] = [join(root, "bare-sft"), join(root, "bare")];
  const supervised = { folder: sft, summary: finish(sft) };
  const record = { rows: 2, kept: 0, attempts: 1, errors: 1 };
  expect(taughtLines({ folder: grpo, summary: finish(grpo), supervised, record } as never, "ppo", 1)).toEqual([
    "  2 demonstrations, kept from 0.0 % of the teacher's attempts; sft 1 min 00 s, ppo 1 min 00 s, at most 100 MB",
  ]);
});
