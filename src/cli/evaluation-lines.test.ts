import pc from "picocolors";
import { expect, test } from "vitest";
import type { Trajectory } from "../core/trajectory.ts";
import type { EvaluationRecord } from "../runs/records.ts";
import type { EvaluationReport } from "../training/evaluation/folder.ts";
import { evaluatedLines, reportPage } from "./evaluation-lines.ts";

const estimate = { mean: 0.5, low: 0.25, high: 0.75 };
const evaluation = (more: Partial<EvaluationRecord> = {}): EvaluationRecord => ({
  ...{
    ...estimate,
    when: "after",
    step: 0,
    split: "test",
    tasks: 4,
    k: 4,
    decoding: "sampled",
    temperature: 1,
    measure: "success",
  },
  ...{
    passAt: [],
    passAll: [],
    reward: estimate,
    meanTurns: 2.25,
    toolCalls: 1,
    sampledTokens: 1234,
    stopReasons: { done: 15, "max-turns": 1 },
  },
  ...{ byKind: [], behaviours: [], byRequests: [], byTurns: [], ...more },
});
const report = (evaluations: readonly EvaluationRecord[]): EvaluationReport =>
  ({
    ...{ evaluations, seconds: 61 },
    asked: { model: "bundled:office", environment: { name: "office" }, split: "test", tasks: 4, seed: 3, version: "0.1.0" },
  }) as unknown as EvaluationReport;
const page = (evaluations: readonly EvaluationRecord[], trajectories: readonly object[] = []) =>
  reportPage(report(evaluations), trajectories as Trajectory[]);
/** What follows the head. */
const body = (...given: Parameters<typeof page>) =>
  page(...given)
    .split("\n")
    .slice(3, -1)
    .join("\n");

test("a report of sampled and greedy attempts, with all tables", () => {
  const parts = (...names: readonly string[]) => names.map((name, i) => ({ name, attempts: 8, success: i / 2, low: 0, high: 1 }));
  const sampled = evaluation({
    passAt: [1, 2, 4].map((k) => ({ k, ...estimate })),
    passAll: [1, 2].map((k) => ({ k, ...estimate })),
    errors: 2,
    scenarios: { ...estimate, count: 2, any: 1, all: 0.5 },
    metrics: [
      { name: "share", mean: 0.5, low: 0, high: 1 },
      { name: "length", mean: 12.34, low: 10, high: 14 },
      { name: "debt", mean: 0, low: -0.5, high: 0.5 },
    ],
    byKind: [...parts("move", "pay"), { name: "alone", attempts: 1, success: 1 }],
    byRequests: parts("1", "2"),
    byTurns: [1, 3, 4].map((name) => ({ name: String(name), attempts: 2, success: 0.5 })),
    behaviours: [
      { name: "asks back", done: 3, called: 4 },
      { name: "never called for", done: 0, called: 0 },
    ],
    usage: { promptTokens: 1500, completionTokens: 20, unreported: 1 },
  });
  const greedy = evaluation({ decoding: "greedy", k: 1, usage: { promptTokens: 500, completionTokens: 5, unreported: 0 } });
  expect(page([sampled, greedy])).toMatchInlineSnapshot(`
    "bundled:office in office
    4 test tasks, seed 3, retrograde 0.1.0, 1 min 01 s. Intervals are of 95 %, over tasks.

    greedy       success  ████████████░░░░░░░░░░░░ 50.0 %  [25.0, 75.0]
                 2.3 turns on average, 1 tool call, 1,234 tokens
                 ended: done 15, max-turns 1
    sampled × 4  success  ████████████░░░░░░░░░░░░ 50.0 %  [25.0, 75.0]
                 pass@2   50.0 %  [25.0, 75.0]
                 pass@4   50.0 %  [25.0, 75.0]
                 pass^2   50.0 %  [25.0, 75.0]
                 scenarios 50.0 %  [25.0, 75.0]  of 2 scenarios, all of whose tasks succeed
                 scenarios@4 100.0 % in any of the attempts, 50.0 % in all of them
                 share    50.0 %  [0.0, 100.0]
                 length   12.3  [10.0, 14.0]
                 debt     0.0  [-0.5, 0.5]
                 2.3 turns on average, 1 tool call, 1,234 tokens
                 2 of 16 attempts ended by an error: they have no score and are in no mean
                 ended: done 15, max-turns 1

    kind of request  success      interval  attempts
    move               0.0 %  [0.0, 100.0]         8
    pay               50.0 %  [0.0, 100.0]         8
    alone            100.0 %                       1

    requests  success      interval  attempts
    1           0.0 %  [0.0, 100.0]         8
    2          50.0 %  [0.0, 100.0]         8

    turns taken  success  interval  attempts
    1–2           50.0 %                   2
    3–4           50.0 %                   4

    behaviour          share  done  called for
    asks back         75.0 %     3           4
    never called for   0.0 %     0           0
    2,000 prompt and 25 completion tokens, as the server counted them. Requests that failed are not in it.
    The server did not report the tokens of 1 answer: they are not in it.
    "
  `);
});

test("a reward is shown without passes, and one attempt without passes of several", () => {
  const passes = { passAt: [1, 2].map((k) => ({ k, ...estimate })), passAll: [1, 2].map((k) => ({ k, ...estimate })) };
  expect(body([evaluation({ measure: "reward", ...passes })])).not.toContain("pass");
  expect(body([evaluation({ k: 1, ...passes })])).not.toContain("pass");
  expect(body([evaluation(passes)]).match(/pass[@^]\d/g)).toEqual(["pass@2", "pass^2"]);
  expect(body([evaluation({ k: 1, scenarios: { ...estimate, count: 1, any: 1, all: 1 } })])).toMatch(
    /scenarios +\S+ %.*of 1 scenario, all of whose tasks succeed\n(?!.*scenarios@)/,
  );
});

test("a table needs two parts, and tokens that an endpoint counted are named only where it counted", () => {
  const one = [{ name: "move", attempts: 16, success: 0.5 }];
  const text = body([evaluation({ byKind: one, byRequests: one, byTurns: [{ name: "2", attempts: 16, success: 0.5 }] })]);
  expect(text).not.toMatch(/kind of request|requests|turns taken|behaviour|as the server counted/);
  const counted = body([evaluation({ usage: { promptTokens: 1, completionTokens: 2, unreported: 0 } })]);
  expect(counted).toContain("1 prompt and 2 completion tokens, as the server counted them.");
  expect(counted).not.toContain("did not report");
});

const turn = { action: [], toolCalls: 0, invalidToolCalls: 0 };
const said = (content: string, more: object = {}) => ({
  turns: [turn],
  messages: [{ role: "assistant", content }],
  stopReason: "done",
  ...more,
});

test.each([
  ["<tool_call>{}", 1],
  ["<function=find>", 1],
  ["[TOOL_CALLS]", 1],
  ["<|python_tag|>", 1],
  ["<｜tool▁calls▁begin｜>", 1],
  ["I call a tool.", 0],
])("calls that a server left in the text are named: %s", (content, found) => {
  const note = "1 episode of 2 has tool calls that the server left in the text, and none has one that was made: start the server";
  expect(body([evaluation()], [said(content), said("hello")]).split(note)).toHaveLength(1 + found);
});

test("calls in the text are no fault of the server where one was made, where actions were sampled here, or where a user wrote them", () => {
  const written = said("<tool_call>");
  for (const other of [{ toolCalls: 1 }, { invalidToolCalls: 1 }, { action: [1] }])
    expect(body([evaluation()], [written, { ...written, turns: [{ ...turn, ...other }] }])).not.toContain("left in the text");
  expect(body([evaluation()], [{ ...written, messages: [{ role: "user", content: "<tool_call>" }] }])).not.toContain("left in");
  expect(body([evaluation()], [written, written])).toContain("2 episodes of 2 have tool calls that the server left in the text");
});

test("episodes that ended before the model wrote, and conversations that the server refused, are counted with their first error", () => {
  const early = { turns: [], messages: [], stopReason: "environment-error", error: "no table" };
  const text = body([evaluation()], [said("hi"), early, { ...early, error: "other" }, { ...early, error: undefined }]);
  expect(text).toContain("2 episodes of 4 ended before the model wrote anything: no table");
  expect(body([evaluation()], [said("hi", { error: "late" })])).not.toContain("ended before");
  const refused = said("", { stopReason: "actor-error", error: "503" });
  expect(body([evaluation()], [said("hi"), refused, { ...refused, error: "504" }])).toContain(
    "The server refused 2 conversations, which have no score: 503",
  );
});

test("notes are coloured, and so are the bars of success", () => {
  const lines = evaluatedLines(
    report([evaluation()]),
    [{ turns: [], messages: [], error: "no table" }] as unknown as Trajectory[],
    pc.createColors(true),
  );
  expect(lines.at(-1)).toBe("\u001b[33m1 episode of 1 ended before the model wrote anything: no table\u001b[39m");
  expect(lines[0]).toContain("\u001b[32m");
});
