import "./loopback.ts";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { engineModel } from "../extensions/inference/engine-model.ts";
import { type RunningInference, serveInference } from "../extensions/inference/server.ts";
import { makeChat } from "../src/chat/chat.ts";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { scriptedSampler } from "./scripted-sampler.ts";

/** The endpoint's interfaces, byte by byte where a client would notice. test/agent-sdks.contract.test.ts has the clients. */

const chat = makeChat(loadTokenizer(join(import.meta.dirname, "../models/office")));
const call = '<tool_call>\n{"name": "find", "arguments": {"title": "Demo"}}\n</tool_call>';
const cutOff = `Well. ${call.slice(0, -20)}`;
const sampler = scriptedSampler(chat.tokenizer, (context) => {
  if (/broken/.test(context)) return cutOff;
  return /call/.test(context) ? `Well. ${call}` : "On Friday at 14:30.";
});
let server: RunningInference;
beforeAll(async () => {
  const models = new Map([["m", engineModel(sampler, chat)]]);
  server = await serveInference({ host: "127.0.0.1", port: 0, keys: ["key"], models });
});
afterAll(() => server.close());

const routes = { chat: "/v1/chat/completions", responses: "/v1/responses", messages: "/v1/messages" } as const;
type Route = keyof typeof routes;
const tool = { name: "find", description: "", parameters: { type: "object", properties: { title: { type: "string" } } } };
const asked = (route: Route, text: string): object =>
  ({
    chat: { messages: [{ role: "user", content: text }], tools: [{ type: "function", function: tool }] },
    responses: { input: text, tools: [{ type: "function", ...tool }] },
    messages: {
      ...{ max_tokens: 64, messages: [{ role: "user", content: text }] },
      tools: [{ name: "find", description: "", input_schema: tool.parameters }],
    },
  })[route];

async function post(path: string, body: object, key = "key") {
  const response = await fetch(`${server.baseUrl}${path}`, {
    ...{ method: "POST", body: JSON.stringify({ model: "m", ...body }) },
    headers: { authorization: `Bearer ${key}` },
  });
  return { status: response.status, text: await response.text() };
}

async function events(route: Route, body: object): Promise<Record<string, unknown>[]> {
  const { text } = await post(routes[route], { ...body, stream: true });
  const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => json);
  return data.filter((json) => json !== "[DONE]").map((json) => JSON.parse(json));
}

test("a stream gives text as it is sampled, then the call, then the end: Chat Completions", async () => {
  const chunks = await events("chat", { ...asked("chat", "call"), stream_options: { include_usage: true } });
  const deltas = chunks.flatMap(({ choices }) => choices as { delta: Record<string, unknown>; finish_reason: string | null }[]);
  expect(deltas[0].delta).toMatchObject({ role: "assistant" });
  const texts = deltas.flatMap(({ delta }) => (delta.content ? [delta.content] : []));
  expect(texts.join("")).toBe("Well.");
  expect(texts.length).toBeGreaterThan(1);
  const parts = deltas.flatMap(({ delta }) => (delta.tool_calls as { function: { arguments: string } }[] | undefined) ?? []);
  expect(parts.length).toBeGreaterThan(3);
  expect(parts[0]).toMatchObject({ index: 0, type: "function", function: { name: "find", arguments: "" } });
  expect(JSON.parse(parts.map((part) => part.function.arguments).join(""))).toEqual({ title: "Demo" });
  expect(deltas.at(-1)).toMatchObject({ delta: {}, finish_reason: "tool_calls" });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: expect.any(Number) } });
});

test("the same as Responses: numbered events, and the whole at the end", async () => {
  const all = await events("responses", asked("responses", "call"));
  expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, i) => i));
  const types = all.map(({ type }) => String(type));
  expect(types.filter((type, i) => type !== types[i - 1])).toEqual([
    ...["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"],
    ...["response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done"],
    ...["response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done"],
    ...["response.output_item.done", "response.completed"],
  ]);
  const whole = JSON.parse((await post(routes.responses, asked("responses", "call"))).text);
  const { output } = all[all.length - 1].response as { output: { type: string }[] };
  expect(all.filter(({ type }) => type === "response.function_call_arguments.delta").length).toBeGreaterThan(2);
  // The items at the end are those that were streamed.
  expect(output).toEqual(all.flatMap(({ type, item }) => (type === "response.output_item.done" ? [item] : [])));
  expect(output.map(({ type }) => type)).toEqual(["message", "function_call"]);
  expect(output).toMatchObject(
    whole.output.map(({ type, name }: { type: string; name?: string }) => (name ? { type, name } : { type })),
  );
});

test("the same as Anthropic's messages: blocks one after the other", async () => {
  const all = await events("messages", asked("messages", "call"));
  const types = all.map(({ type }) => type);
  expect(types.filter((type) => type === "content_block_delta").length).toBeGreaterThan(5);
  expect(types.filter((type, i) => type !== types[i - 1])).toEqual([
    ...["message_start", "content_block_start", "content_block_delta", "content_block_stop"],
    ...["content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"],
  ]);
  expect(all.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
  const { text } = await post("/v1/messages/count_tokens", asked("messages", "call"));
  const { input_tokens: counted } = JSON.parse(text);
  const answered = JSON.parse((await post(routes.messages, asked("messages", "call"))).text);
  expect(counted).toBe(answered.usage.input_tokens);
});

test("the same as Gemini's parts: text as it is sampled, the call whole, then the end", async () => {
  const contents = [{ role: "user", parts: [{ text: "call" }] }];
  const tools = [{ functionDeclarations: [{ name: "find", parametersJsonSchema: tool.parameters }] }];
  const ask = async (method: string, more: object = {}, headers: Record<string, string> = { "x-goog-api-key": "key" }) => {
    const body = JSON.stringify({ contents, tools, ...more });
    const response = await fetch(`${server.baseUrl}/v1beta/models/${method}`, { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  };
  const generationConfig = { responseLogprobs: true };
  const whole = JSON.parse((await ask("m:generateContent", { generationConfig })).text);
  const functionCall = { id: expect.stringMatching(/^call_/), name: "find", args: { title: "Demo" } };
  expect(whole.candidates[0]).toMatchObject({ content: { role: "model", parts: [{ text: "Well." }, { functionCall }] } });
  const { text } = await ask("m:streamGenerateContent?alt=sse", { generationConfig });
  expect(text).not.toMatch(/^event:/m);
  const chunks = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json));
  const candidates = chunks.map(({ candidates: [first] }) => first);
  const parts = candidates.flatMap(({ content }) => content.parts);
  const texts = parts.slice(0, -1).map((part) => part.text);
  expect(texts.join("")).toBe("Well.");
  expect(texts.length).toBeGreaterThan(1);
  expect(parts.at(-1)).toEqual({ functionCall });
  expect(candidates.map(({ finishReason }) => finishReason)).toEqual([...texts.map(() => undefined), "STOP"]);
  expect(chunks.at(-1).usageMetadata).toEqual(whole.usageMetadata);
  // All chunks together have the tokens of the whole answer.
  const tokensOf = (all: typeof candidates) => all.flatMap(({ logprobsResult }) => logprobsResult.chosenCandidates);
  expect(tokensOf(candidates)).toEqual(tokensOf(whole.candidates));
  // A call that cannot be read is text: a part has no place for arguments that are no object.
  const unread = await ask("m:streamGenerateContent?alt=sse", { contents: [{ role: "user", parts: [{ text: "broken" }] }] });
  const said = [...unread.text.matchAll(/^data: (.*)$/gm)].flatMap(([, json]) => JSON.parse(json).candidates[0].content.parts);
  expect(said.map((part) => part.text).join("")).toBe(cutOff);
  const counted = JSON.parse((await ask("m:countTokens")).text);
  expect(counted).toEqual({ totalTokens: whole.usageMetadata.promptTokenCount });

  // The key may be in the address, and the errors are the vendor's.
  expect((await ask("m:generateContent?key=key", {}, {})).status).toBe(200);
  expect(await ask("m:generateContent?key=other", {}, {})).toMatchObject({
    ...{ status: 401, text: expect.stringContaining('"status":"UNAUTHENTICATED"') },
  });
  expect(await ask("other:generateContent")).toMatchObject({ status: 404, text: expect.stringContaining("NOT_FOUND") });
  expect(await ask("m:embedContent")).toMatchObject({ status: 404, text: expect.stringContaining('"code":404') });
  expect(await ask("m:streamGenerateContent")).toMatchObject({ status: 400, text: expect.stringContaining("expected sse") });
  // Google's client for Python asks for /v1.
  for (const path of ["/v1beta/models", "/v1/models"]) {
    const headers = { "x-goog-api-key": "key", "x-goog-api-client": "google-genai-sdk/3.6.1" };
    const listed = await fetch(`${server.baseUrl}${path}`, { headers });
    expect(JSON.parse(await listed.text()).models).toMatchObject([{ name: "models/m", inputTokenLimit: 4096 }]);
  }
});

test("an error behind the first chunk of Gemini's stream is an event without a name, which its clients read", async () => {
  const broken = {
    ...sampler,
    sample: async ({ onToken }: Parameters<typeof sampler.sample>[0]) => {
      for (const token of chat.tokenizer.encode("A word")) onToken?.({ token, logprob: 0 });
      throw new Error("broken");
    },
  };
  const models = new Map([["m", engineModel(broken, chat)]]);
  const own = await serveInference({ host: "127.0.0.1", port: 0, keys: [], models });
  const body = JSON.stringify({ contents: [{ parts: [{ text: "a" }] }] });
  const response = await fetch(`${own.baseUrl}/v1beta/models/m:streamGenerateContent?alt=sse`, { method: "POST", body });
  const events = (await response.text()).trim().split("\n\n");
  await own.close();
  expect(events.at(-1)).toMatch(/^data: \{"error":\{"code":500,"message":"broken","status":"INTERNAL"\}\}$/);
});

test("ids of tokens and their log-probs come where they are asked for, aligned one to one, as vLLM has them", async () => {
  const body = { ...asked("chat", "When?"), logprobs: true, return_token_ids: true };
  const answer = JSON.parse((await post(routes.chat, body)).text);
  const [{ token_ids: ids, logprobs }] = answer.choices;
  expect(chat.actionText(ids)).toBe("On Friday at 14:30.");
  expect(logprobs.content.map(({ logprob }: { logprob: number }) => logprob)).toEqual(ids.map(() => 0));
  expect(chat.tokenizer.decode(answer.prompt_token_ids)).toContain("When?");
});

test("in a stream every chunk has the tokens that it came from, and all chunks together those of the whole answer", async () => {
  const body = { ...asked("chat", "call"), logprobs: true, return_token_ids: true };
  const [{ token_ids: ids, logprobs }] = JSON.parse((await post(routes.chat, body)).text).choices;
  type Choice = { delta: object; logprobs: { content: { token: string }[] }; token_ids: number[] };
  const chunks = (await events("chat", body)).flatMap(({ choices }) => choices as Choice[]);
  expect(chunks.flatMap(({ token_ids }) => token_ids)).toEqual(ids);
  expect(chunks.flatMap(({ logprobs: { content } }) => content)).toEqual(logprobs.content);
  expect(chunks.filter(({ token_ids }) => token_ids.length > 0).length).toBeGreaterThan(5);
  const include = ["message.output_text.logprobs"];
  const text = (await events("responses", { ...asked("responses", "When?"), include })).filter(
    ({ type }) => type === "response.output_text.delta",
  );
  expect(text.length).toBeGreaterThan(3);
  // White space behind a word may come with the next part: it could be the end.
  for (const { delta, logprobs: own } of text)
    expect((own as { token: string }[]).map(({ token }) => token).join("")).toContain(String(delta).trim());
});

test("several answers are several choices", async () => {
  const { choices } = JSON.parse((await post(routes.chat, { ...asked("chat", "When?"), n: 3 })).text);
  expect(choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2]);
});

test("an answer is continued by its id, and only if it was to be stored", async () => {
  const first = JSON.parse((await post(routes.responses, asked("responses", "call"))).text);
  const callId = first.output[1].call_id;
  const input = [{ type: "function_call_output", call_id: callId, output: "found" }];
  const more = await post(routes.responses, { previous_response_id: first.id, input });
  expect(more.status).toBe(200);
  const unstored = JSON.parse((await post(routes.responses, { ...asked("responses", "call"), store: false })).text);
  const refused = await post(routes.responses, { previous_response_id: unstored.id, input });
  expect(refused).toMatchObject({ status: 404, text: expect.stringContaining("previous_response_not_found") });
});

const long = "word ".repeat(6000);
test.each<[string, Route, object, string, number, object]>([
  ["unknown model", "chat", { model: "other" }, "key", 404, { error: { param: "model", code: "model_not_found" } }],
  ["wrong key", "chat", {}, "other", 401, { error: { type: "invalid_request_error", code: "invalid_api_key" } }],
  ["long context", "chat", asked("chat", long), "key", 400, { error: { code: "context_length_exceeded" } }],
  ["malformed tools", "chat", { tools: [{ type: "function", function: { name: 5 } }] }, "key", 400, { error: { code: null } }],
  ["malformed tools", "messages", { max_tokens: 1, tools: [{}] }, "key", 400, { error: { type: "invalid_request_error" } }],
  ["unknown field", "responses", { ...asked("responses", "a"), swarm: 2 }, "key", 400, { error: { param: "swarm" } }],
  ["hosted tool", "responses", { input: "a", tools: [{ type: "web_search" }] }, "key", 400, { error: { param: "tools.0.type" } }],
  [
    "image",
    "chat",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "a" } }] }] },
    "key",
    400,
    {
      error: { message: expect.stringContaining("only text"), param: "messages.0.content.0.type" },
    },
  ],
  [
    "server-side thread",
    "messages",
    { ...asked("messages", "a"), thread: { type: "create" } },
    "key",
    400,
    {
      error: { details: { error_code: "thread_unsupported_request", unsupported: ["thread"] } },
    },
  ],
  ["missing messages", "messages", {}, "key", 400, { type: "error", error: { type: "invalid_request_error" } }],
  ["wrong key", "messages", {}, "other", 401, { type: "error", error: { type: "authentication_error" } }],
])("%s: %s has its vendor's own error", async (_, route, body, key, status, error) => {
  const answer = await post(routes[route], body, key);
  expect({ status: answer.status, body: JSON.parse(answer.text) }).toMatchObject({ status, body: error });
});

test("a client that hangs up in a stream frees its row", async () => {
  let freed = false;
  const slow = {
    ...sampler,
    sample: (request: Parameters<typeof sampler.sample>[0]) =>
      new Promise<never>((_, reject) => {
        request.onToken?.({ token: chat.tokenizer.encode("a")[0], logprob: 0 });
        request.signal?.addEventListener("abort", () => {
          freed = true;
          reject(new Error("cancelled"));
        });
      }),
  };
  const own = await serveInference({
    ...{ host: "127.0.0.1", port: 0, keys: [] },
    models: new Map([["m", engineModel(slow, chat)]]),
  });
  const stop = new AbortController();
  const body = JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: "a" }] });
  const response = await fetch(`${own.baseUrl}${routes.chat}`, { method: "POST", body, signal: stop.signal });
  await response.body?.getReader().read();
  stop.abort();
  await expect.poll(() => freed).toBe(true);
  await own.close();
});
