import { expect, test } from "vitest";
import type { Completion } from "../../completions/answer.ts";
import { described, describedTool, readNative, ToolNames, withStopString } from "./endpoint-messages.ts";

test("a tool's name is kept if servers take it, else replaced, and no two have one name", () => {
  const names = new ToolNames();
  const longest = "n".repeat(64);
  expect([longest, "a-b_1", "sums.add", "sums add", "sums_add", `${longest}n`, "名"].map((name) => names.shown(name))).toEqual([
    longest,
    "a-b_1",
    "sums_add",
    "sums_add_2",
    "sums_add_3",
    "n".repeat(60),
    "_",
  ]);
  expect(names.shown("sums.add")).toBe("sums_add");
});

const stops = ["</search>", "</python>", "STOP"];
const ended = (content: string, change: Partial<Completion> = {}): string =>
  withStopString(
    { content, finish: "stop", stoppedBy: undefined, calls: [], reasoning: undefined, usage: undefined, ...change },
    stops,
  );

test("the stop string that a server names is put back, or the end of the last open tag", () => {
  expect(ended("<search>a", { stoppedBy: "</search>" })).toBe("<search>a</search>");
  expect(ended("a <search>", { stoppedBy: "STOP" })).toBe("a <search>STOP");
  expect(ended("<search>a <python>b")).toBe("<search>a <python>b</python>");
  expect(ended("<python>a <search>b")).toBe("<python>a <search>b</search>");
  // Ended by the model itself, by its length, by another token, or with the string still there.
  expect(ended("an answer")).toBe("an answer");
  expect(ended("<search>a", { finish: "length" })).toBe("<search>a");
  expect(ended("<search>a", { stoppedBy: "<|im_end|>" })).toBe("<search>a</search>");
  expect(ended("<search>a</search>", { stoppedBy: "</search>" })).toBe("<search>a</search>");
});

const completion = (more: Partial<Completion>): Completion => ({
  ...{ content: "", reasoning: undefined, calls: [], finish: "stop", stoppedBy: undefined, usage: undefined },
  ...more,
});

test("an answer's calls have ids of their own, made where there are none, and unreadable ones say what is wrong", () => {
  const names = new ToolNames();
  names.shown("a.b");
  const read = readNative(
    completion({
      ...{ content: "Look.", reasoning: "r" },
      calls: [
        { id: undefined, name: "a_b", arguments: '{"n": 1}' },
        { id: undefined, name: "a_b", arguments: '{"n": 2}' },
        { id: "c", name: "find", arguments: "{}" },
        { id: "c", name: "find", arguments: "{}" },
        { id: "d", name: "find", arguments: "[1" },
      ],
    }),
    names,
    4,
  );
  expect(read.calls.map((call) => ("error" in call ? call.error : [call.id, call.name, call.arguments]))).toEqual([
    ["call_4", "a.b", { n: 1 }],
    ["call_4_1", "a.b", { n: 2 }],
    ["c", "find", {}],
    ["c_3", "find", {}],
    expect.stringContaining("arguments of find"),
  ]);
  expect(read.message).toMatchObject({ role: "assistant", content: "Look.", reasoning: "r" });
});

test("messages are as the protocol has them, numbers as the model wrote them", () => {
  const names = new ToolNames();
  const call = { id: "c", name: "a.b", arguments: { n: 5 } };
  expect([
    described({ role: "system", content: "s" }, names),
    described({ role: "user", content: "u" }, names),
    described({ role: "tool", name: "a.b", content: "t", callId: "c" }, names),
    described({ role: "tool", name: "a.b", content: "t" }, names),
    described({ role: "assistant", content: "a", reasoning: "not sent" }, names),
    described({ role: "assistant", content: "", toolCalls: [call, { ...call, argumentsText: '{"n": 5.0}' }] }, names),
  ]).toEqual([
    { role: "system", content: "s" },
    { role: "user", content: "u" },
    { role: "tool", tool_call_id: "c", content: "t" },
    { role: "tool", tool_call_id: "", content: "t" },
    { role: "assistant", content: "a" },
    {
      ...{ role: "assistant", content: "" },
      tool_calls: ['{"n":5}', '{"n": 5.0}'].map((text) => ({
        ...{ id: "c", type: "function", function: { name: "a_b", arguments: text } },
      })),
    },
  ]);
  const tool = { name: "a.b", description: "D.", parameters: { type: "object", properties: {} } as const, execute: () => "" };
  expect(describedTool(tool, names)).toEqual({
    type: "function",
    function: { name: "a_b", description: "D.", parameters: { type: "object", properties: {} } },
  });
});
