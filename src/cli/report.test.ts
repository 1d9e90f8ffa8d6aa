import { expect, test } from "vitest";
import type { Trajectory } from "../core/trajectory.ts";
import type { EvaluationRecord } from "../runs/records.ts";
import { plain } from "../terminal/paint.ts";
import { behaviourLines, byTurns, type Report, reportLines } from "./report.ts";

function evaluation(when: "before" | "after", mean: number, change: Partial<EvaluationRecord> = {}): EvaluationRecord {
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
    passAll: [],
    decoding: "sampled",
    measure: "success",
    sampledTokens: 50_000,
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
    ...change,
  };
}

const difference = { mean: 0.4, low: 0.3512, high: 0.45, pValue: 0.0000001, exact: true, better: 150, worse: 3, smallest: 0.051 };
const greedy: Partial<EvaluationRecord> = { decoding: "greedy", k: 1, byRequests: [] };

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
      evaluations: [
        [
          { before: evaluation("before", 0.4), after: evaluation("after", 0.8), difference },
          {
            before: evaluation("before", 0.2, greedy),
            after: evaluation("after", 0.9, { ...greedy, high: 0.99999 }),
            difference: { ...difference, pValue: 0.0321, worse: 0 },
          },
        ],
      ],
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
        ["retrograde-rl runs show runs/office-seeupo-1", "every step"],
        ["retrograde-rl train", "again"],
      ],
    },
    plain,
    80,
  );
  expect(lines).toEqual([
    "",
    "Success on 256 test tasks, with 95 % intervals",
    "  greedy      before  ██████░░░░░░░░░░░░░░░░░░░░░░░░ 20.0 %  [17.0, 23.0]",
    "              after   ███████████████████████████░░░ 90.0 %  [87.0, 100.0]",
    "              change  +40.0 points  [35.1, 45.0], p = 0.032",
    "                      150 tasks better, 0 worse; 5.1 points would have been seen",
    "  sampled × 4 before  ████████████░░░░░░░░░░░░░░░░░░ 40.0 %  [37.0, 43.0]",
    "              after   ████████████████████████░░░░░░ 80.0 %  [77.0, 83.0]",
    "              change  +40.0 points  [35.1, 45.0], p < 0.0001",
    "                      150 tasks better, 3 worse; 5.1 points would have been seen",
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
    "  retrograde-rl runs show runs/office-seeupo-1   every step",
    "  retrograde-rl train                            again",
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
  const change = {
    before: evaluation("before", 0, { behaviours: before }),
    after: evaluation("after", 0, { behaviours: after }),
  };
  const greedyChange = {
    before: evaluation("before", 0, greedy),
    after: evaluation("after", 0, { ...greedy, behaviours: before }),
  };
  expect(behaviourLines([change, greedyChange], plain, 80)).toEqual([
    "",
    "  behaviour       sampled before  sampled after",
    "  asks which Ana    65.9 % of 82   1.4 % of 140  fell",
    "  gives up                     –     0.0 % of 5",
    "  retries           10.0 % of 10   90.0 % of 10",
  ]);
  expect(behaviourLines([change, greedyChange], plain, 120)[2]).toBe(
    "  asks which Ana    65.9 % of 82   1.4 % of 140              –  65.9 % of 82  fell",
  );
  expect(behaviourLines([{ before: evaluation("before", 0), after: evaluation("after", 0) }], plain, 80)).toEqual([]);
});

test("where the environment has no success, the last screen shows rewards alone", () => {
  const reward = (mean: number) => ({ measure: "reward", reward: { mean, low: mean - 0.1, high: mean + 0.1 } }) as const;
  const rewardDifference = { ...difference, mean: 0.25, low: 0.2, high: 0.3 };
  const lines = reportLines(
    {
      folder: "runs/x",
      summary: { before: null, after: null, steps: 1, episodes: 1, toolCalls: 0, sampledTokens: 1, wallSeconds: 1, peakRssMb: 1 },
      evaluations: [
        [{ before: evaluation("before", 0, reward(0.3)), after: evaluation("after", 0, reward(0.55)), rewardDifference }],
      ],
      solved: undefined,
      failed: undefined,
      next: [],
    },
    plain,
    80,
  );
  expect(lines.slice(1, 6)).toEqual([
    "Mean reward on 256 test tasks, with 95 % intervals",
    "  sampled × 4 before  0.300  [0.200, 0.400]",
    "              after   0.550  [0.450, 0.650]",
    "              change  +0.250  [0.200, 0.300], p < 0.0001",
    "                      150 tasks better, 3 worse; 0.051 would have been seen",
  ]);
  expect(lines.join("\n")).not.toContain("uccess");
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

test("warnings are counted, and a reward that says more than success has its own lines", () => {
  const reward = (mean: number) => ({ reward: { mean, low: mean, high: mean } });
  const changes = { before: evaluation("before", 0.4, reward(0.5)), after: evaluation("after", 0.8, reward(0.8)) };
  const summary = {
    before: null,
    after: null,
    steps: 1,
    episodes: 1,
    toolCalls: 0,
    sampledTokens: 1,
    wallSeconds: 1,
    peakRssMb: 1,
  };
  const lines = (warnings?: Readonly<Record<string, number>>) =>
    reportLines(
      {
        folder: "runs/x",
        summary: { ...summary, warnings },
        evaluations: [[{ ...changes, withheld: "other tasks than before" }]],
        solved: undefined,
        failed: undefined,
        next: [],
      },
      plain,
      80,
    );
  expect(lines({ "no-signal": 1, "all-cut": 3 })).toContain("Warnings: no-signal (1 time), all-cut (3 times)");
  expect(lines().join("\n")).not.toContain("Warnings");
  expect(lines().slice(2, 7)).toEqual([
    "  sampled × 4 before  ████████████░░░░░░░░░░░░░░░░░░ 40.0 %  [37.0, 43.0]",
    "              after   ████████████████████████░░░░░░ 80.0 %  [77.0, 83.0]",
    "              change  other tasks than before",
    "              reward  0.500  [0.500, 0.500] before",
    "                      0.800  [0.800, 0.800] after",
  ]);
});

const counts = { before: null, after: null, steps: 1, episodes: 1, toolCalls: 1, sampledTokens: 1, wallSeconds: 1, peakRssMb: 1 };
const episode: Trajectory = {
  ...{ id: "f/0", group: "f", task: "t", turns: [], reward: 0, scores: {}, stopReason: "done" },
  messages: [{ role: "user", content: "Pay." }],
};
/** The last screen of a run of one evaluation before and after. */
const screen = (given: Partial<Report> = {}, width = 80) =>
  reportLines(
    {
      ...{ folder: "runs/x", summary: counts, solved: undefined, failed: undefined, next: [] },
      evaluations: [[{ before: evaluation("before", 0.5), after: evaluation("after", 1) }]],
      ...given,
    },
    plain,
    width,
  );

test("on a narrow screen bars are shorter, and a purpose is below its command", () => {
  const bar = (width: number) => /[█░]+/.exec(screen({}, width)[2] ?? "")?.[0].length;
  expect([40, 56, 57, 70, 76, 77, 120].map(bar)).toEqual([10, 10, 11, 24, 30, 30, 30]);
  const next = [
    ["look", "see it"],
    ["look closer", "see more"],
  ] as const;
  const last = (width: number, lines: number) => screen({ next }, width).slice(-lines);
  // Two spaces, the longest command, three spaces, the longest purpose.
  expect(last(24, 3)).toEqual(["Next", "  look          see it", "  look closer   see more"]);
  expect(last(23, 5)).toEqual(["Next", "  look", "    see it", "  look closer", "    see more"]);
});

test("an episode that fails is one where success was measured, and any other where it was not", () => {
  const reward = { measure: "reward" } as const;
  const evaluations: Report["evaluations"] = [
    [{ before: evaluation("before", 0, reward), after: evaluation("after", 0, reward) }],
  ];
  const shown = ["", "An episode that it fails (f/0)", "user       Pay.", "reward 0, 0 turns, ended: done", "", "The run"];
  expect(screen({ failed: episode }).slice(-10, -4)).toEqual(shown);
  expect(screen({ failed: episode, evaluations }).slice(-10, -4)).toEqual(shown.with(1, "An episode (f/0)"));
  expect(screen().slice(-6)).toEqual([
    ...["", "The run", "1 step, 1 episode, 1 tool call, 1 tokens sampled, in 1.0 s, at most 1 MB", "runs/x", "", "Next"],
  ]);
});

test("lines about more moments replace those of the evaluations' own", () => {
  expect(screen({ comparison: ["base 1", "taught 2"] }).slice(0, 5)).toEqual(["", "base 1", "taught 2", "", "The run"]);
});

test("parts of an evaluation are in the order of their numbers, and one that is missing on a side had no attempt there", () => {
  const part = (name: string, success: number) => ({ name, attempts: 8, success });
  const evaluations: Report["evaluations"] = [
    [
      {
        before: evaluation("before", 0.5, { byRequests: [part("10", 0.5), part("2", 0.25)], byTurns: [part("2", 1)] }),
        after: evaluation("after", 1, { byRequests: [part("2", 1), part("3", 0)], byTurns: [part("1", 1), part("3", 0)] }),
      },
    ],
  ];
  expect(screen({ evaluations }).slice(4, 13)).toEqual([
    "",
    "  requests  before  attempts    after  attempts",
    "  2         25.0 %         8  100.0 %         8",
    "  3              –         0    0.0 %         8",
    "  10        50.0 %         8        –         0",
    "",
    "  turns taken   before  attempts    after  attempts",
    "  1–2          100.0 %         8  100.0 %         8",
    "  3–4                –         0    0.0 %         8",
  ]);
});

test("a behaviour fell where it was done by more than 5 points less often, and one that was not called for fell nowhere", () => {
  const fell = (before: readonly [number, number] | undefined, after: readonly [number, number] | undefined) => {
    const of = (behaviour: readonly [number, number] | undefined) =>
      behaviour === undefined ? {} : { behaviours: [{ name: "asks", done: behaviour[0], called: behaviour[1] }] };
    const changes = [{ before: evaluation("before", 0, of(before)), after: evaluation("after", 0, of(after)) }];
    return behaviourLines(changes, plain, 80).at(-1)?.endsWith("  fell");
  };
  expect([fell([50, 100], [45, 100]), fell([50, 100], [44, 100])]).toEqual([false, true]);
  expect([fell([9, 9], undefined), fell(undefined, [0, 9]), fell([9, 9], [0, 0])]).toEqual([false, false, false]);
  // Behaviours that no record names have no lines.
  expect(behaviourLines([{ before: evaluation("before", 0), after: evaluation("after", 0) }], plain, 80)).toEqual([]);
});

test("a narrow screen has the behaviours of the first way of decoding alone", () => {
  const of = (name: string) => ({ behaviours: [{ name, done: 1, called: 2 }] });
  const changes = ["a", "b"].map((name) => ({
    before: evaluation("before", 0, of(name)),
    after: evaluation("after", 0, of(name)),
  }));
  const names = (width: number) =>
    behaviourLines(changes, plain, width)
      .slice(2)
      .map((line) => line.trim().slice(0, 1));
  expect([names(89), names(90)]).toEqual([["a"], ["a", "b"]]);
});

test("a change for the worse has its sign, of shares and of rewards", () => {
  const worse = { ...difference, mean: -0.25, low: -0.5, high: -0.125 };
  const change = { before: evaluation("before", 0.5), after: evaluation("after", 0.25), difference: worse };
  expect(screen({ evaluations: [[change]] })[4]).toMatch(/^ {14}change {2}−25\.0 points {2}\[/);
  const reward = { measure: "reward" } as const;
  const rewarded = { before: evaluation("before", 0, reward), after: evaluation("after", 0, reward), rewardDifference: worse };
  expect(screen({ evaluations: [[rewarded]] })[4]).toBe("              change  -0.250  [-0.500, -0.125], p < 0.0001");
});
