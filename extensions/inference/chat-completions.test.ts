import { expect, test } from "vitest";
import type { ConversationReply, Delta } from "../../src/chat/conversation.ts";
import { chatCompletions } from "./chat-completions.ts";
import { replyOf, stateOf, titled } from "./wires.fixture.ts";

const exchange = (body: object) =>
  chatCompletions.read(
    Buffer.from(JSON.stringify({ model: "m", messages: [{ role: "user", content: "When?" }], ...body })),
    stateOf(),
  );
const conversation = (body: object) => exchange(body).parsed.conversation;
const find = { type: "function", function: { name: "find", parameters: titled, strict: true } };
const book = { type: "function", function: { name: "book", description: "Books." } };

test("a request's settings are read, and what is left out has its default", () => {
  const nothing = { temperature: undefined, topP: undefined, topK: undefined, seed: undefined };
  const bare = {
    ...{ model: "m", stream: false, count: 1, continuesLast: false },
    conversation: {
      messages: [{ role: "user", content: "When?" }],
      ...{ tools: [], toolChoice: "auto", parallelCalls: true, strictTools: [], maxTokens: undefined, stopStrings: [] },
    },
    sampling: { ...nothing, others: {} },
  };
  expect(exchange({}).parsed).toEqual(bare);
  const nulls = { tools: null, functions: null, tool_choice: null, response_format: null, stream: null, n: null, stop: null };
  expect(exchange({ ...nulls, temperature: null, top_p: null, top_k: null, seed: null, max_tokens: null }).parsed).toEqual(bare);
  const { parsed } = exchange({
    ...{ tools: [find, book], tool_choice: "required", parallel_tool_calls: false, stream: true, n: 3 },
    ...{ max_tokens: 8, max_completion_tokens: 9, stop: ["a", "b"], logprobs: true, top_logprobs: 2 },
    ...{ temperature: 0, top_p: 1, top_k: 1, seed: 4, continue_final_message: true },
  });
  expect(parsed).toEqual({
    ...{ model: "m", stream: true, count: 3, continuesLast: true },
    conversation: {
      messages: [{ role: "user", content: "When?" }],
      tools: [
        { name: "find", description: "", parameters: titled, execute: expect.any(Function) },
        { name: "book", description: "Books.", parameters: { type: "object", properties: {} }, execute: expect.any(Function) },
      ],
      ...{ toolChoice: "required", parallelCalls: false, strictTools: ["find"], maxTokens: 9, stopStrings: ["a", "b"] },
      topLogprobs: 2,
    },
    sampling: { temperature: 0, topP: 1, topK: 1, seed: 4, others: {} },
  });
  expect(conversation({ max_tokens: 8, stop: "a" })).toMatchObject({ maxTokens: 8, stopStrings: ["a"] });
});

test("log-probs of candidates are for those who ask for log-probs, too", () => {
  for (const body of [{ top_logprobs: 2 }, { logprobs: true }, { logprobs: true, top_logprobs: 0 }])
    expect(conversation(body)).not.toHaveProperty("topLogprobs");
});

test.each<[object, unknown]>([
  [{ tools: [find], tool_choice: "none" }, "none"],
  [{ tools: [find], tool_choice: { type: "function", function: { name: "find" } } }, { tool: "find" }],
  [{ functions: [find.function], function_call: "none" }, "none"],
  [{ functions: [find.function], function_call: { name: "find" } }, { tool: "find" }],
])("the choice of %j", (body, choice) => {
  expect(conversation(body).toolChoice).toEqual(choice);
});

test.each<[object, unknown]>([
  [{ type: "text" }, undefined],
  [{ type: "json_object" }, "json"],
  [{ type: "json_object", schema: titled }, { schema: titled }],
  [{ type: "json_schema", json_schema: { name: "a", schema: titled, strict: true } }, { schema: titled }],
])("the form of %j", (response_format, form) => {
  expect(conversation({ response_format }).form).toEqual(form);
});

test("settings that no engine has are named, unless they have no effect", () => {
  const others = (body: object) => exchange(body).parsed.sampling.others;
  const idle = { presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1, min_p: 0, logit_bias: {} };
  const usual = { reasoning_effort: "medium", verbosity: "medium", modalities: ["text"] };
  const filed = { metadata: { a: "b" }, user: "u", store: true, service_tier: "auto", prompt_cache_key: "k", prediction: {} };
  const more = { client_metadata: {}, safety_identifier: "s", prompt_cache_retention: "24h" };
  expect(others({ ...idle, ...usual, ...filed, ...more })).toEqual({});
  const set = { presence_penalty: 1, frequency_penalty: 1, repetition_penalty: 2, min_p: 0.1, logit_bias: { 1: 2 } };
  const unusual = { reasoning_effort: "low", verbosity: "low", modalities: ["audio"] };
  expect(others({ ...set, ...unusual })).toEqual({ ...set, ...unusual });
});

test.each<[object, RegExp]>([
  [{ functions: [find.function], tools: [find] }, /^functions is "some"; expected none beside tools/],
  [{ tools: [find], tool_choice: { type: "function", function: { name: "fly" } } }, /^tool_choice is "fly"; expected "find"/],
  [{ functions: [find.function], function_call: { name: "fly" } }, /^function_call is "fly"; expected "find"/],
  [{ tool_choice: "required" }, /^tool_choice is "required"; expected tools beside it/],
  [{ messages: [] }, /^messages is/],
  [{ messages: [{ role: "tool", content: "x", tool_call_id: "a" }] }, /^messages\.0\.tool_call_id is "a"; expected the id of/],
  [{ tools: [{ ...find, type: "web_search" }] }, /tools\.0\.type .*function: other tools run on the vendor's servers/],
  [{ tools: [{ type: "function", function: { name: "" } }] }, /tools\.0\.function\.name/],
  [{ n: 0 }, /^n is/],
  [{ n: 33 }, /^n is/],
  [{ top_logprobs: 21 }, /^top_logprobs is/],
  [{ top_logprobs: -1 }, /^top_logprobs is/],
  [{ max_tokens: 0 }, /^max_tokens is/],
  [{ max_completion_tokens: 0 }, /^max_completion_tokens is/],
  [{ stop: "" }, /^stop is/],
  [{ seed: 0.5 }, /^seed is/],
  [{ temprature: 1 }, /^temprature is 1; expected a field that this endpoint has\. Leave it out of the request\./],
])("%j is refused", (body, message) => {
  expect(() => exchange(body)).toThrow(message);
});

const called = [
  { name: "find", arguments: { title: "A" } },
  { name: "find", arguments: {}, argumentsText: "{ }" },
];

test("an answer has a choice for each reply, and the tokens of all", () => {
  const replies = [replyOf({ content: "At 2." }), replyOf({ content: "Or", reasoning: "Hm.", toolCalls: called })] as const;
  const calls = [
    { id: "call_110", type: "function", function: { name: "find", arguments: '{"title":"A"}' } },
    { id: "call_111", type: "function", function: { name: "find", arguments: "{ }" } },
  ];
  expect(exchange({}).answer(replies)).toEqual({
    ...{ id: "chatcmpl-1", object: "chat.completion", created: 7, model: "m" },
    choices: [
      {
        ...{ index: 0, finish_reason: "stop", logprobs: null },
        message: { role: "assistant", content: "At 2.", refusal: null },
      },
      {
        ...{ index: 1, finish_reason: "tool_calls", logprobs: null },
        message: { role: "assistant", content: "Or", refusal: null, reasoning_content: "Hm.", tool_calls: calls },
      },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 },
  });
});

const [t2, t3] = [
  { token: "t2", logprob: -1, bytes: [116, 50], top_logprobs: [] },
  { token: "t3", logprob: -2, bytes: [116, 51], top_logprobs: [] },
];

test("ids and log-probs of tokens are in the answer if they are asked for", () => {
  const reply = replyOf({ content: "At", toolCalls: called }, "length");
  expect(exchange({ logprobs: true, return_token_ids: true }).answer([reply])).toMatchObject({
    choices: [{ finish_reason: "length", logprobs: { content: [t2, t3], refusal: null }, token_ids: [2, 3] }],
    prompt_token_ids: [1],
  });
  const { sampled } = reply;
  const top = [
    { tokens: [2, 9], logprobs: [-1, -3] },
    { tokens: [3], logprobs: [-2] },
  ];
  const candidate = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] });
  expect(exchange({ logprobs: true, top_logprobs: 2 }).answer([{ ...reply, sampled: { ...sampled, top } }])).toMatchObject({
    choices: [
      {
        logprobs: {
          content: [
            { ...t2, top_logprobs: [candidate("t2", -1), candidate("t9", -3)] },
            { ...t3, top_logprobs: [candidate("t3", -2)] },
          ],
        },
      },
    ],
  });
});

test("in the older names an answer has its first call alone", () => {
  const answer = exchange({ functions: [find.function] });
  expect(answer.parsed.conversation).toMatchObject({ parallelCalls: false, strictTools: ["find"] });
  expect(answer.answer([replyOf({ toolCalls: called })])).toMatchObject({
    choices: [
      {
        finish_reason: "function_call",
        message: {
          ...{ role: "assistant", content: "", refusal: null },
          function_call: { name: "find", arguments: '{"title":"A"}' },
        },
      },
    ],
  });
});

/** The chunks of an answer that is written in these parts. */
function streamed(deltas: readonly (readonly [number, Delta])[], replies: readonly [ConversationReply], body: object = {}) {
  const chunks: unknown[] = [];
  const { delta, end } = exchange({ stream: true, ...body }).stream((data, event) => {
    expect(event).toBeUndefined();
    chunks.push(data);
  });
  for (const [index, each] of deltas) delta(index, each);
  end(replies);
  return chunks;
}
const card = { id: "chatcmpl-1", created: 7, model: "m", object: "chat.completion.chunk" };
const drawn = (...ids: number[]) => ids.map((token) => ({ token, logprob: 1 - token }));

test("a stream has a chunk for each part, the end of each choice, and what was asked for", () => {
  const deltas: [number, Delta][] = [
    [0, { kind: "reasoning", text: "Hm.", tokens: drawn(2) }],
    [0, { kind: "text", text: "At", tokens: [] }],
    [1, { kind: "call", index: 0, name: "find", tokens: [] }],
    [1, { kind: "arguments", index: 0, text: "{}", tokens: drawn(2, 3) }],
  ];
  const replies = [replyOf({ content: "At", reasoning: "Hm." }), replyOf({ toolCalls: called.slice(1) })] as const;
  const asked = { logprobs: true, return_token_ids: true, stream_options: { include_usage: true } };
  const chunk = (index: number, delta: object, ids: readonly (typeof t2)[], finish: string | null = null) => ({
    index,
    delta,
    ...{ finish_reason: finish, logprobs: { content: ids, refusal: null } },
    token_ids: ids.map(({ token }) => Number(token.slice(1))),
  });
  const [start, prompt_token_ids] = [{ role: "assistant", content: "" }, [1]];
  const named = { index: 0, id: "call_110", type: "function", function: { name: "find", arguments: "" } };
  expect(streamed(deltas, replies as never, asked)).toEqual([
    { ...card, choices: [chunk(0, { ...start, reasoning_content: "Hm." }, [t2])] },
    { ...card, choices: [chunk(0, { content: "At" }, [])] },
    { ...card, choices: [chunk(1, { ...start, tool_calls: [named] }, [])] },
    { ...card, choices: [chunk(1, { tool_calls: [{ index: 0, function: { arguments: "{}" } }] }, [t2, t3])] },
    { ...card, choices: [chunk(0, {}, [t3], "stop")], prompt_token_ids },
    { ...card, choices: [chunk(1, {}, [], "tool_calls")], prompt_token_ids },
    { ...card, choices: [], usage: { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 } },
    "[DONE]",
  ]);
});

test("a stream of nothing has its end alone, which begins the message", () => {
  const delta = { role: "assistant", content: "" };
  expect(streamed([], [replyOf({})])).toEqual([
    { ...card, choices: [{ index: 0, delta, finish_reason: "stop", logprobs: null }] },
    "[DONE]",
  ]);
});

test("a call in the older names is streamed in them", () => {
  const deltas: [number, Delta][] = [
    [0, { kind: "call", index: 0, name: "find", tokens: [] }],
    [0, { kind: "arguments", index: 0, text: "{}", tokens: [] }],
  ];
  const chunks = streamed(deltas, [replyOf({ toolCalls: called })], { functions: [find.function] });
  expect(chunks).toMatchObject([
    { choices: [{ delta: { function_call: { name: "find", arguments: "" } } }] },
    { choices: [{ delta: { function_call: { arguments: "{}" } } }] },
    { choices: [{ delta: {}, finish_reason: "function_call" }] },
    "[DONE]",
  ]);
});
