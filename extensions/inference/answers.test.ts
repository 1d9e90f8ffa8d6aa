import { expect, test } from "vitest";
import { z } from "zod";
import type { Delta } from "../../src/chat/conversation.ts";
import { geminiMessage, geminiSchema } from "./gemini-schema.ts";
import { geminiCard, geminiError, generateContent } from "./generate-content.ts";
import type { Wire } from "./parsed-request.ts";
import { responses } from "./responses.ts";
import { replyOf, stateOf, titled } from "./wires.fixture.ts";

/** Whole answers, field by field, as clients of OpenAI's Responses and of Gemini parse them. */

const asked = (body: object = {}) =>
  responses.read(Buffer.from(JSON.stringify({ model: "m", input: "When?", ...body })), stateOf());
const frame = (more: object = {}) => ({
  ...{ id: "resp_1", object: "response", created_at: 7, status: "completed", model: "m", error: null, incomplete_details: null },
  ...{ instructions: null, previous_response_id: null, metadata: {}, tools: [], tool_choice: "auto", parallel_tool_calls: true },
  ...{
    max_output_tokens: null,
    temperature: 1,
    top_p: 1,
    text: { format: { type: "text" } },
    store: true,
    truncation: "disabled",
  },
  ...{ output: [], reasoning: { effort: null, summary: null }, usage: null },
  ...more,
});
const usage = {
  ...{ input_tokens: 5, input_tokens_details: { cached_tokens: 0 }, output_tokens: 2 },
  ...{ output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 7 },
};
const message = (text: string, status = "completed", logprobs: readonly object[] = []) => ({
  ...{ type: "message", id: "msg_1", status, role: "assistant" },
  content: [{ type: "output_text", text, annotations: [], logprobs }],
});

test("an answer of Responses repeats what was asked", () => {
  expect(asked().answer([replyOf({ content: "Yes." })])).toEqual(frame({ output: [message("Yes.")], usage }));
  const tools = [{ type: "function", name: "find", parameters: titled }];
  const body = {
    ...{ instructions: "S", tools, tool_choice: "required", parallel_tool_calls: false, max_output_tokens: 9 },
    ...{ temperature: 0, top_p: 0.5, text: { format: { type: "json_object" } }, store: false },
  };
  expect(asked(body).answer([replyOf({ content: "Ye" }, "length")])).toEqual(
    frame({
      ...{ ...body, tools: [expect.objectContaining({ name: "find" })], output: [message("Ye", "incomplete")], usage },
      ...{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    }),
  );
});

test("empty reasoning is an item without content, and calls alone have no message", () => {
  const call = { name: "find", arguments: { of: 1 } };
  expect(asked().answer([replyOf({ reasoning: "", toolCalls: [call, call] })])).toEqual(
    frame({
      output: [
        { type: "reasoning", id: "rs_1", summary: [], status: "completed", content: [] },
        { type: "function_call", id: "fc_call_10", call_id: "call_10", name: "find", arguments: '{"of":1}', status: "completed" },
        { type: "function_call", id: "fc_call_11", call_id: "call_11", name: "find", arguments: '{"of":1}', status: "completed" },
      ],
      usage,
    }),
  );
});

test("the events of an answer of Responses, whole", () => {
  const events: object[] = [];
  const { delta, end } = asked({ stream: true }).stream((event) => void events.push(event as object));
  const parts: Delta[] = [
    { kind: "reasoning", text: "Hm", tokens: [] },
    { kind: "text", text: "At", tokens: [{ token: 2, logprob: -1 }] },
    { kind: "call", index: 0, name: "find", tokens: [] },
    { kind: "arguments", index: 0, text: "{}", tokens: [] },
    { kind: "text", text: "So", tokens: [] },
  ];
  for (const part of parts) delta(0, part);
  end([replyOf({ content: "At", reasoning: "Hm", toolCalls: [{ name: "find", arguments: {} }] })]);
  const reasoning = (status: string, content: readonly object[]) => ({
    type: "reasoning",
    id: "rs_1",
    summary: [],
    status,
    content,
  });
  const call = (status: string, args: string) => ({
    ...{ type: "function_call", id: "fc_call_10", call_id: "call_10", name: "find", arguments: args, status },
  });
  const later = { ...message("So"), id: "msg_12" };
  const part = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
  const expected = [
    { type: "response.created", response: frame({ status: "in_progress" }) },
    { type: "response.in_progress", response: frame({ status: "in_progress" }) },
    { type: "response.output_item.added", output_index: 0, item: reasoning("in_progress", []) },
    { type: "response.reasoning_text.delta", item_id: "rs_1", output_index: 0, content_index: 0, delta: "Hm" },
    { type: "response.reasoning_text.done", item_id: "rs_1", output_index: 0, content_index: 0, text: "Hm" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: reasoning("completed", [{ type: "reasoning_text", text: "Hm" }]),
    },
    { type: "response.output_item.added", output_index: 1, item: { ...message("", "in_progress"), id: "msg_1", content: [] } },
    { type: "response.content_part.added", item_id: "msg_1", output_index: 1, content_index: 0, part: part("") },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 1, content_index: 0, delta: "At", logprobs: [] },
    { type: "response.output_text.done", item_id: "msg_1", output_index: 1, content_index: 0, text: "At", logprobs: [] },
    { type: "response.content_part.done", item_id: "msg_1", output_index: 1, content_index: 0, part: part("At") },
    { type: "response.output_item.done", output_index: 1, item: { ...message("At"), id: "msg_1" } },
    { type: "response.output_item.added", output_index: 2, item: call("in_progress", "") },
    { type: "response.function_call_arguments.delta", item_id: "fc_call_10", output_index: 2, delta: "{}" },
    { type: "response.function_call_arguments.done", item_id: "fc_call_10", output_index: 2, name: "find", arguments: "{}" },
    { type: "response.output_item.done", output_index: 2, item: call("completed", "{}") },
    { type: "response.output_item.added", output_index: 3, item: { ...later, status: "in_progress", content: [] } },
    { type: "response.content_part.added", item_id: "msg_12", output_index: 3, content_index: 0, part: part("") },
    { type: "response.output_text.delta", item_id: "msg_12", output_index: 3, content_index: 0, delta: "So", logprobs: [] },
    { type: "response.output_text.done", item_id: "msg_12", output_index: 3, content_index: 0, text: "So", logprobs: [] },
    { type: "response.content_part.done", item_id: "msg_12", output_index: 3, content_index: 0, part: part("So") },
    { type: "response.output_item.done", output_index: 3, item: later },
  ];
  const whole = events.pop();
  expect(events).toEqual(expected.map((event, i) => ({ ...event, sequence_number: i })));
  expect(whole).toEqual({
    ...{ type: "response.completed", sequence_number: expected.length },
    response: frame({
      output: [
        reasoning("completed", [{ type: "reasoning_text", text: "Hm" }]),
        { ...message("At"), id: "msg_1" },
        call("completed", "{}"),
        later,
      ],
      usage,
    }),
  });
});

test("arguments without a call before them are no event", () => {
  const events: unknown[] = [];
  const { delta } = asked({ stream: true }).stream((event) => void events.push(event));
  delta(0, { kind: "arguments", index: 0, text: "{}", tokens: [] });
  expect(events).toEqual([]);
});

const gemini = (config: object = {}, method = "generateContent", query = "") => {
  const wire = generateContent(`/v1beta/models/g:${method}`) as Wire;
  const body = { contents: [{ parts: [{ text: "When?" }] }], generationConfig: config };
  return wire.read(Buffer.from(JSON.stringify(body)), stateOf(query));
};
const top = [
  { tokens: [2, 9], logprobs: [-1, -3] },
  { tokens: [3], logprobs: [-2] },
];

test("an answer of Gemini, whole", () => {
  const called = replyOf({ content: "At", reasoning: "Hm", toolCalls: [{ name: "find", arguments: { of: 1 } }] });
  const config = { thinkingConfig: { includeThoughts: true }, responseLogprobs: true, logprobs: 2 };
  const entry = (tokenId: number, logProbability: number) => ({ token: `t${tokenId}`, tokenId, logProbability });
  expect(gemini(config).answer([{ ...called, sampled: { ...called.sampled, top } }])).toEqual({
    candidates: [
      {
        index: 0,
        content: {
          role: "model",
          parts: [
            { text: "Hm", thought: true },
            { text: "At" },
            { functionCall: { id: "call_100", name: "find", args: { of: 1 } } },
          ],
        },
        finishReason: "STOP",
        logprobsResult: {
          chosenCandidates: [entry(2, -1), entry(3, -2)],
          topCandidates: [{ candidates: [entry(2, -1), entry(9, -3)] }, { candidates: [entry(3, -2)] }],
        },
      },
    ],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    ...{ modelVersion: "g", responseId: "1" },
  });
  expect(gemini().answer([replyOf({}, "length")])).toEqual({
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "" }] }, finishReason: "MAX_TOKENS" }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    ...{ modelVersion: "g", responseId: "1" },
  });
});

test("the chunks of an answer of Gemini, whole: calls come at the end", () => {
  const chunks: unknown[] = [];
  const { stream } = gemini({ thinkingConfig: { includeThoughts: true } }, "streamGenerateContent", "alt=sse");
  const { delta, end } = stream((chunk, name) => {
    expect(name).toBeUndefined();
    chunks.push(chunk);
  });
  delta(0, { kind: "reasoning", text: "Hm", tokens: [] });
  delta(0, { kind: "text", text: "At", tokens: [] });
  delta(0, { kind: "call", index: 0, name: "find", tokens: [] });
  delta(0, { kind: "arguments", index: 0, text: "{}", tokens: [] });
  end([replyOf({ content: "At", toolCalls: [{ name: "find", arguments: {} }] })]);
  const own = { modelVersion: "g", responseId: "1" };
  const chunk = (part: object, end: object = {}) => ({
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, ...end }],
  });
  expect(chunks).toEqual([
    { ...chunk({ text: "Hm", thought: true }), ...own },
    { ...chunk({ text: "At" }), ...own },
    {
      ...chunk({ functionCall: { id: "call_100", name: "find", args: {} } }, { finishReason: "STOP" }),
      ...{ usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 }, ...own },
    },
  ]);
});

test("a stream of Gemini is of events, and its routes are known with two versions or none", () => {
  expect(() => gemini({}, "streamGenerateContent")).toThrow("alt is missing; expected sse: a stream is of events.");
  expect(() => gemini({}, "streamGenerateContent", "alt=json")).toThrow('alt is "json"; expected sse');
  expect(gemini({}, "generateContent", "alt=json").parsed.stream).toBe(false);
  for (const route of ["/v1beta/models/a:countTokens", "/v1alpha/models/a:countTokens", "/models/a:countTokens"])
    expect(generateContent(route)).toMatchObject({ model: "a", namesErrors: false });
  for (const route of ["/v2/models/a:countTokens", "/models/:countTokens", "/models/a:countToken", "x/models/a:countTokens"])
    expect(generateContent(route)).toBeUndefined();
  expect(generateContent("/models/a:countTokens")?.count?.(3)).toEqual({ totalTokens: 3 });
  expect(generateContent("/models/a:generateContent")).not.toHaveProperty("count");
});

test.each([
  [400, "INVALID_ARGUMENT"],
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [413, "INVALID_ARGUMENT"],
  [429, "RESOURCE_EXHAUSTED"],
  [503, "UNAVAILABLE"],
  [500, "INTERNAL"],
])("Gemini's error of %d is %s", (status, name) => {
  expect(geminiError({ status, message: "no", code: "x", param: "y" })).toEqual({
    error: { code: status, message: "no", status: name },
  });
  expect(geminiCard("a", 9)).toMatchObject({ name: "models/a", inputTokenLimit: 9, outputTokenLimit: 9 });
});

test.each<[object, object]>([
  [{ type: "STRING" }, { type: "string" }],
  [{ type: "string", nullable: true }, { type: ["string", "null"] }],
  [{ type: "STRING", nullable: false }, { type: "string" }],
  [
    { type: "STRING", enum: ["a"], format: "enum" },
    { type: "string", enum: ["a"] },
  ],
  [
    { type: "NUMBER", enum: ["1.5"] },
    { type: "number", enum: [1.5] },
  ],
  [
    { type: "STRING", enum: ["1"], nullable: true },
    { type: ["string", "null"], enum: ["1", null] },
  ],
  [
    { type: "STRING", format: "date" },
    { type: "string", format: "date" },
  ],
  [
    { min_items: "1", maxItems: 2 },
    { minItems: 1, maxItems: 2 },
  ],
  [{ anyOf: [{ type: "STRING" }] }, { anyOf: [{ type: "string" }] }],
  [{ any_of: [{ type: "STRING" }], nullable: true }, { anyOf: [{ type: "string" }, { type: "null" }] }],
  [
    { example: 3, title: "T" },
    { examples: [3], title: "T" },
  ],
  [{ additionalProperties: { type: "STRING" } }, { additionalProperties: { type: "string" } }],
  [{ additionalProperties: false }, { additionalProperties: false }],
])("Gemini's schema %j", (schema, expected) => {
  expect(geminiSchema.parse(schema)).toEqual(expected);
});

test("properties of Gemini's schema come in their order, those without a place last", () => {
  const type = { type: "STRING" };
  const schema = { properties: { a: type, b: type, c: type, d: type }, propertyOrdering: ["d", "b"] };
  expect(Object.keys((geminiSchema.parse(schema) as { properties: object }).properties)).toEqual(["d", "b", "a", "c"]);
  const read = geminiMessage(z.unknown());
  expect([read.parse({ a_b: 1, cD: 2 }), read.parse([1]), read.parse(null), read.parse("a_b")]).toEqual([
    { aB: 1, cD: 2 },
    [1],
    null,
    "a_b",
  ]);
});
