import { expect, test } from "vitest";
import type { EvaluationRecord, StepRecord, TimingRecord } from "../runs/records.ts";
import type { TrainingEvent } from "../training/record/events.ts";
import { advance, evaluationLine, nothingYet, phaseLine, secondsLeft, statusLine, stepHeading, stepLine } from "./progress.ts";

const record: StepRecord = {
  step: 12,
  metrics: {
    ...{ reward: 0.46875, success: 0.5, turns: 5.25, episodes: 16, truncatedActions: 21 },
    ...{ entropy: 0.0312, kl: 0.00042, samplerGapMax: 1.2e-4 },
  },
};
const timing: TimingRecord = {
  step: 12,
  rolloutSeconds: 2,
  updateSeconds: 1.5,
  sampledTokens: 19_600,
  sampledTokensPerSecond: 9_800,
  trainedTokens: 6_150,
  trainedTokensPerSecond: 4_100,
  denseTokens: 20_000,
  rssMb: 500,
};
const evaluation: EvaluationRecord = {
  when: "before",
  step: 0,
  split: "test",
  tasks: 256,
  k: 4,
  temperature: 1,
  mean: 0.4123,
  low: 0.38,
  high: 0.445,
  passAt: [],
  passAll: [],
  decoding: "sampled",
  measure: "success",
  sampledTokens: 50_000,
  reward: { mean: 0.4123, low: 0.38, high: 0.445 },
  meanTurns: 5,
  toolCalls: 3000,
  stopReasons: { done: 1024 },
  byKind: [],
  behaviours: [],
  byRequests: [],
  byTurns: [],
};

test("a step's line has every number under its heading", () => {
  expect([stepHeading(record), stepLine(record, timing)]).toEqual([
    " step reward success turns   cut entropy       kl      gap sampled/s trained/s       time",
    "   12  0.469   0.500   5.3  25 %   0.031   4.2e-4   1.2e-4     9,800     4,100      3.5 s",
  ]);
});

test("a metric that an algorithm does not have is a dash", () => {
  expect(stepLine({ step: 1, metrics: { reward: 1 } }, timing)).toContain("–");
});

test("an evaluation's line says when, how much and on what", () => {
  expect(evaluationLine(evaluation)).toBe("success before training: 41.2 %  [38.0, 44.5]  (256 test tasks, 4 attempts each)");
});

test("without a terminal, a phase is one line, and phases that a step's line says are none", () => {
  const phase = (name: "evaluate" | "rollout" | "update" | "checkpoint") =>
    phaseLine({ type: "phase", phase: name, step: 3, total: name === "evaluate" ? 1024 : 1 });
  expect(["evaluate", "rollout", "update", "checkpoint"].map((name) => phase(name as "evaluate"))).toEqual([
    "evaluating 1,024 episodes …",
    undefined,
    undefined,
    "saving step 3 …",
  ]);
});

/** Events with the second at which they come. */
function progressAfter(events: readonly (readonly [number, TrainingEvent])[]) {
  return events.reduce((progress, [second, event]) => advance(progress, event, second), nothingYet);
}

/** An evaluation of 20 s, a step of 4 s, and the beginning of the next. */
const oneStep: readonly (readonly [number, TrainingEvent])[] = [
  [0, { type: "run-started", folder: "runs/a", steps: 60, resumedAt: 0 }],
  [0, { type: "phase", phase: "evaluate", step: 0, total: 1024 }],
  [20, { type: "evaluated", record: evaluation }],
  [20, { type: "phase", phase: "rollout", step: 1, total: 128 }],
  [24, { type: "stepped", record, timing }],
  [24, { type: "phase", phase: "rollout", step: 2, total: 128 }],
];

test("the status says step, phase, episodes, rate and time left", () => {
  const progress = progressAfter([...oneStep, [25, { type: "progress", phase: "rollout", done: 48, total: 128, tokens: 2310 }]]);
  expect(statusLine(progress, 25)).toBe(
    "step 2/60  sampling  ████████░░░░░░░░░░░░  48/128 episodes  2,310 tokens/s  4 min 15 s left",
  );
});

test("time left: 59 more steps of 4 s, of which 1 s is spent, and one more evaluation of 20 s", () => {
  expect(secondsLeft(progressAfter(oneStep), 25)).toBe(59 * 4 - 1 + 20);
});

test("before the first step nothing but the evaluation's own rate says the time left", () => {
  const progress = progressAfter([
    [0, { type: "run-started", folder: "runs/a", steps: 60, resumedAt: 0 }],
    [0, { type: "phase", phase: "evaluate", step: 0, total: 100 }],
    [5, { type: "progress", phase: "evaluate", done: 25, total: 100, tokens: 500 }],
  ]);
  expect(secondsLeft(progress, 5)).toBe(15);
});
