import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import type { TeacherRequest } from "../extensions/agents/scripted-teacher.ts";
import { trainAgent } from "../extensions/agents/taught-agent.ts";
import { layout } from "../src/runs/layout.ts";
import { readEvaluations, readMetrics, readRun } from "../src/runs/read.ts";
import { invoke } from "./command-line.ts";

const runtime = vi.hoisted(() => ({ isMissing: false }));
vi.mock("../extensions/local/peak.ts", async (original) => {
  const peak = await original<typeof import("../extensions/local/peak.ts")>();
  const measurePeak: typeof peak.measurePeak = async (options) => {
    if (runtime.isMissing) throw new Error("onnxruntime-node is missing");
    return peak.measurePeak(options);
  };
  return { ...peak, measurePeak };
});

const folder = mkdtempSync(join(tmpdir(), "taught-agent-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const taskOf = (n: number) => ({ prompt: `Where is B${n}?`, book: `B${n}` });
const tasks = Array.from({ length: 12 }, (_, n) => taskOf(n));

const agentText = `export default async (prompt) => {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
  const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  return JSON.parse(await response.text()).choices[0].message.content;
};\n`;
const files = {
  agent: file("agent.mjs", agentText),
  tasks: file("tasks.jsonl", tasks.map((task) => `${JSON.stringify(task)}\n`).join("")),
  reward: file("reward.mjs", "export default ({ task, answer }) => Number(answer === task.book);\n"),
  expert: file("expert.mjs", "export default ({ messages }) => ({ content: messages[0].content.slice(9, -1) });\n"),
};
const small = [
  ...[
    "--steps",
    "1",
    "--tasks-per-step",
    "2",
    "--group-size",
    "2",
    "--sft-steps",
    "2",
    "--sft-learning-rate",
    "3e-4",
    "--threads",
    "1",
    "--no-dashboard",
  ],
  ...["--set", "evaluation.k=1", "--set", "algorithm.kind=grpo"],
];
const train = (out: string, ...more: string[]) =>
  invoke(
    "train-agent",
    files.agent,
    "--tasks",
    files.tasks,
    "--reward",
    files.reward,
    "--model",
    "bundled:office",
    "--out",
    out,
    ...small,
    ...more,
  );

test("one command records, teaches and reinforces on tasks of their own, and the same command continues where it was killed", async () => {
  const out = join(folder, "run");
  const first = await train(out, "--teacher", files.expert);
  expect(first).toMatchObject({ exitCode: 0, error: "" });
  expect(first.out).toMatch(/Plan: 5 tasks for demonstrations, 5 for reinforcement, 2 for measuring; no prompt is in two parts/);
  expect(first.out).toMatch(/memory +about [\d.]+ [GM]i?B for sft/);
  expect(first.out).toContain("Demonstrations: 5 of 5 attempts kept, 5 conversations");
  expect(first.out).toMatch(/Time, roughly/);
  // Not to the end of the context: {"role":"assistant","content":"B11"} has fewer characters.
  expect(first.out).toContain("Answers: at most 64 tokens");
  for (const run of [`${out}-sft`, out]) expect(readRun(run).config.rollout).toMatchObject({ maxTokens: 64 });
  expect(first.out).toMatch(/greedy +before .*\n +after sft .* points.*\n +after grpo .* points/);
  expect(readRun(`${out}-sft`).config.optimizer).toMatchObject({ learningRate: 3e-4 });
  expect(readRun(out).config.optimizer).toMatchObject({ learningRate: 2e-4 });
  const parts = readFileSync(join(`${out}-demonstrations`, "demonstrations.jsonl"), "utf8");
  const shown = tasks.filter(({ prompt }) => parts.includes(JSON.stringify(prompt)));
  expect(shown.length).toBe(5);
  expect(readMetrics(`${out}-sft`).length).toBe(2);
  expect(readMetrics(out).length).toBe(1);
  // The evaluation behind the demonstrations is made once.
  const of = (run: string, when: string) =>
    readEvaluations(run)
      .filter((each) => each.when === when)
      .map(({ when: _, step: __, ...rest }) => rest);
  expect(of(out, "before")).toEqual(of(`${out}-sft`, "after"));

  // Killed within the last stage: what was made before stays.
  rmSync(out, { recursive: true });
  const sft = readFileSync(layout.summary(`${out}-sft`), "utf8");
  const second = await train(out, "--teacher", files.expert);
  expect(second.out).toContain("5 had been played already");
  expect(second.out).not.toContain("by sft: 2 steps");
  expect(readFileSync(layout.summary(`${out}-sft`), "utf8")).toBe(sft);
  expect(existsSync(layout.summary(out))).toBe(true);
  // Finished: the last screen alone.
  const third = await train(out, "--teacher", files.expert);
  expect(third).toMatchObject({ exitCode: 0, error: "" });
  expect(third.out).toMatch(/after grpo/);
  expect(third.out).not.toContain("Training ");
  const other = await train(out, "--teacher", files.expert, "--demonstrations", "4");
  expect(other.error).toContain("the tasks of this training is");
  const odd = await train(join(folder, "odd"), "--teacher", files.expert, "--sft-learning-rate", "0");
  expect(odd.error).toContain('--sft-learning-rate is "0"; expected a number above 0');
  expect(first.out).toContain("2 tasks, 1 attempt and a greedy one at each");
  const unpaid = file("unpaid.mjs", 'export default () => ({ content: "no idea" });\n');
  const greedy = await train(join(folder, "greedy"), "--teacher", unpaid, "--set", "evaluation.temperature=0");
  expect(greedy.out.replace(/\s+/g, " ")).toContain("2 tasks, a greedy one at each");
  // The reinforced run had a part of the file: each episode's reward sees its own task.
  const rescored = await invoke("rescore", out, "--reward", files.reward, "--tasks", files.tasks, "--json");
  const { episodes } = JSON.parse(rescored.out) as { episodes: { before: number; after: number }[] };
  expect(episodes.map(({ after }) => after)).toEqual(episodes.map(({ before }) => before));
});

test("from code the same; what cannot be taught is refused before a model is loaded", async () => {
  const given = {
    ...{
      agent: files.agent,
      reward: ({ answer, task }: { answer: unknown; task: { book: string } }) => Number(answer === task.book),
    },
    ...{ tasks, model: "bundled:office", teacher: files.expert, engine: { threads: 1 } },
  } as const;
  const out = (name: string) => join(folder, name);
  await expect(trainAgent({ ...given, tasks: tasks.slice(0, 7), out: out("few") })).rejects.toThrow(/at least 8 training tasks/);
  const both = { train: tasks, test: tasks.slice(0, 2) };
  await expect(trainAgent({ ...given, tasks: both, out: out("both") })).rejects.toThrow(/trained or measured, and not both/);
  const wrong = () => ({ content: "no idea" });
  await expect(trainAgent({ ...given, teacher: wrong, out: out("wrong") })).rejects.toThrow(
    /0 of 5 attempts are kept.*reward.*plays nothing again/,
  );
  const failing = (_: TeacherRequest) => Promise.reject(new Error("the shop is closed"));
  await expect(trainAgent({ ...given, teacher: failing, out: out("failing") })).rejects.toThrow("the shop is closed");
  await expect(trainAgent({ ...given, teacher: join(folder, "none.mjs"), out: out("none") })).rejects.toThrow("none.mjs");
  await expect(trainAgent({ ...given, demonstrations: { tasks: 9 }, out: out("all") })).rejects.toThrow(
    /demonstrations.tasks is 9; expected a whole number from 4 to 6/,
  );
  await expect(trainAgent({ ...given, model: join(folder, "no-model"), out: out("model") })).rejects.toThrow("no-model");
  let called = 0;
  const counting = (_: TeacherRequest) => ({ content: String(called++) });
  runtime.isMissing = true;
  const missing = trainAgent({ ...given, teacher: counting, out: out("missing") });
  await expect(missing.finally(() => (runtime.isMissing = false))).rejects.toThrow("onnxruntime-node is missing");
  expect(called).toBe(0); // a teacher may cost money
  for (const name of ["missing", "few", "both", "wrong", "failing", "none", "all", "model"])
    for (const stage of ["", "-sft"]) expect(existsSync(`${out(name)}${stage}`)).toBe(false);
});
