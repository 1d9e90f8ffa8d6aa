import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { layout } from "../src/runs/layout.ts";
import { readEvaluations, readMetrics, readRun } from "../src/runs/read.ts";
import { invoke } from "./command-line.ts";
import { file, files, folder, tasks, train } from "./taught-agent.fixture.ts";

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
