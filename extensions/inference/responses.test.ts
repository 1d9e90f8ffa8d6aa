import { expect, test } from "vitest";
import type { ConversationReply, Delta } from "../../src/chat/conversation.ts";
import { Context } from "../../src/core/context.ts";
import type { WireState } from "./parsed-request.ts";
import { responses } from "./responses.ts";

const kept = () => new Map<string, unknown>();
const stateOf = (id = "1", of = kept()): WireState => ({
  ...{ id, created: 7, query: new URLSearchParams(), kept: of },
  decode: (tokens) => tokens.map((token) => `t${token}`).join(""),
});
const exchange = (body: object, state = stateOf()) =>
  responses.read(Buffer.from(JSON.stringify({ model: "m", input: "When?", ...body })), state);
const conversation = (body: object) => exchange(body).parsed.conversation;
const reply = (message: object, finish: "stop" | "length" = "stop"): ConversationReply => ({
  message: { role: "assistant", content: "", ...message },
  ...{ finish, promptTokens: 5, completionTokens: 2 },
  sampled: { context: Context.of([1]), action: [2, 3], logprobs: [-1, -2] },
});
const find = { type: "function", name: "find", parameters: { type: "object", properties: {} }, strict: true };
const call = (id: string) => ({ type: "function_call", call_id: id, name: "find", arguments: '{"of":1}' });

test("a request's settings are read, and what is left out has its default", () => {
  expect(exchange({}).parsed).toEqual({
    ...{ model: "m", stream: false, count: 1 },
    conversation: {
      messages: [{ role: "user", content: "When?" }],
      ...{ tools: [], toolChoice: "auto", parallelCalls: true, strictTools: [], maxTokens: undefined },
    },
    sampling: { temperature: undefined, topP: undefined, others: {} },
  });
  const nulls = { instructions: null, previous_response_id: null, tools: null, tool_choice: null, parallel_tool_calls: null };
  const more = { text: null, include: null, top_logprobs: 0, stream: null, max_output_tokens: null, store: null };
  expect(exchange({ ...nulls, ...more, temperature: null, top_p: null }).parsed).toEqual(exchange({}).parsed);
  expect(exchange({ instructions: "", text: { format: null, verbosity: null } }).parsed).toEqual(exchange({}).parsed);
  expect(conversation({ tools: [find], tool_choice: { type: "function", name: "find" } }).toolChoice).toEqual({ tool: "find" });
  const asked = {
    ...{
      instructions: "Be brief.",
      stream: true,
      max_output_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
    },
    ...{
      tools: [find, { ...find, name: "book", strict: null, description: "Books." }],
      tool_choice: "required",
      top_logprobs: 3,
    },
  };
  const { conversation: said, sampling, stream } = exchange(asked).parsed;
  expect(said).toMatchObject({
    messages: [{ role: "system", content: "Be brief." }, { role: "user" }],
    ...{ toolChoice: "required", parallelCalls: false, strictTools: ["find"], maxTokens: 9, topLogprobs: 3 },
    tools: [
      { name: "find", description: "" },
      { name: "book", description: "Books." },
    ],
  });
  expect([sampling, stream]).toEqual([{ temperature: 0.5, topP: 0.9, others: {} }, true]);
});

test.each([
  [{ text: { format: { type: "text" } } }, undefined],
  [{ text: { format: { type: "json_object" } } }, "json"],
  [{ text: { format: { type: "json_schema", name: "a", schema: { type: "boolean" } } } }, { schema: { type: "boolean" } }],
])("the form of %j", (body, form) => {
  expect(conversation(body).form).toEqual(form);
});

test("settings that no engine has are named, unless they have no effect", () => {
  const others = (body: object) => exchange(body).parsed.sampling.others;
  expect(others({ text: { verbosity: "medium" }, truncation: "disabled", background: false, reasoning: {} })).toEqual({});
  expect(others({ text: { verbosity: "low" }, truncation: "auto" })).toEqual({ "text.verbosity": "low", truncation: "auto" });
  const set = { reasoning: { effort: "low" }, background: true, max_tool_calls: 2 };
  expect(others({ ...set, stream_options: {}, include: ["reasoning.encrypted_content"] })).toEqual(set);
});

test.each([
  [{ include: ["file_search_call.results"] }, /include is "file_search_call.results"/],
  [{ tools: [find], tool_choice: { type: "function", name: "fly" } }, /tool_choice is "fly"; expected "find"/],
  [{ input: [{ role: "user", content: [{ type: "input_image", image_url: "" }] }] }, /input/],
  [{ input: [{ type: "function_call_output", call_id: "x", output: "1" }] }, /input.call_id is "x"; expected the id of a call/],
  [{ previous_response_id: "resp_0" }, /previous_response_id is "resp_0"; expected an answer that this server/],
  [{ input: [{ type: "item_reference", id: "msg_0" }] }, /input.id is "msg_0"; expected an item that this server/],
  [{ max_output_tokens: 0 }, /max_output_tokens/],
  [{ top_p: 0 }, /top_p/],
  [{ top_logprobs: 21 }, /^top_logprobs is/],
  [{ top_logprobs: -1 }, /^top_logprobs is/],
  [{ tools: [{ ...find, name: "" }] }, /tools\.0\.name/],
  [{ tools: [{ ...find, type: "web_search" }] }, /function: other tools run on the vendor's servers/],
  [{ input: [{ ...call("c"), name: "" }] }, /input\.0\.name/],
  [{ input: [{ role: "user", content: [{ type: "input_file", file_id: "" }] }] }, /input\.0\.content\.0.*only text/],
])("%j is refused", (body, message) => {
  expect(() => exchange(body)).toThrow(message);
});

test("reasoning, text and calls in a row are one message; a text after a text or a call is another", () => {
  const input = [
    { role: "developer", content: "S" },
    {
      role: "user",
      content: [
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b" },
      ],
    },
    { type: "reasoning", id: "rs_0", content: [], summary: [{ type: "summary_text", text: "Hm" }] },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Yes" }] },
    call("c1"),
    call("c2"),
    { type: "function_call_output", call_id: "c2", output: "two" },
    { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "one" }] },
    { role: "assistant", content: "It is" },
    { role: "assistant", content: "one." },
    call("c3"),
    { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
  ];
  const called = (id: string) => ({ id, name: "find", arguments: { of: 1 }, argumentsText: '{"of":1}' });
  expect(conversation({ input }).messages).toEqual([
    { role: "system", content: "S" },
    { role: "user", content: "ab" },
    { role: "assistant", content: "Yes", reasoning: "Hm", toolCalls: [called("c1"), called("c2")] },
    { role: "tool", name: "find", callId: "c2", content: "two" },
    { role: "tool", name: "find", callId: "c1", content: "one" },
    { role: "assistant", content: "It is" },
    { role: "assistant", content: "one.", toolCalls: [called("c3")] },
    { role: "assistant", content: "No." },
  ]);
});

test("an answer has its items, why it ended, and the tokens that were asked for", () => {
  const included = { include: ["message.output_text.logprobs"], store: false };
  const said = { content: "At 2.", reasoning: "Hm.", toolCalls: [{ name: "find", arguments: { of: 1 } }] };
  const answer = exchange(included).answer([reply(said)]);
  const logprobs = [
    { token: "t2", logprob: -1, bytes: [116, 50], top_logprobs: [] },
    { token: "t3", logprob: -2, bytes: [116, 51], top_logprobs: [] },
  ];
  expect(answer).toMatchObject({
    ...{
      id: "resp_1",
      object: "response",
      created_at: 7,
      status: "completed",
      model: "m",
      incomplete_details: null,
      store: false,
    },
    output: [
      { type: "reasoning", id: "rs_1", status: "completed", content: [{ type: "reasoning_text", text: "Hm." }], summary: [] },
      {
        ...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
        content: [{ type: "output_text", text: "At 2.", annotations: [], logprobs }],
      },
      { type: "function_call", id: "fc_call_10", call_id: "call_10", name: "find", arguments: '{"of":1}', status: "completed" },
    ],
    usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
  });
  const cut = exchange({}).answer([reply({ content: "At" }, "length")]);
  expect(cut).toMatchObject({
    ...{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, store: true },
    output: [{ type: "message", status: "incomplete", content: [{ text: "At", logprobs: [] }] }],
  });
  const calls = exchange({}).answer([reply({ toolCalls: [{ name: "find", arguments: {}, argumentsText: "{ }" }] })]);
  expect(calls).toMatchObject({ output: [{ type: "function_call", arguments: "{ }" }] });
  expect(exchange({}).answer([reply({})])).toMatchObject({ output: [{ type: "message", content: [{ text: "" }] }] });
});

test("an answer is continued by its id, without its instructions, unless it was not to be stored", () => {
  const of = kept();
  const first = exchange({ instructions: "S" }, stateOf("1", of));
  first.answer([reply({ toolCalls: [{ name: "find", arguments: {} }] })]);
  const input = [{ type: "function_call_output", call_id: "call_10", output: "14:30" }];
  const next = exchange({ input, previous_response_id: "resp_1" }, stateOf("2", of));
  expect(next.parsed.conversation.messages).toMatchObject([
    { role: "user", content: "When?" },
    { role: "assistant", toolCalls: [{ id: "call_10", name: "find" }] },
    { role: "tool", name: "find", callId: "call_10", content: "14:30" },
  ]);
  const referred = [{ role: "user", content: "When?" }, { type: "item_reference", id: "fc_call_10" }, ...input];
  expect(exchange({ input: referred }, stateOf("3", of)).parsed.conversation.messages).toMatchObject([
    { role: "user" },
    { role: "assistant", toolCalls: [{ id: "call_10" }] },
    { role: "tool", name: "find" },
  ]);
  exchange({ store: false }, stateOf("4", of)).answer([reply({ content: "x" })]);
  expect(() => exchange({ previous_response_id: "resp_4" }, stateOf("5", of))).toThrow("previous_response_id");
});

test("the newest 4,096 answers and items are kept", () => {
  const of = new Map<string, unknown>(Array.from({ length: 4095 }, (_, i) => [`resp_old${i}`, []]));
  exchange({}, stateOf("new", of)).answer([reply({ content: "x" })]);
  expect([of.size, of.has("resp_new"), of.has("msg_new"), of.has("resp_old0"), of.has("resp_old1")]).toEqual([
    ...[4096, true, true, false, true],
  ]);
});

/** The events of an answer that is written in these parts. */
function streamed(deltas: readonly Delta[], whole: ConversationReply, body: object = {}) {
  const events: Record<string, unknown>[] = [];
  const { delta, end } = exchange({ stream: true, ...body }).stream((data, name) => {
    const event = data as Record<string, unknown>;
    expect(name).toBe(event.type);
    events.push(event);
  });
  for (const each of deltas) delta(0, each);
  end([whole]);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, i) => i));
  return events;
}
const text = (said: string, token = 2): Delta => ({ kind: "text", text: said, tokens: [{ token, logprob: -1 }] });

test("a streamed answer opens and closes one item after the other", () => {
  const deltas: Delta[] = [
    { kind: "reasoning", text: "Hm.", tokens: [] },
    text("At "),
    text("2.", 3),
    { kind: "call", index: 0, name: "find", tokens: [] },
    { kind: "arguments", index: 0, text: '{"of":', tokens: [] },
    { kind: "arguments", index: 0, text: "1}", tokens: [] },
  ];
  const said = { content: "At 2.", reasoning: "Hm.", toolCalls: [{ name: "find", arguments: { of: 1 } }] };
  const events = streamed(deltas, reply(said), { top_logprobs: 2 });
  expect(
    events.map(({ type, output_index: at, content_index: part }) => [String(type).replace("response.", ""), at, part]),
  ).toEqual([
    ["created", undefined, undefined],
    ["in_progress", undefined, undefined],
    ["output_item.added", 0, undefined],
    ["reasoning_text.delta", 0, 0],
    ["reasoning_text.done", 0, 0],
    ["output_item.done", 0, undefined],
    ["output_item.added", 1, undefined],
    ["content_part.added", 1, 0],
    ["output_text.delta", 1, 0],
    ["output_text.delta", 1, 0],
    ["output_text.done", 1, 0],
    ["content_part.done", 1, 0],
    ["output_item.done", 1, undefined],
    ["output_item.added", 2, undefined],
    ["function_call_arguments.delta", 2, undefined],
    ["function_call_arguments.delta", 2, undefined],
    ["function_call_arguments.done", 2, undefined],
    ["output_item.done", 2, undefined],
    ["completed", undefined, undefined],
  ]);
  const of = (type: string) => events.filter((event) => event.type === `response.${type}`);
  expect(of("created")[0]).toMatchObject({ response: { id: "resp_1", status: "in_progress", output: [] } });
  expect(of("output_item.added").map(({ item }) => item)).toMatchObject([
    { type: "reasoning", id: "rs_1", status: "in_progress", content: [] },
    { type: "message", id: "msg_1", status: "in_progress", content: [] },
    { type: "function_call", id: "fc_call_10", call_id: "call_10", name: "find", arguments: "" },
  ]);
  const logprobs = [{ token: "t2" }, { token: "t3" }];
  expect(of("output_text.done")[0]).toMatchObject({ item_id: "msg_1", text: "At 2.", logprobs });
  expect(of("function_call_arguments.done")[0]).toMatchObject({ item_id: "fc_call_10", name: "find", arguments: '{"of":1}' });
  const items = of("output_item.done").map(({ item }) => item);
  expect(of("completed")[0]).toMatchObject({ response: { status: "completed", output: items, usage: { total_tokens: 7 } } });
});

test("a streamed answer of nothing is an empty text, and one that a limit cut says so", () => {
  const types = (events: readonly Record<string, unknown>[]) => events.map(({ type }) => String(type).replace("response.", ""));
  expect(types(streamed([], reply({})))).toEqual([
    ...["created", "in_progress", "output_item.added", "content_part.added", "output_text.done", "content_part.done"],
    ...["output_item.done", "completed"],
  ]);
  const cut = streamed([text("At")], reply({ content: "At" }, "length"));
  expect(cut.at(-1)).toMatchObject({
    type: "response.incomplete",
    response: { incomplete_details: { reason: "max_output_tokens" } },
  });
  expect(cut.at(-2)).toMatchObject({ type: "response.output_item.done", item: { id: "msg_1", status: "incomplete" } });
});
