import "../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { slowdown } from "../../test/slowdown.ts";
import { complete, type EndpointSettings } from "./client.ts";
import { CompletionError } from "./errors.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

type Answer = (response: ServerResponse, count: number, request: IncomingMessage) => void;

async function serving(answer: Answer): Promise<EndpointSettings & { readonly asked: () => number }> {
  let count = 0;
  server = createServer((request, response) => {
    request.resume();
    request.on("end", () => answer(response, count++, request));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { baseUrl: `http://127.0.0.1:${port}/v1/`, retryDelayMs: 1, retries: 2, asked: () => count };
}

const answered = JSON.stringify({ choices: [{ message: { content: "Hi." }, finish_reason: "stop" }] });
const failure = async (settings: EndpointSettings) => {
  const error = await complete(settings, { model: "m" }).catch((thrown: unknown) => thrown);
  if (!(error instanceof CompletionError)) throw error;
  return error;
};

test("what may pass is asked again: busy, broken, nonsense, a lost connection, the failure of a server behind a gateway", async () => {
  const settings = await serving((response, count) => {
    const tries: (() => void)[] = [
      () => response.writeHead(503).end(),
      () => response.end("<html>starting</html>"),
      () => response.end('{"error": {"message": "upstream", "code": 502}}'),
      () => response.end('{"choices": []}'),
      () => response.destroy(),
      () => response.end(answered),
    ];
    tries[count]();
  });
  expect(await complete({ ...settings, retries: 5 }, {})).toMatchObject({ content: "Hi.", usage: undefined });
  expect(settings.asked()).toBe(6);
});

test("a kept connection that the server closes is replaced once, without a retry of the settings", async () => {
  const used = new Set<unknown>();
  const settings = await serving((response, _, request) => {
    if (used.has(request.socket)) return void request.socket.destroy();
    used.add(request.socket);
    response.end(answered);
  });
  const once = { ...settings, retries: 0 };
  for (let i = 0; i < 3; i++) expect(await complete(once, {})).toMatchObject({ content: "Hi." });
  expect(used.size).toBe(3);
  // At least one of them was sent on a used connection first.
  expect(settings.asked()).toBeGreaterThan(3);
  server?.close();
  const closing = await serving((response) => response.destroy());
  expect(await failure({ ...closing, retries: 0 })).toMatchObject({ failure: "unreachable" });
  expect(closing.asked()).toBe(2);
});

test("a wait that the server asks for is taken, one of minutes is not", async () => {
  const settings = await serving((response, count) =>
    count === 0 ? response.writeHead(429, { "retry-after-ms": "120" }).end() : response.end(answered),
  );
  const started = performance.now();
  await complete(settings, {});
  expect(performance.now() - started).toBeGreaterThan(110);
  server?.close();
  const long = await serving((response) => response.writeHead(429, { "retry-after": "3600" }).end("later"));
  expect(await failure(long)).toMatchObject({ failure: "unreachable", value: "429 later" });
  expect(long.asked()).toBe(1);
});

test("an answer that is late, or whose body is, ends at the limit", async () => {
  const silent = await serving((response, count) => void (count === 0 && response.write('{"choices')));
  const started = performance.now();
  expect(await failure({ ...silent, timeoutMs: 60, retries: 1 })).toMatchObject({
    failure: "unreachable",
    message: expect.stringMatching(/nothing within 60 ms.*asked 2 times/),
  });
  expect(performance.now() - started).toBeLessThan(1000 * slowdown());
});

test("100 MB are not read", async () => {
  let sent = 0;
  const flood = await serving((response) => {
    const block = Buffer.alloc(2 ** 20, "x");
    const pour = () => {
      while (sent < 100 && !response.destroyed) {
        sent++;
        if (!response.write(block)) return void response.once("drain", pour);
      }
    };
    pour();
  });
  expect(await failure({ ...flood, maxBytes: 2 ** 21 })).toMatchObject({
    message: expect.stringMatching(/more than 2097152 bytes/),
  });
  expect(sent).toBeLessThan(40);
});

test.each([
  [401, "wrong key sk-secret", "settings", 1],
  [404, "no such model", "settings", 1],
  [429, '{"error": {"code": "insufficient_quota"}}', "settings", 1],
  [400, "max_tokens is not supported", "refused", 1],
  [400, "insufficient_quota", "refused", 1],
  [429, "slow down", "unreachable", 3],
  [400, "This model's maximum context length is 8192 tokens", "context", 1],
  [500, "broken", "unreachable", 3],
] as const)("status %i, %s: %s after %i requests, without the key", async (status, said, kind, times) => {
  const settings = await serving((response) => response.writeHead(status).end(said));
  const error = await failure({ ...settings, apiKey: "sk-secret" });
  expect(error).toMatchObject({ failure: kind, message: expect.stringContaining(String(status)) });
  expect(error.message).not.toContain("sk-secret");
  expect(settings.asked()).toBe(times);
});

const answering = (choice: object, more: object = {}) => JSON.stringify({ choices: [{ message: {}, ...choice }], ...more });

test.each([
  ["withheld by a filter", answering({ finish_reason: "content_filter" }), "withheld", 1],
  ["withheld by Gemini's", answering({ finish_reason: "content_filter: SAFETY" }), "withheld", 1],
  ["given up by the server", answering({ finish_reason: "error" }), "unreachable", 3],
  ["failed behind OpenRouter", answering({ error: { code: 502, message: "upstream" } }), "unreachable", 3],
  ["an error as a string", '{"error": "Unexpected endpoint or method."}', "unreachable", 3],
] as const)("an answer that is none, of status 200, is no empty answer: %s", async (_, body, kind, times) => {
  const settings = await serving((response) => response.end(body));
  expect(await failure(settings)).toMatchObject({
    ...{ failure: kind, message: expect.stringMatching(/content_filter|finish_reason is error|upstream|Unexpected endpoint/) },
  });
  expect(settings.asked()).toBe(times);
});

test("a refusal is the model's answer, the other words for a cut-off answer mean it, and tokens that nobody counted are not 0", async () => {
  const bodies = [
    answering({ message: { content: null, refusal: "I cannot." } }),
    answering({ message: { content: "a" }, finish_reason: "model_length" }),
    answering({ message: { content: "a" } }, { usage: { prompt_tokens: 0, completion_tokens: 0 } }),
  ];
  const settings = await serving((response, count) => response.end(bodies[count]));
  expect(await complete(settings, {})).toMatchObject({ content: "I cannot.", finish: "stop" });
  expect(await complete(settings, {})).toMatchObject({ content: "a", finish: "length" });
  expect((await complete(settings, {})).usage).toBeUndefined();
});

// As the servers word it, or as LiteLLM 1.108 knows them.
test.each([
  ["context", "request (3031 tokens) exceeds the available context size (512 tokens), try increasing it"],
  ["context", "litellm.ContextWindowExceededError: this is a mock"],
  ["context", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
  ["context", "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"],
  ["context", "This model's maximum prompt length is 131072 but the request contains 140000 tokens."],
  ["context", "Current length is 9000 while limit is 8192"],
  ["context", "Input is too long for requested model."],
  ["context", "Input tokens exceed the configured limit of 272000 tokens."],
  ["withheld", '{"error": {"code": "content_filter", "message": "filtered by its content management policy"}}'],
  ["refused", "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024"],
  ["withheld", "litellm.ContentPolicyViolationError: flagged"],
  ["withheld", '{"error": {"code": 403, "metadata": {"flagged_input": "x"}}}'],
] as const)("400: %s, %s", async (kind, said) => {
  const settings = await serving((response) => response.writeHead(400).end(said));
  expect(await failure(settings)).toMatchObject({ failure: kind });
});

test("a redirect is not followed: it would carry the key", async () => {
  const settings = await serving((response) => response.writeHead(301, { location: "http://elsewhere.example/" }).end());
  expect(await failure(settings)).toMatchObject({
    failure: "settings",
    message: expect.stringMatching(/301 to http:..elsewhere/),
  });
});

test("an interrupted wait ends at once", async () => {
  const settings = await serving((response) => response.writeHead(503).end());
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("stopped")), 30);
  await expect(complete({ ...settings, retryDelayMs: 60_000 }, {}, stop.signal)).rejects.toThrow("stopped");
});

test("the request: its address, its fields without those that are null, its key", async () => {
  const seen: unknown[] = [];
  const settings = await serving((response) => response.end(answered));
  server?.on("request", (request: IncomingMessage) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part));
    request.on("end", () => seen.push([request.method, request.url, request.headers.authorization, JSON.parse(text)]));
  });
  const body = { model: "m", seed: 1, top_p: 0.5 };
  await complete(settings, body);
  await complete({ ...settings, apiKey: "", request: { seed: null, top_p: 1, effort: "low" } }, body);
  await complete({ ...settings, apiKey: "sk" }, {});
  expect(seen).toEqual([
    ["POST", "/v1/chat/completions", undefined, body],
    ["POST", "/v1/chat/completions", "Bearer", { model: "m", top_p: 1, effort: "low" }],
    ["POST", "/v1/chat/completions", "Bearer sk", {}],
  ]);
});

test.each<[number, string, string, string, Record<string, string>?]>([
  [401, "", "401", "Check the address, the key and the model's name."],
  [403, "key sk-1 x", "403 key [API key] x", "Check the address, the key and the model's name."],
  [
    413,
    "large",
    "413 large",
    "The server does not take this request. A setting `request` (evaluation.player.request, a judge's)",
  ],
  [422, "odd", "422 odd", "The server does not take this request."],
  [400, "prompt is too long", "400 prompt is too long", "The conversation is longer than the model's context."],
  [451, "content policy", "451 content policy", "A filter of the server does not let this conversation through."],
  [503, "busy", "503 busy", "It was asked 3 times. The server is busy or broken: ask it again later."],
  [302, "", "302 to nowhere", "Check the address"],
  [399, "", "399 to x", "Check the address", { location: "x" }],
])("status %i with %j, in a reader's words", async (status, said, problem, hint, headers = {}) => {
  const settings = await serving((response) => response.writeHead(status, headers).end(said));
  const { host } = new URL(settings.baseUrl);
  const { message } = await failure({ ...settings, apiKey: "sk-1" });
  expect(message).toContain(`the answer of ${host} is ${JSON.stringify(problem)}; expected a chat completion. ${hint}`);
});

test("an answer that is too large is a matter of settings, a server that is not there of the network", async () => {
  const settings = await serving((response) => response.end("x".repeat(50)));
  expect(await failure({ ...settings, maxBytes: 10 })).toMatchObject({ failure: "settings", value: "more than 10 bytes" });
  expect(settings.asked()).toBe(1);
  const gone = await failure({ ...settings, baseUrl: "http://127.0.0.1:1/v1" });
  expect(gone.message).toMatch(/It was asked 3 times\. Is the server running, and is the address right\?/);
});
