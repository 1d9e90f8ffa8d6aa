import { expect, test } from "vitest";
import type { EvaluationRecord } from "../runs/records.ts";
import { plain } from "./paint.ts";
import { behaviourLines, byTurns, reportLines } from "./report.ts";

function evaluation(when: "before" | "after", mean: number): EvaluationRecord {
  return {
    when,
    step: when === "before" ? 0 : 60,
    split: "test",
    tasks: 256,
    k: 4,
    temperature: 1,
    mean,
    low: mean - 0.03,
    high: mean + 0.03,
    passAt: [],
    reward: { mean, low: mean, high: mean },
    meanTurns: 5,
    toolCalls: 3000,
    stopReasons: { done: 1024 },
    byKind: [],
    behaviours: [],
    byRequests: [
      { name: "1", attempts: 400, success: mean + 0.15 },
      { name: "2", attempts: 624, success: mean / 2 },
    ],
    byTurns: [{ name: "3", attempts: 1024, success: mean }],
  };
}

test("the last screen: before and after, by requests, episodes, where the run is, what is next", () => {
  const lines = reportLines(
    {
      folder: "runs/office-seeupo-1",
      summary: {
        before: null,
        after: null,
        steps: 60,
        episodes: 7680,
        toolCalls: 30_000,
        sampledTokens: 900_000,
        wallSeconds: 492,
        peakRssMb: 1200,
      },
      evaluations: [{ before: evaluation("before", 0.4), after: evaluation("after", 0.8) }],
      solved: {
        id: "after-test-60/1/0",
        group: "g",
        task: "t",
        turns: [],
        reward: 1,
        scores: {},
        stopReason: "done",
        messages: [{ role: "user", content: "Pay Ana 20." }],
      },
      failed: undefined,
      next: [
        ["retrograde runs show runs/office-seeupo-1", "every step"],
        ["retrograde train", "again"],
      ],
    },
    plain,
    80,
  );
  expect(lines).toEqual([
    "",
    "Success on 256 test tasks, 4 attempts each, with 95 % intervals",
    "  before  ████████████░░░░░░░░░░░░░░░░░░ 40.0 %  [37.0, 43.0]",
    "  after   ████████████████████████░░░░░░ 80.0 %  [77.0, 83.0]",
    "",
    "  requests  before  attempts   after  attempts",
    "  1         55.0 %       400  95.0 %       400",
    "  2         20.0 %       624  40.0 %       624",
    "",
    "An episode that it solves (after-test-60/1/0)",
    "user       Pay Ana 20.",
    "reward 1, 0 turns, ended: done",
    "",
    "The run",
    "60 steps, 7,680 episodes, 30,000 tool calls, 900,000 tokens sampled, in 8 min 12 s, at most 1,200 MB",
    "runs/office-seeupo-1",
    "",
    "Next",
    "  retrograde runs show runs/office-seeupo-1   every step",
    "  retrograde train                            again",
  ]);
});

test("behaviours before and after, what fell marked", () => {
  const before = [
    { name: "asks which Ana", done: 54, called: 82 },
    { name: "retries", done: 1, called: 10 },
  ];
  const after = [
    { name: "asks which Ana", done: 2, called: 140 },
    { name: "gives up", done: 0, called: 5 },
    { name: "retries", done: 9, called: 10 },
  ];
  expect(behaviourLines(before, after, plain)).toEqual([
    "",
    "  behaviour       before      done   after      done",
    "  asks which Ana  65.9 %  54 of 82   1.4 %  2 of 140  fell",
    "  gives up             –         0   0.0 %    0 of 5",
    "  retries         10.0 %   1 of 10  90.0 %   9 of 10",
  ]);
  expect(behaviourLines([], [], plain)).toEqual([]);
});

test("classes of turns are weighted by attempts", () => {
  const parts = byTurns([
    { name: "3", attempts: 3, success: 1 },
    { name: "4", attempts: 1, success: 0 },
    { name: "5", attempts: 2, success: 0.5 },
  ]);
  expect(parts).toEqual([
    { name: "3–4", attempts: 4, success: 0.75 },
    { name: "5–6", attempts: 2, success: 0.5 },
  ]);
});

test("turns are put into classes without gaps or overlaps", () => {
  const one = (turns: number) => byTurns([{ name: String(turns), attempts: 1, success: 1 }])[0].name;
  expect([1, 2, 3, 4, 5, 8, 9, 12, 13, 20].map(one)).toEqual([
    "1–2",
    "1–2",
    "3–4",
    "3–4",
    "5–6",
    "7–8",
    "9–12",
    "9–12",
    "13 or more",
    "13 or more",
  ]);
});
