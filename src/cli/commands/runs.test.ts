import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { invoke } from "../../../test/command-line.ts";
import { layout } from "../../runs/layout.ts";
import type { EvaluationRecord } from "../../runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../runs/store.fixture.ts";
import { createRun, writeEvaluation } from "../../runs/write.ts";
import { createScreen } from "../../terminal/screen.ts";
import { runsCommand, showRunCommand } from "./runs.ts";

test("programs read the list of runs, and one run as JSON", async () => {
  const run = newRun();
  const root = dirname(run);
  addStep(run, 1, [trajectoryOf("step-1/0/0")], { entropy: 0.5 });
  const damaged = join(root, "damaged");
  mkdirSync(damaged);
  writeFileSync(layout.run(damaged), "{");
  const read = async (...args: readonly string[]) => JSON.parse((await invoke("runs", ...args, "--json")).out);

  const state = { folder: run, algorithm: "grpo", steps: 1, plannedSteps: 9, before: null, after: null, finished: false };
  const listed = await read("--in", root);
  expect(listed.runs).toEqual([{ ...state, created: expect.any(String) }]);
  expect(listed.damaged).toMatchObject([{ folder: damaged, error: expect.stringContaining("run.json") }]);
  expect((await invoke("runs", "--in", root)).out).toMatch(/grpo +1\/9 +– +– +unfinished/);

  expect(await read("show", run)).toMatchObject({
    ...{ ...state, config: { seed: 1, environment: { name: "office" } }, evaluations: [], summary: null },
    metrics: [{ step: 1, metrics: { reward: 0.1, entropy: 0.5 } }],
  });
});

test("the list of runs is a table, with what cannot be read above it; an empty folder says how to begin", async () => {
  const at = (day: string, name: string) => {
    vi.useFakeTimers({ toFake: ["Date"], now: new Date(`${day}T10:20:30.000Z`) });
    return newRun(name);
  };
  const [done, begun] = [at("2024-05-01", "a"), at("2024-05-02", "b")];
  vi.useRealTimers();
  const root = dirname(done);
  renameSync(begun, join(root, "b"));
  addStep(join(root, "b"), 1, [trajectoryOf("step-1/0/0")]);
  const counts = { steps: 9, episodes: 9, toolCalls: 0, sampledTokens: 0, wallSeconds: 1, peakRssMb: 1 };
  const score = (mean: number) => ({ ...evaluationOf("after", mean) });
  writeFileSync(layout.summary(done), JSON.stringify({ before: score(0.25), after: score(0.5), ...counts }));
  const list = (json = false) => lines((screen) => runsCommand({ in: root, json }, screen));
  expect(list()).toEqual([
    `${"run".padEnd(join(root, "a").length)}  algorithm  steps  before   after       state           started`,
    `${join(root, "b")}       grpo    1/9       –       –  unfinished  2024-05-02 10:20`,
    `${join(root, "a")}       grpo    0/9  25.0 %  50.0 %    finished  2024-05-01 10:20`,
  ]);
  expect(JSON.parse(list(true).join("\n")).runs[1]).toEqual({
    ...{ folder: done, algorithm: "grpo", steps: 0, plannedSteps: 9, before: 0.25, after: 0.5, finished: true },
    created: "2024-05-01T10:20:30.000Z",
  });
  // A run whose summary is damaged is named, and the others stay.
  writeFileSync(layout.summary(done), "{");
  const [warning = "", ...rows] = list();
  expect(warning.startsWith(`${done} cannot be read:`)).toBe(true);
  expect(rows.join("\n")).toContain(`${join(root, "b")} `);
  const nowhere = join(root, "none");
  expect(lines((screen) => runsCommand({ in: nowhere }, screen))).toEqual([
    expect.stringMatching(/^There is no run in .*none\. Start one: .+ train$/),
  ]);
  mkdirSync(join(nowhere, "broken"), { recursive: true });
  writeFileSync(layout.run(join(nowhere, "broken")), "{");
  expect(lines((screen) => runsCommand({ in: nowhere }, screen)).join(" ")).toMatch(/^\S+broken cannot be read: .*run\.json/);
});

test("one run: its state, evaluations, steps, metrics that move, those that do not, and where episodes are", () => {
  const run = newRun();
  const evaluation = evaluationOf("before", 0.25);
  writeEvaluation(run, evaluation, [trajectoryOf("test/0/0")]);
  const show = () => lines((screen) => showRunCommand(run, {}, screen));
  expect(show()).toEqual([
    expect.stringMatching(/^\S+run: 0 of 9 steps, unfinished: .+ train --resume --out \S+run$/),
    "success before training: 25.0 %  [20.0, 30.0]  (8 test tasks, greedy)",
    expect.stringMatching(/^Read one: .+ trajectory \S+run test\/0\/0$/),
  ]);
  const step = (number: number, metrics: Record<string, number>) =>
    addStep(run, number, [trajectoryOf(`step-${number}/0/0`)], { success: 0.5, turns: 2, episodes: 4, same: 7, ...metrics });
  step(1, { entropy: 0.5, late: 1 });
  step(2, { entropy: 0.25, late: 1 });
  step(3, { entropy: 0.375 });
  const [state, before, ...rest] = show();
  expect(state).toMatch(/: 3 of 9 steps, unfinished: /);
  expect(before).toMatch(/^success before/);
  expect(rest).toEqual(
    [
      "",
      "Steps",
      " step reward success turns   cut entropy       kl      gap sampled/s trained/s       time",
      "    1  0.100   0.500   2.0   0 %   0.500        –        –         5         3      5.0 s",
      "    2  0.200   0.500   2.0   0 %   0.250        –        –         5         3      5.0 s",
      "    3  0.300   0.500   2.0   0 %   0.375        –        –         5         3      5.0 s",
      "",
      "Metrics",
      "         first   last  lowest  highest     ",
      "reward     0.1    0.3     0.1      0.3  ▁▅█",
      "entropy    0.5  0.375    0.25      0.5  █▁▅",
      "The same in every step: success 0.5, turns 2, episodes 4, same 7, late 1",
      "",
      "Episodes",
      `Of every step in ${layout.trajectoryFolder(run)}, of every evaluation in ${layout.evaluationFolder(run)}`,
      expect.stringMatching(/^Read one: .+ trajectory \S+run step-3\/0\/0$/),
    ].map((line) => (typeof line === "string" ? line.trimEnd() : line)),
  );
  const counts = { steps: 9, episodes: 9, toolCalls: 0, sampledTokens: 0, wallSeconds: 1, peakRssMb: 1 };
  writeFileSync(layout.summary(run), JSON.stringify({ before: null, after: null, ...counts }));
  expect(show()[0]).toBe(`${run}: 3 of 9 steps, finished`);
});

test("an evaluation of an agent says which agent and model it was; without anything there is nothing to read", () => {
  const folder = join(dirname(newRun()), "agent");
  createRun(folder, { agent: "./agent.ts", model: "m", seed: 1 });
  expect(lines((screen) => showRunCommand(folder, {}, screen))).toEqual([
    expect.stringMatching(/agent: an evaluation of \.\/agent\.ts with m, unfinished: /),
  ]);
  expect(() => showRunCommand(join(folder, "none"), {}, createScreen({ write: () => true }))).toThrow(
    /none is "no run"; expected a folder with a run\.json\. `retrograde-rl runs` lists the runs that are there/,
  );
});

function lines(of: (screen: ReturnType<typeof createScreen>) => void): string[] {
  let text = "";
  of(createScreen({ write: (part: string) => (text += part) }));
  return text.split("\n").slice(0, -1);
}

function evaluationOf(when: "before" | "after", mean: number): EvaluationRecord {
  const share = { mean, low: mean - 0.05, high: mean + 0.05 };
  return {
    ...{ when, step: 0, split: "test", tasks: 8, k: 1, temperature: 0, ...share, passAt: [], passAll: [] },
    ...{ decoding: "greedy", measure: "success", sampledTokens: 9, reward: share, meanTurns: 1, toolCalls: 0 },
    ...{ stopReasons: { done: 8 }, byKind: [], behaviours: [], byRequests: [], byTurns: [] },
  };
}
