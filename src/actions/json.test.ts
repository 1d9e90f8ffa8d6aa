import { expect, test } from "vitest";
import {
  callJson,
  callOf,
  callsOfJson,
  dumps,
  exactText,
  jsonEnd,
  jsonText,
  markedArguments,
  parseJson,
  unmarked,
} from "./json.ts";

test.each<[string, unknown]>([
  ['{"a": 1}', { a: 1 }],
  ['```json\n{"a": 1}\n```', { a: 1 }],
  ["  ```\n[1]```  ", [1]],
  ['{"a": [1, 2,], "b": 3,}', { a: [1, 2], b: 3 }],
  ['{"a": ",]", "b": "\\",}",}', { a: ",]", b: '",}' }],
  ["5", 5],
])("%j is read", (text, value) => {
  expect(parseJson(text)).toEqual({ value });
});

test("what is no JSON keeps the first reason", () => {
  expect(parseJson("{a,}")).toEqual({ error: expect.stringContaining("JSON") });
  expect(parseJson("")).toEqual({ error: expect.stringContaining("end of JSON") });
});

test("an object ends behind its last bracket, brackets and quotes in texts apart", () => {
  expect([jsonEnd("{}", 0), jsonEnd('x{"a": "}\\"]", "b": [1]} y', 1), jsonEnd("[{}]", 0), jsonEnd("[{}]", 1)]).toEqual([
    2, 24, 4, 3,
  ]);
  expect([jsonEnd("{[}", 0), jsonEnd('{"a', 0), jsonEnd("", 0)]).toEqual([undefined, undefined, undefined]);
});

const example = "it so";
test.each<[string, unknown]>([
  ['{"a": 1}', { name: "f", arguments: { a: 1 } }],
  ["  ", { name: "f", arguments: {} }],
  ['{"a": 5.0}', { name: "f", arguments: { a: 5 }, argumentsText: '{"a": 5.0}' }],
  ["[1]", { error: "The arguments of f are not a JSON object. Write it so." }],
  ['{"__proto__": 1}', { error: 'f has no argument "__proto__". Write it so.' }],
  ["{", { error: expect.stringMatching(/^The arguments of f are not valid JSON: .*\. Write it so\.$/) }],
])("the arguments %j of a call", (text, call) => {
  expect(callOf("f", text, example)).toEqual(call);
});

test.each<[string, unknown[]]>([
  ['{"name": "f", "arguments": {"a": 1}}', [{ name: "f", arguments: { a: 1 } }]],
  ['{"name": "f", "parameters": {"a": 1}}', [{ name: "f", arguments: { a: 1 } }]],
  ['{"name": "f"}', [{ name: "f", arguments: {} }]],
  ['{"name": "f", "arguments": "{\\"a\\": 1}"}', [{ name: "f", arguments: { a: 1 } }]],
  ['{"name": "f", "arguments": "text"}', [{ error: "The arguments of f are not a JSON object. Write it so." }]],
  ['{"name": "f", "arguments": [1]}', [{ error: "The arguments of f are not a JSON object. Write it so." }]],
  ['{"name": ""}', [{ error: 'This tool call has no "name". Write it so.' }]],
  ["7", [{ error: 'This tool call has no "name". Write it so.' }]],
  ["[]", []],
  // Each call of a list keeps the text of its own numbers.
  [
    '[{"name": "f", "arguments": {"a": 1e3}}, {"name": "g", "arguments": {"b": [2]}}, {"name": "h", "note": "{", "parameters": {"c": 2.50}}]',
    [
      { name: "f", arguments: { a: 1000 }, argumentsText: '{"a": 1e3}' },
      { name: "g", arguments: { b: [2] } },
      { name: "h", arguments: { c: 2.5 }, argumentsText: '{"c": 2.50}' },
    ],
  ],
])("the calls %j", (text, calls) => {
  expect(callsOfJson(text, example)).toEqual(calls);
});

test("a call that is no JSON says so", () => {
  expect(callsOfJson("{", example)).toEqual([
    { error: expect.stringMatching(/^This tool call is not valid JSON: .* Write it so\.$/) },
  ]);
});

test.each([
  ['{"a": 5}', false],
  ['{"a": -0.5, "b": "5.0"}', false],
  ['{"a": 5.0}', true],
  ['{"a": 9007199254740993}', true],
  ['{"a": 1e3}', true],
  ['{"a": "\\"5.0"}', false],
])("whether the numbers of %j lose their text: %s", (text, loses) => {
  expect(exactText(text)).toEqual(loses ? { argumentsText: text } : {});
});

test("arguments are written with the numbers as the model wrote them, and Python's spaces", () => {
  const call = { name: "f", arguments: { a: 5, b: [1, { c: "5.0" }] }, argumentsText: '{"a": 5.0, "b": [1, {"c": "5.0"}]}' };
  expect(jsonText(call)).toBe('{"a": 5.0, "b": [1, {"c": "5.0"}]}');
  expect(callJson(call)).toBe('{"name": "f", "arguments": {"a": 5.0, "b": [1, {"c": "5.0"}]}}');
  expect(callJson({ name: 'q"', arguments: {} }, "parameters")).toBe('{"name": "q\\"", "parameters": {}}');
  expect(markedArguments({ name: "f", arguments: { a: 1 } })).toEqual({ a: 1 });
  expect(markedArguments({ name: "f", arguments: { a: 1 }, argumentsText: "broken" })).toEqual({ a: 1 });
  expect(markedArguments(call)).toEqual({ a: "\ue0005.0\ue001", b: [1, { c: "5.0" }] });
  // A template may have put the mark in quotes of either kind.
  expect(unmarked("x '\ue0005.0\ue001' \"\ue000-1e3\ue001\" \ue0007.0\ue001")).toBe("x 5.0 -1e3 7.0");
  expect(unmarked("plain")).toBe("plain");
  expect(dumps({ a: [1, null, "x"], b: { c: undefined } })).toBe('{"a": [1, null, "x"], "b": {"c": null}}');
});
