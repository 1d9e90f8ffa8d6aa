import { expect, test } from "vitest";
import type { EvaluationRecord, StepRecord, TimingRecord } from "../runs/records.ts";
import type { TrainingEvent } from "../training/record/events.ts";
import { costLines, showProgress } from "./display.ts";
import { advance, nothingYet, statusLine, stepHeading, stepLine } from "./progress.ts";
import { createScreen } from "./screen.ts";

const record: StepRecord = { step: 3, metrics: { reward: 0.5, success: 0.5, turns: 2, entropy: 0.1, samplerGapMax: 1e-6 } };
const timing: TimingRecord = {
  ...{ step: 3, rolloutSeconds: 2, updateSeconds: 8, sampledTokens: 10, sampledTokensPerSecond: 5 },
  ...{ trainedTokens: 10, trainedTokensPerSecond: 5, denseTokens: 10, rssMb: 100 },
};

/** What a terminal of a width shows of events. */
function shown(columns: number, events: readonly TrainingEvent[]): string[] {
  let text = "";
  const screen = createScreen({ columns, write: (part) => (text += part) });
  const display = showProgress(screen, 16);
  for (const event of events) display.onEvent(event);
  display.stop();
  return text.split("\n").slice(0, -1);
}

test("every line of a run fits 60 columns, commands excepted", () => {
  const message =
    "equal-rewards (step 3): All 16 episodes have the reward 0, so this step learns nothing. Read the example. Example: step-3/0/0";
  const warning = { rule: "equal-rewards", cause: "c", next: "n", example: "step-3/0/0" };
  const lines = shown(60, [
    { type: "run-started", folder: "runs/a", steps: 9, resumedAt: 0 },
    { type: "stepped", record, timing },
    { type: "warning", message, warning },
  ]);
  const command = lines.findIndex((line) => line.includes("trajectory runs/a step-3/0/0"));
  expect(command).toBeGreaterThan(0);
  for (const [i, line] of lines.entries()) if (i !== command) expect(line.length, line).toBeLessThanOrEqual(60);
  expect(lines.slice(0, 2)).toEqual([
    " step reward success turns   cut entropy       time",
    "    3  0.500   0.500   2.0     –   0.100       10 s",
  ]);
});

test("in a pipe each step says the time that is left, by the steps so far; on a terminal the line below does", () => {
  const events: TrainingEvent[] = [
    { type: "run-started", folder: "runs/a", steps: 9, resumedAt: 0 },
    { type: "phase", phase: "rollout", step: 3, total: 16 },
    { type: "stepped", record, timing },
  ];
  const [, step = "", left = ""] = shown(60, events);
  expect(step).toMatch(/10 s$/);
  expect(left).toMatch(/^ +[\d.]+ s left$/);
  expect(shown(100, events)[1]).toMatch(/10 s {2}[\d.]+ s left$/);
  const last = { ...record, step: 9 };
  expect(
    shown(100, [
      ...events.slice(0, 1),
      { type: "phase", phase: "rollout", step: 9, total: 16 },
      { type: "stepped", record: last, timing },
    ])[1],
  ).toMatch(/10 s$/);
});

test("a step on demonstrations has its own columns", () => {
  const taught = { step: 1, metrics: { loss: 1.25, demonstrations: 18, gradientNorm: 3.1 } };
  expect([stepHeading(taught), stepLine(taught, timing)]).toEqual([
    " step    loss  conversations  gradient trained/s       time",
    "    1   1.250             18       3.1         5       10 s",
  ]);
});

test("the training half shows how far it is, by the time of the update before", () => {
  const events: TrainingEvent[] = [
    { type: "run-started", folder: "runs/a", steps: 9, resumedAt: 0 },
    { type: "phase", phase: "rollout", step: 3, total: 16 },
    { type: "stepped", record, timing },
    { type: "phase", phase: "update", step: 4, total: 1 },
  ];
  const progress = events.reduce((known, event, second) => advance(known, event, second), nothingYet);
  expect(statusLine(progress, 5)).toMatch(/^step 4\/9 {2}training {2}█████░{15} {2}2\.0 s of about 8\.0 s/);
});

test("the first evaluation says what a run will cost, and a long one how to shorten it", () => {
  const at = (done: number, now: number) =>
    costLines({ ...nothingYet, phase: "evaluate", steps: 10, done, total: 1024, phaseStarted: 0 }, 128, now);
  expect(at(20, 5)).toBeUndefined();
  expect(at(64, 6.4)).toEqual([
    "About 1 min 42 s for each evaluation and 13 s to sample a step; with training roughly 7 min 41 s in all.",
  ]);
  expect(at(64, 640)?.[1]).toMatch(
    "--set evaluation.tasks=64 --set evaluation.k=1 takes 10 min 40 s; evaluation.tasks=0 takes none.",
  );
});

test("Ctrl-C waits for an update only where finished steps are in no checkpoint yet", () => {
  const { onEvent, isSaving, saved } = showProgress(createScreen({ write: () => true }), 0);
  const phase = (name: "update" | "checkpoint" | "rollout", step: number) =>
    onEvent({ type: "phase", phase: name, step, total: 1 });
  onEvent({ type: "run-started", folder: "r", steps: 9, resumedAt: 4 });
  phase("update", 5);
  expect([isSaving(), saved()]).toEqual([false, 4]);
  onEvent({ type: "stepped", record: { ...record, step: 5 }, timing });
  phase("rollout", 6);
  expect(isSaving()).toBe(false);
  phase("update", 6);
  expect(isSaving()).toBe(true);
  phase("checkpoint", 5);
  expect(isSaving()).toBe(true);
  phase("update", 6);
  expect([isSaving(), saved()]).toEqual([false, 5]);
});

test("the lines of a run: what was done before, phases in a pipe, evaluations, the heading once, notices and servers", () => {
  const evaluation: EvaluationRecord = {
    ...({ when: "before", decoding: "greedy", measure: "success" } as const),
    ...{ step: 0, split: "test", tasks: 8, k: 1, temperature: 0, mean: 0.5, low: 0.25, high: 0.75 },
    ...{ passAt: [], passAll: [], sampledTokens: 9, meanTurns: 1, toolCalls: 0 },
    ...{ reward: { mean: 0.5, low: 0.25, high: 0.75 }, stopReasons: {}, byKind: [], behaviours: [], byRequests: [], byTurns: [] },
  };
  const events: TrainingEvent[] = [
    { type: "run-started", folder: "runs/a", steps: 1200, resumedAt: 2 },
    { type: "notice", message: "Computing on cuda" },
    { type: "phase", phase: "evaluate", step: 2, total: 8 },
    { type: "evaluated", record: evaluation },
    { type: "phase", phase: "rollout", step: 3, total: 16 },
    { type: "stepped", record: { ...record, step: 1200 }, timing: { ...timing, requests: 2 } },
    { type: "stepped", record: { ...record, step: 1200 }, timing },
    { type: "warning", message: "slow" },
    { type: "phase", phase: "checkpoint", step: 3, total: 1 },
    { type: "checkpointed", step: 3, folder: "runs/a" },
  ];
  expect(shown(100, events)).toEqual([
    "2 steps of 1,200 are done already",
    "Computing on cuda",
    "evaluating 8 episodes …",
    "success before training: 50.0 %  [25.0, 75.0]  (8 test tasks, greedy)",
    " step reward success turns   cut entropy       kl      gap sampled/s trained/s       time",
    expect.stringMatching(/^ 1200 {2}0\.500 .* 10 s( {2}\S+ \S+ left)?$/),
    "      server: 2 requests, 0 waits, – MB sent, – MB received",
    expect.stringMatching(/^ 1200 {2}0\.500 .* 10 s( {2}.* left)?$/),
    "warning: slow",
    "saving step 3 …",
  ]);
  expect(shown(100, [{ type: "run-started", folder: "r", steps: 9, resumedAt: 1 }])).toEqual(["1 step of 9 is done already"]);
  expect(shown(100, [{ type: "run-started", folder: "r", steps: 9, resumedAt: 0 }])).toEqual([]);
});

test("an interruption is known by its step, and nothing is waited for after it", () => {
  const { onEvent, isSaving, interruptedAt } = showProgress(createScreen({ write: () => true }), 0);
  expect(interruptedAt()).toBeUndefined();
  onEvent({ type: "phase", phase: "checkpoint", step: 2, total: 1 });
  expect(isSaving()).toBe(true);
  onEvent({ type: "interrupted", step: 2, folder: "r" } as TrainingEvent);
  expect([interruptedAt(), isSaving()]).toEqual([2, false]);
});

test("the cost of a run is said once, when a half of a short evaluation or 64 episodes of a long one have ended", () => {
  const at = (changes: Partial<typeof nothingYet>, episodes = 8, now = 10) =>
    costLines({ ...nothingYet, phase: "evaluate", steps: 10, done: 10, total: 20, ...changes }, episodes, now);
  expect(at({})).toEqual(["About 20 s for each evaluation and 8.0 s to sample a step; with training roughly 3 min 20 s in all."]);
  expect(at({}, 0)).toEqual(["About 20 s for each evaluation."]);
  for (const early of [{ done: 9 }, { phase: "rollout" as const }, { step: 1 }, { steps: 0 }, { total: 200, done: 63 }])
    expect(at(early)).toBeUndefined();
  expect(at({ phaseStarted: 5 })).toEqual([
    "About 10 s for each evaluation and 4.0 s to sample a step; with training roughly 1 min 40 s in all.",
  ]);
  // 299.5 s for half of it are 599 s in all, which is not long yet.
  expect(at({}, 0, 299.5)).toHaveLength(1);
  expect(at({}, 0, 300)).toEqual([
    "About 10 min 00 s for each evaluation.",
    "Shorter: --set evaluation.tasks=16 --set evaluation.k=1 takes 8 min 00 s; evaluation.tasks=0 takes none.",
  ]);
  expect(at({ total: 320, done: 64 }, 0, 640)?.[1]).toMatch(/evaluation\.tasks=20 .* takes 3 min 20 s;/);
});
