import { expect, test } from "vitest";
import type { ConversationReply, Delta } from "../../src/chat/conversation.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { replyOf, stateOf, titled } from "./wires.fixture.ts";

const asked = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "When?" }] };
const exchange = (body: object) => anthropicMessages.read(Buffer.from(JSON.stringify({ ...asked, ...body })), stateOf());
const conversation = (body: object) => exchange(body).parsed.conversation;
const find = { name: "find", input_schema: titled, strict: true };
const book = { type: "custom", name: "book", description: "Books.", input_schema: {} };

test("a request's settings are read, and what is left out has its default", () => {
  const bare = {
    ...{ model: "m", stream: false, count: 1 },
    conversation: {
      messages: [{ role: "user", content: "When?" }],
      ...{ tools: [], toolChoice: "auto", parallelCalls: true, strictTools: [], maxTokens: 9, stopStrings: [] },
    },
    sampling: { temperature: undefined, topP: undefined, topK: undefined, others: {} },
  };
  expect(exchange({}).parsed).toEqual(bare);
  const nulls = { system: null, tools: null, tool_choice: null, output_config: null, stop_sequences: null, stream: null };
  expect(exchange({ ...nulls, temperature: null, top_p: null, top_k: 0 }).parsed).toEqual(bare);
  const { parsed } = exchange({
    ...{
      system: [
        { type: "text", text: "Be " },
        { type: "text", text: "brief." },
      ],
      stream: true,
      stop_sequences: ["."],
    },
    ...{ tools: [find, book], tool_choice: { type: "any", disable_parallel_tool_use: true } },
    ...{ temperature: 0.5, top_p: 0.9, top_k: 40, output_config: { format: { type: "json_schema", schema: titled } } },
  });
  expect(parsed).toEqual({
    ...{ model: "m", stream: true, count: 1 },
    conversation: {
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "When?" },
      ],
      tools: [
        { name: "find", description: "", parameters: titled, execute: expect.any(Function) },
        { name: "book", description: "Books.", parameters: { type: "object", properties: {} }, execute: expect.any(Function) },
      ],
      ...{ toolChoice: "required", parallelCalls: false, strictTools: ["find"], form: { schema: titled } },
      ...{ maxTokens: 9, stopStrings: ["."] },
    },
    sampling: { temperature: 0.5, topP: 0.9, topK: 40, others: {} },
  });
});

test.each<[object, unknown, boolean]>([
  [{ type: "auto" }, "auto", true],
  [{ type: "auto", disable_parallel_tool_use: true }, "auto", false],
  [{ type: "any", disable_parallel_tool_use: false }, "required", true],
  [{ type: "none" }, "none", true],
  [{ type: "tool", name: "find" }, { tool: "find" }, true],
  [{ type: "tool", name: "find", disable_parallel_tool_use: true }, { tool: "find" }, false],
])("the choice of %j", (tool_choice, toolChoice, parallelCalls) => {
  expect(conversation({ tools: [find], tool_choice })).toMatchObject({ toolChoice, parallelCalls });
});

test("settings that no engine has are named, unless they have no effect", () => {
  const others = (body: object) => exchange(body).parsed.sampling.others;
  const idle = { thinking: { type: "disabled" }, cache_control: {}, inference_geo: "eu", context_management: {}, metadata: {} };
  expect(others({ ...idle, output_config: { effort: null } })).toEqual({});
  const thinking = { type: "enabled", budget_tokens: 1024 };
  expect(others({ thinking, output_config: { effort: "low" } })).toEqual({ thinking, "output_config.effort": "low" });
});

test.each<[object, RegExp]>([
  [{ thread: "t1" }, /^thread is "t1"; expected none: requests here have whole conversations/],
  [{ messages: [] }, /^messages is/],
  [{ max_tokens: 0 }, /^max_tokens is/],
  [{ top_k: -1 }, /^top_k is/],
  [{ stop_sequences: [""] }, /^stop_sequences\.0 is/],
  [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, /tools\.0\.type .*custom: other tools run on the vendor/],
  [{ tools: [{ ...find, name: "" }] }, /tools\.0\.name/],
  [{ tools: [find], tool_choice: { type: "tool", name: "fly" } }, /^tool_choice\.name is "fly"; expected "find"/],
  [
    { messages: [{ role: "user", content: [{ type: "image", source: {} }] }] },
    /messages\.0\.content.*text, thinking, tool_use or tool_result: this endpoint has no others/,
  ],
  [
    { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "1" }] }] },
    /^messages\.tool_use_id is "x"; expected the id of a call before it/,
  ],
])("%j is refused", (body, message) => {
  expect(() => exchange(body)).toThrow(message);
});

test("a thread is refused by a code that Anthropic's tool runner knows", () => {
  try {
    exchange({ thread: "t1" });
    expect.unreachable();
  } catch (error) {
    const { code, status } = error as { code: string; status: number };
    expect({ code, status }).toEqual({ code: "thread_unsupported_request", status: 400 });
    expect(anthropicMessages.error({ status, code, message: "no threads", param: null })).toEqual({
      type: "error",
      error: {
        ...{ type: "invalid_request_error", message: "no threads" },
        details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
      },
    });
  }
});

test.each([
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [500, "api_error"],
])("%d: %s", (status, type) => {
  const error = anthropicMessages.error({ status, message: "no", code: null, param: null });
  expect(error).toEqual({ type: "error", error: { type, message: "no" } });
});

test("blocks are messages: results come before the text beside them, and texts are lines of one", () => {
  const use = (id: string, input: unknown) => ({ type: "tool_use", id, name: "find", input, caller: { type: "direct" } });
  const result = (id: string, more: object) => ({ type: "tool_result", tool_use_id: id, ...more });
  const text = (said: string) => ({ type: "text", text: said, cache_control: {} });
  const messages = [
    { role: "system", content: [text("a"), text("b")] },
    { role: "user", content: [text("When"), text("is it?")] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "H", signature: "s" },
        { type: "thinking", thinking: "m", signature: "s" },
        { type: "redacted_thinking", data: "x" },
        ...[text("I"), text("look."), use("a", { of: 1 }), use("b", null), use("c", {})],
      ],
    },
    {
      role: "user",
      content: [
        text("And?"),
        result("b", { content: "no", is_error: true }),
        result("a", { content: [text("ye"), text("s")] }),
        result("c", {}),
      ],
    },
    { role: "user", content: [] },
    { role: "assistant", content: "Yes." },
  ];
  const called = (id: string, args: object) => ({ id, name: "find", arguments: args, argumentsText: JSON.stringify(args) });
  expect(conversation({ messages }).messages).toEqual([
    { role: "system", content: "a\nb" },
    { role: "user", content: "When\nis it?" },
    {
      ...{ role: "assistant", content: "Ilook.", reasoning: "Hm" },
      toolCalls: [called("a", { of: 1 }), called("b", {}), called("c", {})],
    },
    { role: "tool", name: "find", callId: "b", content: "Error: no" },
    { role: "tool", name: "find", callId: "a", content: "yes" },
    { role: "tool", name: "find", callId: "c", content: "" },
    { role: "user", content: "And?" },
    { role: "assistant", content: "Yes." },
  ]);
});

const frame = { id: "msg_1", type: "message", role: "assistant", model: "m" };
const usage = { input_tokens: 5, output_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
const calls = [
  { name: "find", arguments: { of: 1 } },
  { name: "find", arguments: {} },
];

test("an answer has blocks of thinking, text and calls", () => {
  expect(exchange({}).answer([replyOf({ content: "At", reasoning: "Hm.", toolCalls: calls })])).toEqual({
    ...frame,
    content: [
      { type: "thinking", thinking: "Hm.", signature: "" },
      { type: "text", text: "At", citations: null },
      { type: "tool_use", id: "call_10", name: "find", input: { of: 1 } },
      { type: "tool_use", id: "call_11", name: "find", input: {} },
    ],
    ...{ stop_reason: "tool_use", stop_sequence: null, usage },
  });
});

// The tokens' text is "t2t3".
test.each<[string, ConversationReply, object, object]>([
  ["the end of the turn", replyOf({ content: "At" }), {}, { stop_reason: "end_turn", stop_sequence: null }],
  ["a limit", replyOf({ toolCalls: calls }, "length"), {}, { stop_reason: "max_tokens", stop_sequence: null }],
  ["a stop", replyOf({ content: "At" }), { stop_sequences: ["x", "2t"] }, { stop_reason: "stop_sequence", stop_sequence: "2t" }],
  ["no stop of its own", replyOf({ content: "" }), { stop_sequences: ["x"] }, { stop_reason: "end_turn", stop_sequence: null }],
  [
    "a limit behind a stop",
    replyOf({ content: "At" }, "length"),
    { stop_sequences: ["2t"] },
    { stop_reason: "max_tokens", stop_sequence: null },
  ],
])("an answer says that it ended by %s", (_, reply, body, end) => {
  const text = reply.message.content;
  const content = text === "" ? [] : [{ type: "text", text, citations: null }];
  const made = (reply.message.toolCalls ?? []).map((call, i) => ({
    ...{ type: "tool_use", id: `call_1${i}`, name: call.name, input: call.arguments },
  }));
  expect(exchange(body).answer([reply])).toEqual({ ...frame, content: [...content, ...made], ...end, usage });
});

/** The events of an answer that is written in these parts. */
function streamed(deltas: readonly Delta[], reply: ConversationReply) {
  const events: unknown[] = [];
  const { delta, end } = exchange({ stream: true }).stream((data, name) => {
    expect(name).toBe((data as { type: string }).type);
    events.push(data);
  });
  for (const each of deltas) delta(0, each);
  end([reply]);
  return events;
}
const none = { ...usage, input_tokens: 0, output_tokens: 0 };
const start = {
  type: "message_start",
  message: { ...frame, content: [], stop_reason: null, stop_sequence: null, usage: none },
};
const stop = (index: number) => ({ type: "content_block_stop", index });
const ends = (stop_reason: string) => [
  {
    ...{ type: "message_delta", delta: { stop_reason, stop_sequence: null } },
    usage: { input_tokens: 5, output_tokens: 2 },
  },
  { type: "message_stop" },
];

test("a streamed answer opens and closes one block after the other", () => {
  const part = (kind: "text" | "reasoning", text: string): Delta => ({ kind, text, tokens: [] });
  const call = (index: number): Delta => ({ kind: "call", index, name: "find", tokens: [] });
  const args = (index: number, text: string): Delta => ({ kind: "arguments", index, text, tokens: [] });
  const deltas = [
    ...[part("reasoning", "H"), part("reasoning", "m."), part("text", "A"), part("text", "t")],
    ...[call(0), args(0, '{"of":'), args(0, "1}"), call(1)],
  ];
  const begins = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const adds = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
  expect(streamed(deltas, replyOf({ content: "At", reasoning: "Hm.", toolCalls: calls }))).toEqual([
    start,
    begins(0, { type: "thinking", thinking: "", signature: "" }),
    adds(0, { type: "thinking_delta", thinking: "H" }),
    adds(0, { type: "thinking_delta", thinking: "m." }),
    stop(0),
    begins(1, { type: "text", text: "", citations: null }),
    adds(1, { type: "text_delta", text: "A" }),
    adds(1, { type: "text_delta", text: "t" }),
    stop(1),
    begins(2, { type: "tool_use", id: "call_10", name: "find", input: {} }),
    adds(2, { type: "input_json_delta", partial_json: '{"of":' }),
    adds(2, { type: "input_json_delta", partial_json: "1}" }),
    stop(2),
    begins(3, { type: "tool_use", id: "call_11", name: "find", input: {} }),
    stop(3),
    ...ends("tool_use"),
  ]);
});

test("a streamed answer of nothing has no block", () => {
  expect(streamed([], replyOf({}))).toEqual([start, ...ends("end_turn")]);
});
