import { expect, test } from "vitest";
import { z } from "zod";
import type { Message } from "../core/messages.ts";
import { CalledTools, contentSchema, exactArguments, type Fail, messageOfWire, messageSchema } from "./openai-messages.ts";

const schema = messageSchema({});
const fail: Fail = (field, value, expected) => new Error(`${field}: ${JSON.stringify(value)}, not ${expected}`);

/** Messages of the wire, read one behind the other. */
function read(...messages: readonly object[]): Message[] {
  const called = new CalledTools();
  return messages.map((message) => messageOfWire(schema.parse(message), called, exactArguments, fail));
}
const assistant = (fields: object) => read({ role: "assistant", ...fields })[0];

test("a text may come in parts, of which a refusal is one", () => {
  const parts = [
    { type: "text", text: "a", cache_control: { type: "ephemeral" }, annotations: [] },
    { type: "refusal", refusal: "no" },
  ];
  expect([contentSchema.parse("a"), contentSchema.parse(parts), contentSchema.parse([])]).toEqual(["a", "ano", ""]);
  expect(() => contentSchema.parse([{ type: "image_url", image_url: { url: "x" } }])).toThrow("only text");
  expect(() => contentSchema.parse([{ type: "text", text: "a", other: 1 }])).toThrow("a part of text");
  expect(() => contentSchema.parse([{ type: "refusal", text: "a" }])).toThrow("a part with a refusal");
});

test("a developer speaks for the system; names of who speaks, and marks of servers, are left out", () => {
  const marks = { name: "n", cache_control: {}, id: "i", created: 1, created_at: 1, timestamp: 1, metadata: {}, model: "m" };
  expect(
    read(
      { role: "system", content: "s", ...marks, usage: {} },
      { role: "developer", content: "d" },
      { role: "user", content: "u", ...marks },
    ),
  ).toEqual([
    { role: "system", content: "s" },
    { role: "system", content: "d" },
    { role: "user", content: "u" },
  ]);
});

test.each<[string, object, object]>([
  ["a text", { content: "a" }, { content: "a" }],
  ["a refusal is its text", { content: null, refusal: "no" }, { content: "no" }],
  ["an empty text is one", { content: "" }, { content: "" }],
  ["reasoning", { content: "a", reasoning: "r" }, { content: "a", reasoning: "r" }],
  ["reasoning_content", { reasoning_content: "r" }, { content: "", reasoning: "r" }],
  ["thinking", { thinking: "r" }, { content: "", reasoning: "r" }],
  ["one reasoning by two names", { reasoning: "r", thinking: "r", reasoning_content: "" }, { content: "", reasoning: "r" }],
  [
    "reasoning in details",
    {
      reasoning_details: [
        { type: "reasoning.text", text: "a", signature: "s", id: "1", format: "f", index: 0 },
        { type: "reasoning.summary", summary: "b", id: "2", format: "f", index: 1 },
        { type: "reasoning.encrypted", data: "x", id: "3", format: "f", index: 2 },
        { type: "reasoning.text", text: null },
      ],
    },
    { content: "", reasoning: "ab" },
  ],
  [
    "reasoning and its details",
    { reasoning: "r", reasoning_details: [{ type: "reasoning.summary", summary: "s" }] },
    { content: "", reasoning: "r" },
  ],
  [
    "calls with their function, alone, and with arguments as an object",
    {
      tool_calls: [
        { id: "c1", type: "function", index: 0, function: { name: "f", arguments: '{"a": 5.0}' } },
        { name: "g", arguments: { b: 1 } },
        { id: "", function: { name: "h", arguments: " " } },
        { id: "c2", name: "i", arguments: "{}" },
      ],
    },
    {
      content: "",
      toolCalls: [
        { id: "c1", name: "f", arguments: { a: 5 }, argumentsText: '{"a": 5.0}' },
        { name: "g", arguments: { b: 1 } },
        { name: "h", arguments: {} },
        { id: "c2", name: "i", arguments: {} },
      ],
    },
  ],
  [
    "a call of the old kind",
    { content: null, tool_calls: [], function_call: { name: "f", arguments: "{}" } },
    { content: "", toolCalls: [{ name: "f", arguments: {} }] },
  ],
  [
    "what clients send back as it came",
    { content: "a", annotations: [], provider_specific_fields: {}, signature: "s", images: [], tool_calls: null, refusal: null },
    { content: "a" },
  ],
])("an assistant's message: %s", (_, fields, message) => {
  expect(assistant(fields)).toEqual({ role: "assistant", ...message });
});

test.each<[string, object, string]>([
  [
    "calls of both kinds",
    { tool_calls: [{ name: "f", arguments: "{}" }], function_call: { name: "g", arguments: "{}" } },
    'function_call: "g", not none beside tool_calls',
  ],
  ["a text and a refusal", { content: "a", refusal: "b" }, 'refusal: "b", not none beside a content'],
  [
    "two reasonings",
    { reasoning: "a", thinking: "b" },
    'reasoning: "b", not one text: the message has another one under another name',
  ],
  ["nothing", {}, "content: undefined, not a text, reasoning or calls: there is nothing in this message"],
  ["nothing but null", { content: null }, "content: null, not a text, reasoning or calls: there is nothing in this message"],
  ["an image", { content: "a", images: [1] }, "images"],
  ["an unknown field", { content: "a", tool_cals: [] }, "tool_cals"],
  ["a call of another type", { tool_calls: [{ type: "custom", function: { name: "f", arguments: "{}" } }] }, "tool_calls"],
  ["a call without a name", { tool_calls: [{ name: "", arguments: "{}" }] }, "tool_calls"],
  ["arguments that are a list", { tool_calls: [{ name: "f", arguments: "[1]" }] }, "expected record"],
])("an assistant's message is refused: %s", (_, fields, message) => {
  expect(() => assistant(fields)).toThrow(message);
});

const asks = { role: "assistant", tool_calls: [{ id: "c1", name: "f", arguments: "{}" }] };

test("a tool's answer is of the call with its id, or of the tool that it names", () => {
  const [, ...answers] = read(
    asks,
    { role: "tool", tool_call_id: "c1", content: "a", id: "m1" },
    { role: "tool", tool_call_id: "c1", name: "f", content: [{ type: "text", text: "b" }] },
    { role: "function", name: "g", content: null },
    { role: "tool", tool_call_id: "c9", name: "h", content: "c" },
    { role: "tool", tool_call_id: "", name: "h", content: "d" },
  );
  expect(answers).toEqual([
    { role: "tool", name: "f", callId: "c1", content: "a" },
    { role: "tool", name: "f", callId: "c1", content: "b" },
    { role: "tool", name: "g", content: "" },
    { role: "tool", name: "h", callId: "c9", content: "c" },
    { role: "tool", name: "h", content: "d" },
  ]);
});

test("an answer that failed says so to the model", () => {
  const answer = (fields: object) => read(asks, { role: "tool", tool_call_id: "c1", content: "gone", ...fields })[1]?.content;
  const failed = answer({ is_error: true });
  expect(failed).toMatch(/gone/);
  expect(failed).not.toBe("gone");
  expect([answer({ status: "error" }), answer({ status: "success" }), answer({ is_error: false }), answer({})]).toEqual([
    ...[failed, "gone", "gone", "gone"],
  ]);
});

test.each<[string, readonly object[], string]>([
  ["of no call", [{ role: "tool", content: "a" }], "tool_call_id: undefined, not the id of a call before it, or a name"],
  ["of an unknown call", [{ role: "tool", tool_call_id: "c9", content: "a" }], 'tool_call_id: "c9", not the id of a call'],
  [
    "of another tool",
    [asks, { role: "tool", tool_call_id: "c1", name: "g", content: "a" }],
    'name: "g", not f, which the call c1 is of',
  ],
  ["with a field of its own", [asks, { role: "tool", tool_call_id: "c1", content: "a", other: 1 }], "a tool's message"],
])("a tool's answer is refused: %s", (_, messages, message) => {
  expect(() => read(...messages)).toThrow(message);
});

test("a door may have fields of its own, and messages are known by their role", () => {
  const weighted = messageSchema({ weight: z.number().optional() });
  for (const role of ["system", "user", "assistant"])
    expect(weighted.parse({ role, content: "a", weight: 0 })).toMatchObject({ role, content: "a", weight: 0 });
  expect(weighted.parse({ role: "tool", name: "f", weight: 1 })).toEqual({ role: "tool", name: "f", weight: 1 });
  for (const [role, named] of [
    ["system", "a system message"],
    ["user", "a user's message"],
    ["assistant", "an assistant's message"],
  ])
    expect(() => schema.parse({ role, content: "a", weight: 0 })).toThrow(named);
  expect(() => schema.parse({ role: "critic", content: "a" })).toThrow();
});

test("arguments of data are exact, and no object is an error", () => {
  expect(exactArguments("")).toEqual({ arguments: {} });
  expect(exactArguments('{"a": 1}')).toEqual({ arguments: { a: 1 } });
  expect(exactArguments('{"a": 1e3}')).toEqual({ arguments: { a: 1000 }, argumentsText: '{"a": 1e3}' });
  expect(() => exactArguments("{")).toThrow(SyntaxError);
});
