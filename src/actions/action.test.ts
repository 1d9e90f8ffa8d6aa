import { expect, test } from "vitest";
import { messageOf, readReasoned } from "./action.ts";

const call = { name: "f", arguments: {} };
const bad = { error: "no" };

test("a message has the calls that can be read, beside its trimmed text", () => {
  expect(messageOf(" a \n", [call, bad, call], "why")).toEqual({
    message: { role: "assistant", content: "a", reasoning: "why", toolCalls: [call, call] },
    calls: [call, bad, call],
  });
  expect(messageOf("a", [bad])).toEqual({ message: { role: "assistant", content: "a" }, calls: [bad] });
});

/** Reads the first `call(…)`. */
const answer = (text: string) => {
  const [, inside] = /call\(([^()]*)\)/.exec(text) ?? [];
  return inside === undefined ? { content: text, calls: [] } : { content: "", calls: [{ name: "f", arguments: { inside } }] };
};
const read = (text: string, tags?: readonly [string, string]) => {
  const { message } = readReasoned(text, answer, tags);
  return [message.reasoning, message.content, message.toolCalls?.[0]?.arguments.inside];
};

test.each<[string, readonly unknown[]]>([
  ["so", [undefined, "so", undefined]],
  ["<think>a</think>so", ["a", "so", undefined]],
  [" \n<think> a </think>\n\nso", ["a", "so", undefined]],
  ["a</think>so", ["a", "so", undefined]],
  ["</think>so", ["", "so", undefined]],
  ["<think>a", ["a", "", undefined]],
  ["<think>call(x)", ["call(x)", "", undefined]],
  ["<think>a</think>b</think>c", ["a", "b</think>c", undefined]],
  ["so <think>a", [undefined, "so <think>a", undefined]],
  ["so <think>a</think>b", ["so <think>a", "b", undefined]],
  // A closing tag inside of a call's argument is part of it; the next one outside of all ends the reasoning.
  ["call(x</think>y)", [undefined, "", "x</think>y"]],
  ["call(x</think>y)</think>call(z)", ["call(x</think>y)", "", "z"]],
  ["<think>call(x</think>y)", ["call(x", "y)", undefined]],
  ["a</think>call(</think>)", ["a", "", "</think>"]],
])("reasoning, text and call of %j", (text, expected) => {
  expect(read(text)).toEqual(expected);
});

test("a format may have tags of its own", () => {
  expect(read("[T]a[/T]so", ["[T]", "[/T]"])).toEqual(["a", "so", undefined]);
  expect(read("<think>a</think>so", ["[T]", "[/T]"])).toEqual([undefined, "<think>a</think>so", undefined]);
});
