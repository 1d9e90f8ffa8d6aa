import "../../test/loopback.ts";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import type { ConversationRequest } from "../../src/chat/conversation.ts";
import { EpisodeStop } from "../../src/core/episode-stop.ts";
import { ModelError } from "../../src/core/errors.ts";
import { HttpError } from "../http/http-error.ts";
import { eventsOf } from "./events.ts";
import { failureOf } from "./failure.ts";
import type { GenerateRequest } from "./generate.ts";
import type { ConverseOptions, InferenceModel } from "./model.ts";
import { inferenceProblem, serveInference } from "./server.ts";
import { replyOf } from "./wires.fixture.ts";

let asked: { request: ConversationRequest; options: ConverseOptions }[] = [];
let sampled: GenerateRequest[] = [];
let refused: string[] = [];
beforeEach(() => {
  [asked, sampled, refused] = [[], [], []];
});
const modelOf = (name: string, more: Partial<InferenceModel> = {}): InferenceModel => ({
  ...{ maxLength: 100, vocabularySize: 10 },
  chat: {
    decode: (tokens) => tokens.map((token) => `t${token}`).join(""),
    count: async ({ messages }) => messages.length * 7,
    converse: async (request, options) => {
      asked.push({ request, options });
      const [{ content }] = request.messages;
      if (content === "fail at once") throw new Error("broken");
      request.onDelta?.({ kind: "text", text: name, tokens: [] });
      if (content === "fail") throw new HttpError(400, "tools", "strange", { code: "odd" });
      return replyOf({ content: `${name} ${options.index}` });
    },
    refused: (error) => void refused.push(String(error)),
  },
  sample: async (request) => {
    sampled.push(request);
    return { tokens: [5], logprobs: [-1], finish: "stop" };
  },
  ...more,
});
const models = new Map([
  ["m", modelOf("m")],
  ["org/100%", modelOf("other", { maxLength: 50 })],
  ["ids", modelOf("ids", { chat: undefined })],
]);
const byKey = new Map([["own-key", modelOf("own", { maxLength: 25 })]]);
const server = await serveInference({ host: "127.0.0.1", port: 0, keys: ["key"], models, byKey });
afterAll(() => server.close());

async function ask(path: string, body?: object | string, { key = "key", ...headers }: Record<string, string> = {}) {
  const response = await fetch(server.baseUrl + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...(key === "" ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : undefined };
}
const chat = (model: unknown, content = "When?", more: object = {}) => ({
  ...{ model, messages: [{ role: "user", content }] },
  ...more,
});

test("models are listed as OpenAI's clients read them, and with Gemini's address or header as Gemini's do", async () => {
  const card = (id: string, max_model_len: number) => ({
    ...{ id, object: "model", created: 0, owned_by: "retrograde", root: id, max_model_len },
  });
  const data = [card("m", 100), card("org/100%", 50), card("ids", 100)];
  for (const path of ["/v1/models", "/models"]) expect((await ask(path)).json).toEqual({ object: "list", data });
  const gemini = (name: string, limit: number) => ({
    ...{ name: `models/${name}`, displayName: name, version: "1", inputTokenLimit: limit, outputTokenLimit: limit },
    supportedGenerationMethods: ["generateContent", "countTokens"],
  });
  const list = { models: [gemini("m", 100), gemini("org/100%", 50), gemini("ids", 100)] };
  expect((await ask("/v1beta/models")).json).toEqual(list);
  expect((await ask("/v1/models", undefined, { "x-goog-api-client": "google-genai" })).json).toEqual(list);
  expect((await ask("/v1beta/models/m")).json).toEqual(gemini("m", 100));
  expect((await ask(`/v1/models/${encodeURIComponent("org/100%")}`)).json).toEqual(card("org/100%", 50));
  // A key of one model shows that model alone, under any name.
  expect((await ask("/v1/models", undefined, { key: "own-key" })).json).toEqual({
    ...{ object: "list", data: [card("retrograde", 25)] },
  });
  expect((await ask("/v1/models/gpt-5", undefined, { key: "own-key" })).json).toEqual(card("gpt-5", 25));
  expect(await ask("/health")).toMatchObject({ status: 200, json: {} });
});

test("a key is needed, and that of one model is one", async () => {
  expect((await ask("/v1/models", undefined, { key: "" })).status).toBe(401);
  expect((await ask("/v1/models", undefined, { key: "other" })).status).toBe(401);
  const answer = await ask("/v1/chat/completions", chat("any"), { key: "own-key" });
  expect(answer.json.choices[0].message.content).toBe("own 0");
});

test.each([
  ["/v1/chat/completions", (json: never) => (json as { choices: [{ message: { content: string } }] }).choices[0].message.content],
  ["/chat/completions", (json: never) => (json as { choices: [{ message: { content: string } }] }).choices[0].message.content],
  ["/v1/messages", (json: never) => (json as { content: [{ text: string }] }).content[0].text],
  ["/v1/responses", (json: never) => (json as { output: [{ content: [{ text: string }] }] }).output[0].content[0].text],
])("%s answers in its form", async (path, textOf) => {
  const body = path.endsWith("responses") ? { model: "m", input: "When?" } : chat("m");
  const { status, json } = await ask(path, body);
  expect([status, textOf(json as never)]).toEqual([200, "m 0"]);
  expect(asked).toMatchObject([{ request: { messages: [{ role: "user", content: "When?" }] }, options: { index: 0 } }]);
  expect(asked[0].request).not.toHaveProperty("onDelta");
});

test("an answer has an id of its own and the second in which it was made", async () => {
  const before = Math.floor(Date.now() / 1000);
  const [one, two] = [await ask("/v1/chat/completions", chat("m")), await ask("/v1/chat/completions", chat("m"))];
  expect(one.json.id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
  expect(two.json.id).not.toBe(one.json.id);
  expect(one.json.created).toBeGreaterThanOrEqual(before);
  expect(one.json.created).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
});

test("several answers are asked for by their index, with what the request says", async () => {
  const { json } = await ask("/v1/chat/completions", chat("m", "When?", { n: 3, temperature: 0.5, top_k: 4 }));
  expect(json.choices.map(({ message }: { message: { content: string } }) => message.content)).toEqual(["m 0", "m 1", "m 2"]);
  expect(asked.map(({ options }) => [options.index, options.sampling.temperature, options.sampling.topK])).toEqual([
    ...[
      [0, 0.5, 4],
      [1, 0.5, 4],
      [2, 0.5, 4],
    ],
  ]);
  await ask("/v1/chat/completions", chat("m", "When?", { continue_final_message: true }));
  expect(asked[3].options).toMatchObject({ continuesLast: true, signal: expect.any(AbortSignal) });
});

test("tokens are counted as each vendor says them", async () => {
  expect((await ask("/v1/messages/count_tokens", chat("m"))).json).toEqual({ input_tokens: 7 });
  const contents = [{ parts: [{ text: "When?" }] }];
  expect((await ask("/v1beta/models/m:countTokens", { contents })).json).toEqual({ totalTokens: 7 });
  expect(asked).toEqual([]);
});

test("what a model answered is known to its own later requests, and to no other model's", async () => {
  const { json } = await ask("/v1/responses", { model: "m", input: "When?" });
  const next = { input: "And?", previous_response_id: json.id };
  expect((await ask("/v1/responses", { model: "m", ...next })).status).toBe(200);
  expect(asked[1].request.messages).toEqual([
    { role: "user", content: "When?" },
    { role: "assistant", content: "m 0" },
    { role: "user", content: "And?" },
  ]);
  const other = await ask("/v1/responses", { model: "org/100%", ...next });
  expect([other.status, other.json.error.code]).toEqual([404, "previous_response_not_found"]);
});

test("results of tools reach the model in the order of their calls", async () => {
  const call = (id: string) => ({ id, type: "function", function: { name: "find", arguments: "{}" } });
  const messages = [
    { role: "user", content: "When?" },
    { role: "assistant", content: "", tool_calls: [call("a"), call("b")] },
    { role: "tool", tool_call_id: "b", content: "two" },
    { role: "tool", tool_call_id: "a", content: "one" },
  ];
  await ask("/v1/chat/completions", { model: "m", messages });
  expect(asked[0].request.messages.map(({ content }) => content)).toEqual(["When?", "", "one", "two"]);
});

test("a stream that fails ends with the vendor's error as an event, and the model learns of it", async () => {
  const { status, text } = await ask("/v1/chat/completions", chat("m", "fail", { stream: true }));
  const [first, last] = text.trim().split("\n\n");
  expect(status).toBe(200);
  expect(first).toMatch(/^data: \{.*"content":"m"/);
  const message = 'tools is "strange".';
  expect(last).toBe(
    `event: error\ndata: ${JSON.stringify({ error: { message, type: "invalid_request_error", param: "tools", code: "odd" } })}`,
  );
  expect(refused).toEqual([`HttpError: ${message}`]);
  const contents = [{ parts: [{ text: "fail" }] }];
  const gemini = await ask("/v1beta/models/m:streamGenerateContent?alt=sse", { contents });
  expect(gemini.text.trim().split("\n\n").at(-1)).toBe(
    `data: ${JSON.stringify({ error: { code: 400, message, status: "INVALID_ARGUMENT" } })}`,
  );
});

test("a stream that fails before its first event is an answer with a status", async () => {
  const { status, json } = await ask("/v1/chat/completions", chat("m", "fail at once", { stream: true }));
  expect([status, json]).toEqual([500, { error: { message: "broken", type: "server_error", param: null, code: null } }]);
});

test("a model by its key learns of each refused request, and others do not", async () => {
  for (const key of ["own-key", "key"]) await ask("/v1/embeddings", {}, { key });
  expect(refused).toHaveLength(1);
  expect(refused[0]).toMatch(/^HttpError: route is "POST \/embeddings"; expected POST \/v1\/chat\/completions, .* or GET/);
});

test.each<[string, string, object | string | undefined, number, object]>([
  [
    "an unknown model",
    "/v1/chat/completions",
    chat("none"),
    404,
    { message: 'model is "none"; expected "m", "org/100%" or "ids".', param: "model", code: "model_not_found" },
  ],
  ["a name that is no text", "/v1/chat/completions", chat(5), 404, { message: expect.stringMatching(/^model is ""; expected/) }],
  ["no JSON", "/v1/chat/completions", "{", 404, { code: "model_not_found" }],
  [
    "messages for a model of ids",
    "/v1/chat/completions",
    chat("ids"),
    400,
    { message: 'model is "ids"; expected one with a chat template; this one takes token ids alone.', param: "model" },
  ],
  [
    "an unknown route",
    "/v1/embeddings",
    {},
    404,
    {
      code: "unknown_url",
      param: "route",
      message:
        'route is "POST /embeddings"; expected POST /v1/chat/completions, /v1/responses, /v1/messages, ' +
        "/v1beta/models/NAME:generateContent, /inference/v1/generate or GET /v1/models. Give clients of other interfaces an address of their own.",
    },
  ],
  ["another method", "/v1/chat/completions", undefined, 404, { code: "unknown_url" }],
  ["a GET of ids", "/inference/v1/generate", undefined, 404, { code: "unknown_url" }],
  ["a POST to models", "/v1/models", {}, 404, { code: "unknown_url" }],
  ["a POST to a model", "/v1/models/m", {}, 404, { code: "unknown_url" }],
  ["a POST to health", "/health", {}, 404, { code: "unknown_url" }],
  [
    "an id of another vocabulary",
    "/inference/v1/generate",
    { model: "ids", token_ids: [9, 10] },
    400,
    {
      message: "token_ids is 10; expected ids below 10. The client renders with the tokenizer of another model.",
      param: "token_ids",
    },
  ],
  [
    "a full context",
    "/inference/v1/generate",
    { model: "ids", token_ids: Array(100).fill(1) },
    400,
    {
      message: 'messages is "100 tokens"; expected less than the maximum context length of 100 tokens.',
      code: "context_length_exceeded",
    },
  ],
])("%s is refused", async (_, path, body, status, error) => {
  const answer = await ask(path, body);
  expect({ status: answer.status, error: answer.json.error }).toMatchObject({ status, error });
  expect([asked, sampled]).toEqual([[], []]);
});

test("token ids are sampled and answered in token ids", async () => {
  const { status, json } = await ask("/inference/v1/generate", { model: "ids", token_ids: [9, ...Array(98).fill(1)] });
  expect(status).toBe(200);
  expect(json.request_id).toMatch(/^gen-[0-9a-f-]{36}$/);
  expect(json.choices[0]).toMatchObject({ token_ids: [5], finish_reason: "stop" });
  expect(sampled[0]).toMatchObject({ model: "ids" });
  expect(sampled[0].context).toHaveLength(99);
});

test("a body larger than the largest context is refused, unless one of the models has no limit", async () => {
  const options = { host: "127.0.0.1", port: 0, keys: [] };
  const post = async (of: readonly InferenceModel[], keyed: readonly InferenceModel[] = []) => {
    const own = await serveInference({
      ...options,
      models: new Map(of.map((model, i) => [`${i}`, model])),
      byKey: new Map(keyed.map((model, i) => [`k${i}`, model])),
    });
    const headers = { authorization: "Bearer k0" };
    const body = JSON.stringify(chat("0", "x".repeat(1000)));
    const response = await fetch(`${own.baseUrl}/v1/chat/completions`, { method: "POST", body, headers });
    const json = (await response.json()) as { error?: { message: string; code: string } };
    await own.close();
    return [response.status, json.error?.message, json.error?.code, body.length];
  };
  const [size] = (await post([modelOf("a")])).slice(-1) as number[];
  const small = (maxBytes: number) => modelOf("a", { maxBytes });
  expect(await post([small(size), small(10)])).toEqual([200, undefined, undefined, size]);
  expect(await post([small(size - 1)])).toEqual([
    400,
    `messages is "${size} bytes"; expected at most ${size - 1}, the most that the context of a model here can hold.`,
    "context_length_exceeded",
    size,
  ]);
  expect((await post([], [small(size - 1)]))[0]).toBe(400);
  expect((await post([small(10)], [modelOf("b")]))[0]).toBe(200);
});

test("what was answered is logged, and other machines need a key", async () => {
  const entries: object[] = [];
  const options = { port: 0, models, log: (entry: object) => void entries.push(entry) };
  const own = await serveInference({ host: "127.0.0.1", keys: [], ...options });
  await (await fetch(`${own.baseUrl}/health`)).text();
  await own.close();
  expect(entries).toMatchObject([{ method: "GET", path: "/health", status: 200 }]);
  await expect(serveInference({ host: "0.0.0.0", keys: [], ...options })).rejects.toThrow(
    /keys of the server .*could sample its models/,
  );
});

test.each<[string, object]>([
  ["/v1/chat/completions", { error: { message: "no", type: "server_error", param: null, code: null } }],
  ["/v1/messages", { type: "error", error: { type: "api_error", message: "no" } }],
  ["/v1beta/models/m:generateContent", { error: { code: 500, message: "no", status: "INTERNAL" } }],
  ["/v1beta/strange", { error: { code: 500, message: "no", status: "INTERNAL" } }],
  ["/strange", { error: { message: "no", type: "server_error", param: null, code: null } }],
])("an error at %s is written as its clients read it", (path, json) => {
  expect(inferenceProblem(new Error("no"), path)).toEqual({ status: 500, json });
});

test.each<[unknown, object]>([
  [new EpisodeStop("max-tokens", "full"), { status: 400, code: "context_length_exceeded", param: "messages", message: "full" }],
  [new EpisodeStop("max-turns", "done"), { status: 400, code: "max_turns", param: null, message: "done" }],
  [new EpisodeStop("agent-error", "x"), { status: 400, code: "agent_error", param: null, message: "x" }],
  [new ModelError("a role", 3), { status: 400, code: "unsupported_value", param: "messages", message: "a role is 3." }],
  [new Error("no"), { status: 500, code: null, param: null, message: "no" }],
  ["no", { status: 500, code: null, param: null, message: "no" }],
  [new HttpError(422, "top_p", 0), { status: 400, code: null, param: "top_p", message: "top_p is 0." }],
  [new HttpError(401, "the key", "x"), { status: 401, code: "invalid_api_key", param: null, message: 'the key is "x".' }],
  [new HttpError(401, "key", "x", { code: "old" }), { status: 401, code: "old", param: "key", message: 'key is "x".' }],
  [
    new HttpError(429, "tools.0.a-b_C[1]", 1),
    { status: 429, code: null, param: "tools.0.a-b_C[1]", message: expect.any(String) },
  ],
  [new HttpError(400, "Tools", 1), { status: 400, code: null, param: null, message: "Tools is 1." }],
])("the failure of %s", (error, failure) => {
  expect(failureOf(error)).toEqual(failure);
});

test("events before anybody reads are kept, and an error behind them is the caller's to send", async () => {
  const written: string[] = [];
  const reply = await eventsOf(
    async (send) => {
      send({ a: 1 });
      send("[DONE]", "end");
      await new Promise((resolve) => setImmediate(resolve));
      send({ b: 2 }, "more");
      throw new Error("late");
    },
    (error, send) => send(String(error)),
  );
  if (!("events" in reply)) throw new Error("no events");
  await reply.events((text) => void written.push(text));
  expect(written).toEqual([
    'data: {"a":1}\n\n',
    "event: end\ndata: [DONE]\n\n",
    'event: more\ndata: {"b":2}\n\n',
    "data: Error: late\n\n",
  ]);
  const failed = vi.fn();
  await expect(eventsOf(() => Promise.reject(new Error("early")), failed)).rejects.toThrow("early");
  expect(failed).not.toHaveBeenCalled();
});
