import "../../test/loopback.ts";
import "../../test/clocked-engine.ts";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { createRun } from "../../src/runs/write.ts";
import type { RunPlan } from "../../src/sdk/train.ts";
import { startClock } from "../../test/clocked-engine.ts";
import type { TeacherRequest } from "./scripted-teacher.ts";
import { finish, model, root } from "./taught.fixture.ts";
import { teach, trainAgent } from "./taught-agent.ts";
import type { AgentRun } from "./train-agent.ts";

beforeEach(startClock);
afterAll(() => rmSync(root, { recursive: true }));

/** Says what its model says. */
const agent = async (prompt: string, { baseUrl }: AgentRun) => {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body });
  return JSON.parse(await response.text()).choices[0].message.content;
};
const tasks = ["a", "b", "c", "s", "u", "t", "ab", "ac", "as", "au", "at", "ba"].map((prompt) => ({ prompt }));
const reward = ({ task, answer }: { task: { prompt: string }; answer: unknown }) =>
  Number(answer === `${task.prompt}${task.prompt}`);
let asked: string[] = [];
const expert = ({ messages: [{ content }] }: TeacherRequest) => {
  asked.push(content);
  vi.advanceTimersByTime(2000);
  return { content: content + content };
};
const trainingIn = (name: string, more: object = {}) => ({
  ...{ agent, tasks, reward, teacher: expert, model, engine: { kind: "clocked" } as never, out: join(root, name) },
  ...{ steps: 1, algorithm: "grpo" as const, rollout: { tasksPerStep: 2, groupSize: 2 }, evaluation: { k: 2 } },
  demonstrations: { steps: 2, learningRate: 3e-4 },
  ...more,
});

/** Teaches with stages that end at once, and says what was said and run. @param ends whether each stage does */
async function taught(name: string, { more = {}, ends = () => true }: { more?: object; ends?: () => boolean } = {}) {
  asked = [];
  const said: string[] = [];
  const plans: RunPlan[] = [];
  const run = async (plan: RunPlan) => {
    plans.push(plan);
    if (!ends()) return false;
    rmSync(plan.folder, { recursive: true, force: true });
    finish(plan.folder);
    return true;
  };
  const result = await teach(trainingIn(name, more) as never, { say: (line) => said.push(line), run });
  return { said, plans, result };
}

test("a teacher's attempts are recorded, then learned, then reinforcement begins with what was learned", async () => {
  const { said, plans, result } = await taught("whole");
  const out = join(root, "whole");
  expect(said).toEqual([
    "Plan: 5 tasks for demonstrations, 5 for reinforcement, 2 for measuring; no prompt is in two parts",
    "  record    5 attempts of a scripted teacher, a script: no tokens, no money; kept by reward >= 1",
    `  sft       2 steps of about 2,000 tokens, from ${model}`,
    "  grpo      1 step of 2 tasks × 2 rollouts",
    "  measured  before, after sft and after grpo: 2 tasks, 2 attempts and a greedy one at each",
    `  folders   ${out}-demonstrations, ${out}-sft, ${out}; the same command continues`,
    // Two took four seconds by the clock, and four are played at a time.
    "About 3.0 s for the other 3 attempts",
    "Demonstrations: 5 of 5 attempts kept, 5 conversations; 5 calls",
    "Answers: at most 64 tokens, about four times the longest demonstration (rollout.maxTokens)",
  ]);
  const [sft, reinforced] = plans;
  const file = join(`${out}-demonstrations`, "demonstrations.jsonl");
  expect(sft).toMatchObject({ folder: `${out}-sft`, resume: false });
  expect(sft.measured).toBeUndefined();
  expect(sft.config).toMatchObject({
    ...{ model, steps: 2, algorithm: { kind: "sft", data: file }, rollout: { maxTokens: 64 } },
    optimizer: { learningRate: 3e-4 },
  });
  expect(reinforced).toMatchObject({ folder: out, resume: false, measured: `${out}-sft` });
  expect(reinforced.config).toMatchObject({
    ...{ model: `${out}-sft`, steps: 1, algorithm: { kind: "grpo" }, rollout: { maxTokens: 64, tasksPerStep: 2 } },
  });
  expect(reinforced.config.optimizer.learningRate).not.toBe(3e-4);
  // No prompt is in two parts: what the teacher played is not reinforced, and neither is measured.
  const promptsOf = async ({ environment }: RunPlan, split: string) => {
    const size = await environment.size(split);
    const all = await Promise.all(Array.from({ length: size }, (_, i) => environment.task(split, i)));
    return all.map((task) => (task as unknown as { request: { prompt: string } }).request.prompt).sort();
  };
  const [shown, trained, test] = [
    await promptsOf(sft, "train"),
    await promptsOf(reinforced, "train"),
    await promptsOf(reinforced, "test"),
  ];
  expect([...asked].sort()).toEqual(shown);
  expect(await promptsOf(sft, "test")).toEqual(test);
  expect([...shown, ...trained, ...test].sort()).toEqual(tasks.map(({ prompt }) => prompt).sort());
  expect(result).toMatchObject({
    ...{ folder: out, summary: { steps: 1, wallSeconds: 60 }, record: { attempts: 5, kept: 5, rows: 5, resumed: 2 } },
    supervised: { folder: `${out}-sft`, summary: { steps: 1 } },
  });

  // The same call continues: what is done is not done again.
  const again = await taught("whole");
  expect(again.said.slice(6)).toEqual([
    "Demonstrations: 5 of 5 attempts kept (5 had been played already), 5 conversations; 5 calls",
    "Answers: at most 64 tokens, about four times the longest demonstration (rollout.maxTokens)",
  ]);
  expect([again.plans, asked]).toEqual([[], []]);
  expect(again.result).toMatchObject({ folder: out });
});

test("limits, attempts and prices that were given are used", async () => {
  const more = {
    rollout: { tasksPerStep: 1, groupSize: 2, maxTokens: 33 },
    evaluation: { tasks: 0 },
    demonstrations: { tasks: 4, k: 2, keep: "reward >= 0", tokensPerStep: 100 },
  };
  const { said, plans } = await taught("given", { more });
  expect(said.slice(0, 5)).toEqual([
    "Plan: 4 tasks for demonstrations, 6 for reinforcement, 2 for measuring; no prompt is in two parts",
    "  record    8 attempts of a scripted teacher, a script: no tokens, no money; kept by reward >= 0",
    `  sft       40 steps of about 100 tokens, from ${model}`,
    "  grpo      1 step of 1 task × 2 rollouts",
    "  measured  nothing: evaluation.tasks is 0",
  ]);
  expect(said.slice(6)).toEqual([
    "About 8.0 s for the other 4 attempts",
    "Demonstrations: 8 of 8 attempts kept, 8 conversations; 8 calls",
  ]);
  expect(plans.map(({ config }) => config.rollout.maxTokens)).toEqual([33, 33]);
  expect(plans[0].config.algorithm).toMatchObject({ tokensPerStep: 100 });
});

test.each([
  [{ temperature: 0, k: 1 }, "  measured  before, after sft and after grpo: 2 tasks, a greedy one at each"],
  [{ k: 1, greedy: false, tasks: 1 }, "  measured  before, after sft and after grpo: 1 task, 1 attempt at each"],
])("with the evaluation %j it says how it measures", async (evaluation, line) => {
  const { said } = await taught(`measured-${JSON.stringify(evaluation).length}`, { more: { evaluation }, ends: () => false });
  expect(said[4]).toBe(line);
});

test("a stage that was interrupted is continued under its own settings", async () => {
  const interrupted = await taught("interrupted", { ends: () => false });
  expect(interrupted.result).toBeUndefined();
  expect(interrupted.plans).toHaveLength(1);
  const out = join(root, "interrupted");
  finish(`${out}-sft`);
  createRun(out, interrupted.plans[0].config as never);
  const { plans } = await taught("interrupted");
  expect(plans.map(({ folder, resume, measured }) => ({ folder, resume, measured }))).toEqual([
    { folder: out, resume: true, measured: `${out}-sft` },
  ]);
  let stages = 0;
  const second = await taught("second", { ends: () => ++stages < 2 });
  expect([second.result, second.plans.length]).toEqual([undefined, 2]);
});

test("where nothing is kept, nothing is trained, and the first reason is said", async () => {
  const wrong = await taught("wrong", { more: { teacher: () => ({ content: "x" }) } }).catch(String);
  expect(wrong).toMatch(
    /^RunError: the demonstrations of a scripted teacher is "0 of 5 attempts are kept"; expected at least one episode that the rule keeps\. Nothing was trained\. Read \S+demonstrations\.attempts\.jsonl, then repair the teacher or the reward, or lower the rule \(--keep\), which plays nothing again\.$/,
  );
  let calls = 0;
  const failing = () => {
    if (calls++ > 0) throw new Error("closed");
    return { content: "x" };
  };
  const partly = await taught("partly", { more: { teacher: failing } }).catch(String);
  expect(partly).toMatch(
    /"0 of 1 attempts are kept".* Nothing was trained\. The first reason: the error of a scripted teacher is "closed"/,
  );
  expect(existsSync(join(root, "partly"))).toBe(false);
});

test.each<[object, object, RegExp]>([
  [
    { environment: "office" },
    {},
    /^environment is "office"; expected none: the agent is the environment\. Use `train` for an env/,
  ],
  [{ teacher: undefined }, {}, /^demonstrations is \{.*\}; expected a teacher that gives them/],
  [{}, { resume: true }, /^resume is true; expected none with a teacher: the same call continues/],
  [{}, { flags: { steps: 1 } }, /^flags is \{"steps":1\}; expected none with a teacher/],
])("%j with %j is refused", async (more, options, message) => {
  await expect(trainAgent(trainingIn("refused", more) as never, options)).rejects.toThrow(message);
  expect(existsSync(join(root, "refused-demonstrations"))).toBe(false);
});

test("the same from code needs no run where all is done, and says nothing unless it is to print", async () => {
  await taught("code");
  const result = await trainAgent(trainingIn("code"), { resume: false });
  expect(result).toMatchObject({ folder: join(root, "code"), supervised: { folder: join(root, "code-sft") } });
});
