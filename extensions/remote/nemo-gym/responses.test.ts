import { expect, test } from "vitest";
import type { Message } from "../../../src/core/messages.ts";
import { createParamsSchema, openingOf, outputItems, responseOf } from "./responses.ts";

const opening = (params: object, system?: string) => openingOf(createParamsSchema.parse(params), system);

test("a text is the user's, behind the settings' system message and the row's instructions", () => {
  expect(opening({ input: "Hi" })).toEqual([{ role: "user", content: "Hi" }]);
  expect(opening({ input: "Hi", instructions: "Be brief." }, "Play.")).toEqual([
    { role: "system", content: "Play." },
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ]);
  expect(opening({ input: [], instructions: null }, "Play.")).toEqual([{ role: "system", content: "Play." }]);
});

test("parts of a content are lines, and what has no content is empty", () => {
  const parts = ["input_text", "output_text", "text"].map((type, i) => ({ type, text: `${i}`, annotations: [] }));
  const [user, assistant] = opening({
    input: [
      { role: "user", content: parts, type: "message", id: "m" },
      { role: "assistant", content: null },
    ],
  });
  expect([user, assistant]).toEqual([
    { role: "user", content: "0\n1\n2" },
    { role: "assistant", content: "" },
  ]);
});

test("calls that follow each other, or a message, are one action; an output finds the name of its call", () => {
  const call = (call_id: string, text = "{}") => ({ type: "function_call", call_id, name: `f${call_id}`, arguments: text });
  const output = (call_id: string) => ({ type: "function_call_output", call_id, output: `o${call_id}`, status: "completed" });
  const input = [
    { role: "assistant", content: "So." },
    call("1", '{"a": 1.0}'),
    { type: "reasoning", summary: [], encrypted_content: "x" },
    call("2", "[]"),
    output("2"),
    output("1"),
    call("3", "{oops"),
    output("4"),
  ];
  expect(opening({ input })).toEqual([
    {
      role: "assistant",
      content: "So.",
      toolCalls: [
        { id: "1", name: "f1", arguments: { a: 1 }, argumentsText: '{"a": 1.0}' },
        { id: "2", name: "f2", arguments: {}, argumentsText: "[]" },
      ],
    },
    { role: "tool", name: "f2", callId: "2", content: "o2" },
    { role: "tool", name: "f1", callId: "1", content: "o1" },
    { role: "assistant", content: "", toolCalls: [{ id: "3", name: "f3", arguments: {}, argumentsText: "{oops" }] },
    { role: "tool", name: "tool", callId: "4", content: "o4" },
  ]);
  expect(opening({ input: [call("1")] })).toMatchObject([{ role: "assistant", content: "", toolCalls: [{ id: "1" }] }]);
});

test.each([
  [{ input: "x", tool_choice: "auto", temperature: 1, top_p: 1, model: "m", stream: true }, true],
  [{ input: "x", tool_choice: "required" }, false],
  [{ input: "x", previous_response_id: "r" }, false],
  [{ input: [{ role: "user", content: [{ type: "input_image", image_url: "x" }] }] }, false],
  [{ input: [{ role: "tool", content: "x" }] }, false],
  [{ input: "x", tools: [{ type: "web_search" }] }, false],
  [{ input: "x", tools: [{ type: "function", name: "" }] }, false],
])("%j is accepted: %s", (params, accepted) => {
  expect(createParamsSchema.safeParse(params).success).toBe(accepted);
});

test("an episode is items: reasoning, text, calls and their outputs in order", () => {
  const messages: Message[] = [
    {
      role: "assistant",
      content: "So.",
      reasoning: "Hm.",
      toolCalls: [
        { name: "f", arguments: { a: 1 } },
        { id: "own", name: "g", arguments: {}, argumentsText: '{"b": 2.0}' },
        { name: "h", arguments: {} },
      ],
    },
    { role: "tool", name: "f", content: "1" },
    { role: "tool", name: "g", callId: "own", content: "2" },
    { role: "tool", name: "h", content: "3" },
    { role: "user", content: "And?" },
    { role: "assistant", content: "" },
  ];
  const call = (id: string, name: string, text: string) => ({
    ...{ type: "function_call", call_id: id, name, arguments: text, id, status: "completed" },
  });
  const output = (call_id: string, text: string, i: number) => ({
    ...{ type: "function_call_output", call_id, output: text, id: `out_${i}`, status: "completed" },
  });
  const message = (text: string, i: number) => ({
    ...{ type: "message", id: `msg_${i}`, role: "assistant", status: "completed" },
    content: [{ type: "output_text", text, annotations: [] }],
  });
  expect(outputItems(messages)).toEqual([
    { type: "reasoning", id: "rs_0", summary: [{ type: "summary_text", text: "Hm." }] },
    message("So.", 0),
    call("call_0_0", "f", '{"a":1}'),
    call("own", "g", '{"b": 2.0}'),
    call("call_0_2", "h", "{}"),
    output("call_0_0", "1", 5),
    output("own", "2", 6),
    output("call_0_2", "3", 7),
    { type: "message", role: "user", content: "And?" },
    message("", 9),
  ]);
});

test("an output without a call has a name of its own", () => {
  expect(outputItems([{ role: "tool", name: "f", content: "1" }])).toMatchObject([{ call_id: "call_0", id: "out_0" }]);
});

test("a Response has what resource servers read of one", () => {
  const items = [{ type: "message" }];
  expect(responseOf(items, undefined)).toEqual({
    ...{ id: "resp_retrograde", created_at: 0, model: "policy", object: "response", output: items },
    ...{ parallel_tool_calls: true, tool_choice: "auto", tools: [] },
  });
  expect(responseOf(items, [1])).toMatchObject({ tools: [1] });
});
