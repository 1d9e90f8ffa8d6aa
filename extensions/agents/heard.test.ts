import { expect, test } from "vitest";
import { type Heard, Hearing } from "./heard.ts";

const hear = (url: string, request: object, answer: unknown, hearing = new Hearing()): Heard | undefined =>
  hearing.exchange(url, JSON.stringify(request), typeof answer === "string" ? answer : JSON.stringify(answer));
const events = (...all: readonly object[]) =>
  [...all.map((each) => `data: ${JSON.stringify(each)}`), "data: [DONE]", ""].join("\n\n");
const call = (name: string, args: object, text?: string) => ({
  name,
  arguments: args,
  argumentsText: text ?? JSON.stringify(args),
});

const chat = {
  messages: [
    { role: "developer", content: "S" },
    { role: "user", content: [{ type: "text", text: "a" }, { type: "image_url" }, { type: "refusal", refusal: "r" }] },
    {
      ...{ role: "assistant", content: null, reasoning: "Hm" },
      tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: '{"of":1}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: "one" },
    { role: "tool", tool_call_id: "c9", content: "lost" },
    { role: "function", name: "book", content: "two" },
  ],
  tools: [{ type: "function", function: { name: "find" } }],
  functions: [{ name: "book" }],
};
const chatMessages = [
  { role: "system", content: "S" },
  { role: "user", content: "a[image_url]r" },
  { role: "assistant", content: "", reasoning: "Hm", toolCalls: [call("find", { of: 1 })] },
  { role: "tool", name: "find", content: "one" },
  { role: "tool", name: "tool", content: "lost" },
  { role: "tool", name: "book", content: "two" },
];

test("chat completions: what was said before, and a whole answer", () => {
  const answer = {
    choices: [
      { message: { content: "Yes.", reasoning_content: "Why?" }, finish_reason: "length" },
      { message: { content: "No." }, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  };
  expect(hear("/v1/chat/completions?x=1", chat, answer)).toEqual({
    ...{ messages: chatMessages, tools: ["find", "book"], isCut: true, usage: { promptTokens: 5, completionTokens: 2 } },
    answer: { role: "assistant", content: "Yes.", reasoning: "Why?" },
  });
  const old = { choices: [{ message: { content: "", function_call: { name: "find", arguments: "{" } }, finish_reason: "stop" }] };
  const heard = hear("/chat/completions", chat, old);
  expect(heard?.answer).toEqual({ role: "assistant", content: "", toolCalls: [call("find", {}, "{")] });
  expect([heard?.isCut, heard?.usage]).toEqual([false, undefined]);
});

test("chat completions: the parts of a stream are one answer", () => {
  const delta = (given: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: given, finish_reason }],
  });
  const part = (index: number, name: string | undefined, text: string | undefined) =>
    delta({ tool_calls: [{ index, id: name && `c${index}`, function: { name, arguments: text } }] });
  const answer = events(
    delta({ role: "assistant", content: "" }),
    delta({ reasoning: "H" }),
    delta({ reasoning: "m" }),
    delta({ content: "W" }),
    delta({ content: "ell" }),
    part(0, "find", undefined),
    part(0, undefined, '{"of":'),
    part(0, undefined, "1}"),
    part(1, "book", "{}"),
    delta({}, "tool_calls"),
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
  );
  expect(hear("/v1/chat/completions", chat, answer)).toMatchObject({
    answer: { role: "assistant", content: "Well", reasoning: "Hm", toolCalls: [call("find", { of: 1 }), call("book", {})] },
    ...{ isCut: false, usage: { promptTokens: 7, completionTokens: 3 } },
  });
});

test("responses: items in a row are one message, and a conversation is continued by its id", () => {
  const hearing = new Hearing();
  const called = { type: "function_call", call_id: "c1", name: "find", arguments: '{"of":1}' };
  const first = {
    ...{ id: "resp_1", status: "completed", usage: { input_tokens: 4, output_tokens: 1 } },
    output: [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Let me see." }] },
      called,
    ],
  };
  const asked = { instructions: "S", input: "When?", tools: [{ type: "function", name: "find" }] };
  const said = {
    ...{ role: "assistant", content: "Let me see.", reasoning: "Hm" },
    toolCalls: [{ id: "c1", ...call("find", { of: 1 }) }],
  };
  expect(hear("/v1/responses", asked, first, hearing)).toEqual({
    ...{ tools: ["find"], isCut: false, usage: { promptTokens: 4, completionTokens: 1 }, answer: said },
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "When?" },
    ],
  });
  const next = {
    instructions: "T",
    previous_response_id: "resp_1",
    input: [{ type: "function_call_output", call_id: "c1", output: "14:30" }],
  };
  const streamed = events(
    { type: "response.created", response: { id: "resp_2", output: [] } },
    {
      type: "response.incomplete",
      response: {
        ...{ id: "resp_2", incomplete_details: { reason: "max_output_tokens" }, usage: { input_tokens: 9, output_tokens: 2 } },
        output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "At 14" }] }],
      },
    },
  );
  const tool = { role: "tool", name: "find", content: "14:30" };
  expect(hear("/v1/responses", next, streamed, hearing)).toEqual({
    ...{
      tools: [],
      isCut: true,
      usage: { promptTokens: 9, completionTokens: 2 },
      answer: { role: "assistant", content: "At 14" },
    },
    messages: [{ role: "system", content: "T" }, { role: "user", content: "When?" }, said, tool],
  });
  const last = { previous_response_id: "resp_2", input: [{ role: "user", content: "Thanks." }] };
  expect(hear("/v1/responses", last, first, hearing)?.messages.map(({ content }) => content)).toEqual([
    ...["T", "When?", "Let me see.", "14:30", "At 14", "Thanks."],
  ]);
});

const messagesRequest = {
  system: [{ type: "text", text: "S" }],
  messages: [
    { role: "user", content: "When?" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm" },
        { type: "text", text: "Let me see." },
        { type: "tool_use", id: "t1", name: "find", input: { of: 1 } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "14:30" }] }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: "x" },
        { type: "text", text: "So?" },
      ],
    },
  ],
  tools: [{ name: "find", input_schema: {} }],
};

test("Anthropic's messages: results of tools are before the user's words", () => {
  const content = [
    { type: "text", text: "At " },
    { type: "text", text: "14:30." },
  ];
  const answer = { content, stop_reason: "max_tokens", usage: { input_tokens: 8, output_tokens: 4 } };
  expect(hear("/v1/messages", messagesRequest, answer)).toEqual({
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "When?" },
      { role: "assistant", content: "Let me see.", reasoning: "Hm", toolCalls: [call("find", { of: 1 })] },
      { role: "tool", name: "find", content: "14:30" },
      { role: "tool", name: "find", content: "x" },
      { role: "user", content: "So?" },
    ],
    answer: { role: "assistant", content: "At 14:30." },
    ...{ tools: ["find"], isCut: true, usage: { promptTokens: 8, completionTokens: 4 } },
  });
});

test("Anthropic's messages: the blocks of a stream", () => {
  const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
  const delta = (index: number, given: object) => ({ type: "content_block_delta", index, delta: given });
  const answer = events(
    { type: "message_start", message: { usage: { input_tokens: 8, output_tokens: 1 } } },
    start(0, { type: "thinking", thinking: "" }),
    delta(0, { thinking: "H" }),
    delta(0, { thinking: "m" }),
    delta(0, { type: "signature_delta", signature: "s" }),
    start(1, { type: "text", text: "" }),
    delta(1, { text: "Yes" }),
    delta(1, { type: "citations_delta", citation: {} }),
    delta(9, { text: "of a block that never began" }),
    start(2, { type: "tool_use", id: "t1", name: "find", input: {} }),
    delta(2, { partial_json: '{"of"' }),
    delta(2, { partial_json: ":1}" }),
    start(3, { type: "tool_use", id: "t2", name: "book", input: { at: 2 } }),
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 6 } },
  );
  expect(hear("/v1/messages", messagesRequest, answer)).toMatchObject({
    answer: { content: "Yes", reasoning: "Hm", toolCalls: [call("find", { of: 1 }), call("book", { at: 2 })] },
    ...{ isCut: false, usage: { promptTokens: 8, completionTokens: 6 } },
  });
});

test("Gemini: contents of parts, whole and in a list of chunks", () => {
  const request = {
    systemInstruction: { parts: [{ text: "S" }] },
    contents: [
      { role: "user", parts: [{ text: "When?" }] },
      {
        role: "model",
        parts: [{ text: "Hm", thought: true }, { text: "Wait." }, { functionCall: { name: "find", args: { of: 1 } } }],
      },
      { role: "user", parts: [{ functionResponse: { name: "find", response: { at: 2 } } }, { text: "So?" }] },
    ],
    tools: [{ functionDeclarations: [{ name: "find" }, { name: "book" }] }],
  };
  const chunk = (parts: object[], more: object = {}) => ({ candidates: [{ content: { role: "model", parts }, ...more }] });
  const usageMetadata = { promptTokenCount: 6, candidatesTokenCount: 2 };
  const heard = {
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "When?" },
      { role: "assistant", content: "Wait.", reasoning: "Hm", toolCalls: [call("find", { of: 1 })] },
      { role: "tool", name: "find", content: '{"at":2}' },
      { role: "user", content: "So?" },
    ],
    answer: { role: "assistant", content: "At 2.", toolCalls: [call("book", {})] },
    ...{ tools: ["find", "book"], isCut: true, usage: { promptTokens: 6, completionTokens: 2 } },
  };
  const booked = { functionCall: { name: "book" } };
  const whole = { ...chunk([{ text: "At 2." }, booked], { finishReason: "MAX_TOKENS" }), usageMetadata };
  expect(hear("/v1beta/models/m:generateContent", request, whole)).toEqual(heard);
  const parts = [chunk([{ text: "At " }]), { ...chunk([{ text: "2." }, booked], { finishReason: "MAX_TOKENS" }), usageMetadata }];
  expect(hear("/v1beta/models/m:streamGenerateContent?alt=sse", request, events(...parts))).toEqual(heard);
  expect(hear("/v1beta/models/m:streamGenerateContent", request, parts)).toEqual(heard);
});

test("responses: all that the assistant said in a row is one message, whatever its items' order", () => {
  const item = (role: string, text: string) => ({ type: "message", role, content: [{ type: "text", text }] });
  const called = (id: string) => ({ type: "function_call", call_id: id, name: "find", arguments: "{}" });
  const input = [
    ...[item("developer", "S"), item("user", "a"), called("c1"), item("assistant", "Let "), item("assistant", "me.")],
    ...[
      { type: "function_call_output", call_id: "c1", output: "one" },
      { type: "compaction", summary: "x" },
    ],
    ...[{ type: "reasoning", content: [{ type: "reasoning_text", text: "Hm" }], summary: [] }, item("user", "b")],
    ...[called("c2"), called("c3"), { type: "function_call_output", call_id: "c9", output: "lost" }],
  ];
  const find = { ...call("find", {}), argumentsText: "{}" };
  expect(hear("/v1/responses", { input }, { output: [item("assistant", "Yes.")] })).toEqual({
    messages: [
      { role: "system", content: "S" },
      { role: "user", content: "a" },
      { role: "assistant", content: "Let me.", toolCalls: [{ id: "c1", ...find }] },
      { role: "tool", name: "find", content: "one" },
      { role: "assistant", content: "", reasoning: "Hm" },
      { role: "user", content: "b" },
      {
        role: "assistant",
        content: "",
        toolCalls: [
          { id: "c2", ...find },
          { id: "c3", ...find },
        ],
      },
      { role: "tool", name: "tool", content: "lost" },
    ],
    ...{ answer: { role: "assistant", content: "Yes." }, tools: [], isCut: false },
  });
});

test("other requests, and what is no JSON, are not heard", () => {
  const answer = { choices: [{ message: { content: "x" } }] };
  for (const path of [
    "/v1/embeddings",
    "/v1/chat/completions/c1",
    "/completions",
    "/v1/responses/resp_1",
    "/v1/messages/batches",
  ])
    expect(hear(path, chat, answer)).toBeUndefined();
  for (const method of ["embedContent", "generateContents", "XgenerateContent"])
    expect(hear(`/v1beta/models/m:${method}`, chat, { candidates: [{ content: { parts: [{ text: "x" }] } }] })).toBeUndefined();
  expect(new Hearing().exchange("/v1/chat/completions", "{", JSON.stringify(answer))).toBeUndefined();
  expect(hear("/v1/chat/completions", chat, "no events")).toBeUndefined();
  expect(hear("/v1/responses", { input: "?" }, { output: [] })).toBeUndefined();
});
