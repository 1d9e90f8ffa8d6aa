import { expect, test } from "vitest";
import type { EvaluationRecord, StepRecord, TimingRecord } from "../runs/records.ts";
import type { TrainingEvent } from "../training/record/events.ts";
import {
  advance,
  evaluationLine,
  nothingYet,
  phaseLine,
  secondsLeft,
  serverLine,
  statusLine,
  stepHeading,
  stepLine,
} from "./progress.ts";

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

test("columns are left out of narrow terminals, those that matter least first, and the others stay", () => {
  const words = (width: number) => stepHeading(record, width).trim().split(/ +/);
  const all = ["step", "reward", "success", "turns", "cut", "entropy", "kl", "gap", "sampled/s", "trained/s", "time"];
  const without = (...names: string[]) => all.filter((name) => !names.includes(name));
  // The widths of all add up to 89; kl and gap take 9 each, sampled and trained tokens 10 each.
  expect([words(89), words(88), words(80), words(79), words(71), words(70)]).toEqual([
    ...[all, without("kl"), without("kl"), without("kl", "gap"), without("kl", "gap")],
    without("kl", "gap", "trained/s"),
  ]);
  expect(words(61)).toEqual(without("kl", "gap", "trained/s"));
  expect([words(60), words(10)]).toEqual([
    without("kl", "gap", "trained/s", "sampled/s"),
    without("kl", "gap", "trained/s", "sampled/s"),
  ]);
  expect(stepLine(record, timing, 60)).toBe("   12  0.469   0.500   5.3  25 %   0.031      3.5 s");
});

test("a step on demonstrations has its own columns", () => {
  const supervised = { step: 3, metrics: { loss: 1.23456, demonstrations: 14, gradientNorm: 0.4567 } };
  expect([stepHeading(supervised), stepLine(supervised, timing), stepHeading(supervised, 58)]).toEqual([
    " step    loss  conversations  gradient trained/s       time",
    "    3   1.235             14      0.46     4,100      3.5 s",
    " step    loss  conversations  gradient       time",
  ]);
});

test("success is a dash where there are rewards and never a success; messages that were cut off are a share of all", () => {
  const cells = (metrics: StepRecord["metrics"]) => stepLine({ step: 1, metrics }, timing).trim().split(/ {2,}/).slice(1, 5);
  expect(cells({ reward: 0.4, success: 0, turns: 2, episodes: 8, truncatedActions: 4 })).toEqual(["0.400", "–", "2.0", "25 %"]);
  expect(cells({ reward: 0, success: 0, turns: 2, episodes: 8 })).toEqual(["0.000", "0.000", "2.0", "0 %"]);
  expect(cells({ reward: 0.4, success: 0.1 })).toEqual(["0.400", "0.100", "–", "–"]);
  expect(cells({ success: 0, turns: 2, truncatedActions: 4 })).toEqual(["–", "0.000", "2.0", "–"]);
});

test("a step on a server says its requests, and what prefixes that are not shared cost", () => {
  const server = { ...timing, requests: 12, serverWaits: 1, sentMb: 3.456, receivedMb: 0.5 };
  expect(serverLine(timing)).toBeUndefined();
  expect(serverLine(server)).toBe("      server: 12 requests, 1 wait, 3.46 MB sent, 0.5 MB received");
  expect(serverLine({ ...server, sharedTokens: 4_100 })).toBe(
    "      server: 12 requests, 1 wait, 3.46 MB sent, 0.5 MB received; 1.50 × the tokens that sharing prefixes would train",
  );
  expect(serverLine({ ...timing, requests: 1 })).toBe("      server: 1 request, 0 waits, – MB sent, – MB received");
});

test("an evaluation's line: rewards where they say more than success, how it was decoded, and attempts that do not count", () => {
  const reward = { mean: 0.5, low: 0.41, high: 0.5904 };
  const line = (changes: Partial<EvaluationRecord>) => evaluationLine({ ...evaluation, ...changes });
  expect(line({ when: "after", step: 60, reward, decoding: "greedy", k: 1, tasks: 1 })).toBe(
    "success after training: 41.2 %  [38.0, 44.5], reward 0.500  [0.410, 0.590]  (1 test task, greedy)",
  );
  expect(line({ when: "during", reward, measure: "reward", k: 1, errors: 1 })).toBe(
    "reward while training: 0.500  [0.410, 0.590]  (256 test tasks, 1 attempt each; 1 attempt ended by an error, not counted)",
  );
  expect(line({ when: "after", step: 0 })).toBe("success: 41.2 %  [38.0, 44.5]  (256 test tasks, 4 attempts each)");
  expect(line({ when: "after", step: 0, measure: "reward", errors: 2 })).toBe(
    "reward: 0.412  [0.380, 0.445]  (256 test tasks, 4 attempts each; 2 attempts ended by an error, not counted)",
  );
});

test("the status of each phase", () => {
  const at = (changes: Partial<typeof nothingYet>, now = 10) => statusLine({ ...nothingYet, steps: 4, ...changes }, now);
  expect(at({})).toBe("loading the model …");
  expect(at({ phase: "evaluate", total: 8, done: 2, tokens: 100 })).toBe(
    "before training  evaluating  █████░░░░░░░░░░░░░░░  2/8 episodes  10 tokens/s  30 s left",
  );
  expect(at({ phase: "evaluate", steps: 0, total: 1 })).toBe("evaluating");
  expect(at({ phase: "evaluate", step: 2, total: 8, done: 2 })).toBe("step 2/4  evaluating  █████░░░░░░░░░░░░░░░  2/8 episodes");
  expect(at({ phase: "reward", step: 1 })).toBe("step 1/4  scoring");
  expect(at({ phase: "checkpoint", step: 1, tokens: 5, phaseStarted: 10 })).toBe("step 1/4  saving");
  const update = (seconds: number, updateSeconds: number) =>
    at({ phase: "update", step: 1, phaseStarted: 10, updateSeconds }, 10 + seconds);
  expect([update(1.9, 0), update(2, 1.9), update(1, 2), update(3, 2)]).toEqual([
    "step 1/4  training",
    "step 1/4  training  2.0 s",
    "step 1/4  training  ██████████░░░░░░░░░░  1.0 s of about 2.0 s",
    "step 1/4  training  ████████████████████  3.0 s of about 2.0 s",
  ]);
});

test("events move the progress: a phase begins with counts of its own, and ten steps are remembered", () => {
  const begun = advance(nothingYet, { type: "run-started", folder: "r", steps: 9, resumedAt: 4 }, 1);
  expect(begun).toEqual({ ...nothingYet, steps: 9, step: 4 });
  const rollout = advance({ ...begun, done: 3, tokens: 7 }, { type: "phase", phase: "rollout", step: 5, total: 8 }, 2);
  expect(rollout).toEqual({ ...begun, phase: "rollout", step: 5, total: 8, phaseStarted: 2, stepStarted: 2 });
  const update = advance(rollout, { type: "phase", phase: "update", step: 5, total: 1 }, 6);
  expect(update).toEqual({ ...rollout, phase: "update", total: 1, phaseStarted: 6 });
  // Without a rollout, as on demonstrations, the update is the whole step.
  const next = advance(update, { type: "phase", phase: "update", step: 6, total: 1 }, 9);
  expect([next.step, next.stepStarted]).toEqual([6, 9]);
  const done = advance(next, { type: "progress", phase: "update", done: 1, total: 2, tokens: 30 }, 9);
  expect(done).toEqual({ ...next, done: 1, total: 2, tokens: 30 });
  expect(advance(done, { type: "checkpointed", step: 6, folder: "r" }, 10)).toBe(done);
  let many = done;
  for (let i = 0; i < 12; i++) many = advance({ ...many, stepStarted: 0 }, { type: "stepped", record, timing }, i);
  expect([many.stepSeconds, many.updateSeconds]).toEqual([[2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 1.5]);
  const evaluated = (when: "before" | "during" | "after") =>
    advance({ ...done, evaluationSeconds: 5, phaseStarted: 10 }, { type: "evaluated", record: { ...evaluation, when } }, 17)
      .evaluationSeconds;
  expect([evaluated("before"), evaluated("during"), evaluated("after")]).toEqual([12, 5, 5]);
});

test("at the last evaluation its own rate says the time left; a step that takes longer than others takes no negative time", () => {
  const progress = { ...nothingYet, steps: 3, step: 3, stepSeconds: [4, 6], phase: "evaluate" as const };
  expect(secondsLeft({ ...progress, done: 1, total: 4, phaseStarted: 10 }, 12)).toBe(6);
  expect(secondsLeft({ ...progress, done: 5, total: 4, phaseStarted: 10 }, 12)).toBe(0);
  expect(secondsLeft(progress, 12)).toBeUndefined();
  expect(secondsLeft({ ...progress, phase: "rollout", stepStarted: 10 }, 11)).toBe(4);
  expect(secondsLeft({ ...progress, phase: "rollout", stepStarted: 10, evaluationSeconds: 7 }, 99)).toBe(7);
  expect(secondsLeft({ ...progress, step: 1, phase: "rollout", stepStarted: 10 }, 11)).toBe(14);
});
