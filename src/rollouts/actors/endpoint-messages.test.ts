import { expect, test } from "vitest";
import type { Completion } from "../../completions/answer.ts";
import { ToolNames, withStopString } from "./endpoint-messages.ts";

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
