import "../../test/loopback.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ConversationReply, ConversationRequest } from "../../src/chat/conversation.ts";
import { Context } from "../../src/core/context.ts";
import type { Message } from "../../src/core/messages.ts";
import { type RunningInference, serveInference } from "./server.ts";

let parsed: ConversationRequest[] = [];
let server: RunningInference;
const reply: ConversationReply = {
  message: { role: "assistant", content: "", toolCalls: [{ name: "find", arguments: { title: "Demo" } }] },
  ...{ finish: "stop", promptTokens: 1, completionTokens: 1 },
  sampled: { context: Context.of([1]), action: [2], logprobs: [0] },
};
beforeAll(async () => {
  const chat = {
    ...{ decode: () => "", count: () => 1 },
    converse: async (request: ConversationRequest) => {
      parsed.push(request);
      request.onDelta?.({ kind: "call", index: 0, name: "find", tokens: [] });
      request.onDelta?.({ kind: "arguments", index: 0, text: '{"title":"Demo"}', tokens: [] });
      return reply;
    },
  };
  const model = { maxLength: 100, vocabularySize: 10, chat, sample: () => Promise.reject(new Error("no ids")) };
  server = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models: new Map([["m", model]]) });
});
afterAll(() => server.close());

async function post(path: string, body: object) {
  parsed = [];
  const response = await fetch(`${server.baseUrl}/v1${path}`, {
    ...{ method: "POST", headers: { "content-type": "application/json" } },
    body: JSON.stringify({ model: "m", max_tokens: 4, ...body }),
  });
  return { status: response.status, text: await response.text() };
}
const user = { role: "user", content: "When?" };
const call = (id: string) => ({ id, type: "function", function: { name: "find", arguments: "{}" } });
const chatMessages = async (...messages: object[]): Promise<readonly Message[]> => {
  const { status, text } = await post("/chat/completions", { messages: [user, ...messages] });
  expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)]);
  return parsed[0].messages;
};

/** Each interface's request with two calls whose results came in the other order, the second one failed. */
const interfaces = {
  "/chat/completions": {
    messages: [
      user,
      { role: "assistant", content: null, tool_calls: [call("a"), call("b")] },
      { role: "tool", tool_call_id: "b", content: "no", is_error: true },
      { role: "tool", tool_call_id: "a", content: "yes" },
    ],
  },
  "/responses": {
    max_tokens: undefined,
    input: [
      user,
      { type: "function_call", call_id: "a", name: "find", arguments: "{}" },
      { type: "function_call", call_id: "b", name: "find", arguments: "{}" },
      { type: "function_call_output", call_id: "b", output: "Error: no" },
      { type: "function_call_output", call_id: "a", output: "yes" },
    ],
  },
  "/messages": {
    messages: [
      user,
      { role: "assistant", content: ["a", "b"].map((id) => ({ type: "tool_use", id, name: "find", input: {} })) },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "b", content: "no", is_error: true },
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "yes" }] },
        ],
      },
    ],
  },
};

test.each(Object.entries(interfaces))("%s: results are in the calls' order, and a failed one says so", async (path, body) => {
  expect((await post(path, body)).status).toBe(200);
  const results = parsed[0].messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message.content]] : []));
  expect(results).toEqual([
    ["a", "yes"],
    ["b", "Error: no"],
  ]);
});

/** Every object inside of a request, by its path. */
function objectsIn(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, each]) =>
    objectsIn(each, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return Array.isArray(value) ? inner : [path, ...inner];
}

function withField(value: unknown, [first, ...rest]: readonly (string | number)[], field: string): unknown {
  if (first === undefined) return { ...(value as object), [field]: 1 };
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[first] = withField(copy[first], rest, field);
  return copy;
}

const schema = { type: "object", properties: {} };
const whole: Readonly<Record<string, { readonly body: object; readonly open: RegExp }>> = {
  "/chat/completions": {
    body: {
      ...interfaces["/chat/completions"],
      tools: [{ type: "function", function: { name: "find", parameters: schema } }],
      tool_choice: { type: "function", function: { name: "find" } },
      response_format: { type: "json_schema", json_schema: { name: "a", schema } },
      ...{ stream: true, stream_options: { include_usage: true } },
    },
    // A JSON schema's own words are the schema's.
    open: /parameters|schema\.schema|metadata/,
  },
  "/responses": {
    body: {
      ...interfaces["/responses"],
      tools: [{ type: "function", name: "find", parameters: schema }],
      tool_choice: { type: "function", name: "find" },
      text: { format: { type: "json_schema", name: "a", schema } },
    },
    open: /parameters|format\.schema/,
  },
  "/messages": {
    body: {
      ...interfaces["/messages"],
      system: [{ type: "text", text: "S", cache_control: {} }],
      tools: [{ name: "find", input_schema: schema }],
      tool_choice: { type: "tool", name: "find" },
      output_config: { format: { type: "json_schema", schema } },
    },
    open: /input_schema|format\.schema|\.input$|cache_control/,
  },
};

test.each(Object.entries(whole))(
  "%s: a field that is not known is refused by name, at every depth",
  async (path, { body, open }) => {
    expect((await post(path, body)).status).toBe(200);
    const places = objectsIn(body).filter((place) => !open.test(place.join(".")));
    expect(places.length).toBeGreaterThan(8);
    for (const place of places) {
      const { status, text } = await post(path, withField(body, place, "strange_field") as object);
      expect([place.join("."), status, text.includes("strange_field")]).toEqual([place.join("."), 400, true]);
      expect(parsed).toEqual([]);
    }
  },
);

test("reasoning is read under its other names", async () => {
  for (const given of [
    { reasoning: "Hm" },
    { reasoning_content: "Hm" },
    { thinking: "Hm" },
    { reasoning_details: [{ type: "reasoning.text", text: "Hm" }] },
  ])
    expect((await chatMessages({ role: "assistant", content: "Yes", ...given }, user))[1]).toEqual({
      role: "assistant",
      content: "Yes",
      reasoning: "Hm",
    });
  const summary = { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "Hm" }], encrypted_content: "x" };
  await post("/responses", { max_tokens: undefined, input: [user, summary, { role: "assistant", content: "Yes" }, user] });
  expect(parsed[0].messages[1]).toEqual({ role: "assistant", content: "Yes", reasoning: "Hm" });
});

test("a refusal is what the assistant said, and a message with nothing in it is refused", async () => {
  const refusal = { role: "assistant", content: [{ type: "refusal", refusal: "No." }] };
  expect((await chatMessages(refusal, user))[1]).toEqual({ role: "assistant", content: "No." });
  expect((await chatMessages({ role: "assistant", content: null, refusal: "No." }, user))[1]).toEqual({
    role: "assistant",
    content: "No.",
  });
  // A model may have said nothing, and its client sends that back.
  expect((await chatMessages({ role: "assistant", content: "" }, user))[1]).toEqual({ role: "assistant", content: "" });
  for (const nothing of [{}, { content: null }, { content: null, tool_calls: [] }]) {
    const { status, text } = await post("/chat/completions", { messages: [user, { role: "assistant", ...nothing }, user] });
    expect([status, text]).toEqual([400, expect.stringContaining("there is nothing in this message")]);
  }
});

test("functions and function_call are tools and a call, and so is the answer", async () => {
  const functions = [{ name: "find", description: "Finds.", parameters: schema }];
  const messages = [
    user,
    { role: "assistant", content: null, function_call: { name: "find", arguments: '{"title":"A"}' } },
    { role: "function", name: "find", content: "1" },
  ];
  const { text } = await post("/chat/completions", { messages, functions, function_call: { name: "find" } });
  expect(parsed[0]).toMatchObject({
    ...{ toolChoice: { tool: "find" }, parallelCalls: false, tools: [{ name: "find", description: "Finds." }] },
    messages: [
      user,
      { role: "assistant", toolCalls: [{ name: "find", arguments: { title: "A" } }] },
      { role: "tool", name: "find", content: "1" },
    ],
  });
  const made = { name: "find", arguments: '{"title":"Demo"}' };
  expect(JSON.parse(text).choices[0]).toMatchObject({ finish_reason: "function_call", message: { function_call: made } });
  const streamed = await post("/chat/completions", { messages, functions, stream: true });
  const chunks = streamed.text
    .split("\n\n")
    .flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6)).choices[0]] : []));
  const deltas = chunks.flatMap(({ delta }) => (delta.function_call ? [delta.function_call] : []));
  expect({ name: deltas[0].name, arguments: deltas.map((delta) => delta.arguments).join("") }).toEqual(made);
  expect(chunks.at(-1).finish_reason).toBe("function_call");
});
