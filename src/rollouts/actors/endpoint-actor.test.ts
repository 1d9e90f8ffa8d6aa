import "../../../test/loopback.ts";
import "../../../test/office.ts";
import { createServer, type Server } from "node:http";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { researchProtocol } from "../../../research/arpo-protocol/protocol.ts";
import { fencedCode } from "../../actions/fenced-code.ts";
import { EngineError } from "../../core/errors.ts";
import type { Environment, Episode } from "../../environments/environment.ts";
import { newMessages } from "../../environments/protocol.ts";
import { defineTool } from "../../tools/tool.ts";
import { rolloutBy, rolloutGroupsBy } from "../rollout.ts";
import { type EndpointActorSettings, endpointActor } from "./endpoint-actor.ts";

interface Asked {
  readonly model: string;
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly unknown[];
  readonly seed: number;
  readonly max_tokens?: number;
}

let server: Server | undefined;
afterEach(() => void server?.close());

/** A server that answers each request by what the test says: a completion's message, or a status. */
async function serving(answer: (asked: Asked, count: number) => object | number) {
  const words = { words: "no" };
  const asked: Asked[] = [];
  const keys: (string | undefined)[] = [];
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      asked.push(JSON.parse(body));
      keys.push(request.headers.authorization);
      const given = answer(asked[asked.length - 1], asked.length - 1);
      if (typeof given === "number") return void response.writeHead(given).end(`${words.words}, Bearer ${keys.at(-1)}`);
      const { finish = "stop", ...message } = given as { finish?: string };
      const usage = { prompt_tokens: 7, completion_tokens: 2 };
      response.end(
        JSON.stringify({
          choices: [{ message: { role: "assistant", content: null, ...message }, finish_reason: finish }],
          usage,
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/v1`;
  return Object.assign(words, {
    asked,
    keys,
    settings: { baseUrl, model: "m", apiKey: "secret", retryDelayMs: 1 } satisfies EndpointActorSettings,
  });
}

const add = defineTool({
  name: "add",
  description: "Adds.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});

function environmentOf(change: Partial<Episode> = {}): Environment {
  const episode: Episode = {
    messages: [{ role: "user", content: "1 + 2?" }],
    tools: [add],
    reply: () => ({ done: true }),
    score: (conversation) => ({ reward: Number(conversation.at(-1)?.content === "3") }),
    ...change,
  };
  return { name: "sums", size: () => 1, task: () => ({ id: "t" }), start: () => episode };
}

const options = { id: "e/0", group: "e", seed: 1, maxTurns: 4, maxTokens: 50, episodeTimeoutMs: 1000, temperature: 0.5 };
const play = (settings: EndpointActorSettings, environment = environmentOf(), signal?: AbortSignal) =>
  rolloutBy(endpointActor(settings), environment, { id: "t" }, { ...options, ...(signal && { signal }) });

const toolCall = (text: string) => ({
  tool_calls: [{ id: "call_1", type: "function", function: { name: "add", arguments: text } }],
});

test("a conversation with a call: tools, ids and arguments' text go to the server and come back", async () => {
  const { asked, keys, settings } = await serving((_, count) =>
    count === 0 ? toolCall('{"a": 1.0, "b": 2}') : { content: "3" },
  );
  const trajectory = await play(settings);
  expect(trajectory).toMatchObject({ reward: 1, stopReason: "done" });
  expect(trajectory.turns).toMatchObject([
    { context: [], action: [], toolCalls: 1, usage: { promptTokens: 7, completionTokens: 2 } },
    { toolCalls: 0 },
  ]);
  expect(asked[0]).toMatchObject({
    model: "m",
    max_tokens: 50,
    temperature: 0.5,
    messages: [{ role: "user", content: "1 + 2?" }],
  });
  expect(asked[0].tools).toMatchObject([{ type: "function", function: { name: "add", parameters: { type: "object" } } }]);
  expect(asked[1].messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "add", arguments: '{"a": 1.0, "b": 2}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "3" },
  ]);
  expect(asked[0].seed).not.toBe(asked[1].seed);
  expect(keys).toEqual(["Bearer secret", "Bearer secret"]);
});

test("unreadable arguments are reported to the model, and a cut-off call is not made", async () => {
  const { asked, settings } = await serving((_, count) => (count === 0 ? toolCall("{oops") : { content: "3" }));
  const trajectory = await play(settings);
  expect(trajectory.turns[0]).toMatchObject({ toolCalls: 0, invalidToolCalls: 1 });
  expect(asked[1].messages.at(-1)).toEqual({
    role: "user",
    content: expect.stringMatching(/arguments of add are not valid JSON/),
  });
  server?.close();
  let made = 0;
  const cut = await serving(() => ({ ...toolCall('{"a": 1, "b": 2}'), finish: "length" }));
  const ended = await play(cut.settings, environmentOf({ call: () => void made++ }));
  expect(ended).toMatchObject({ stopReason: "max-tokens", turns: [{ truncated: true, toolCalls: 0 }] });
  expect(made).toBe(0);
});

test("a busy server is asked again; a refusal ends the run with its words and without the key", async () => {
  const busy = await serving((_, count) => (count < 2 ? [429, 503][count] : { content: "3" }));
  expect(await play(busy.settings)).toMatchObject({ reward: 1 });
  expect(busy.asked).toHaveLength(3);
  server?.close();
  const refusing = await serving(() => 401);
  const error = await play(refusing.settings).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EngineError);
  expect(String(error)).toMatch(/401 no.*\[API key\].*Check the address/);
  expect(String(error)).not.toContain("secret");
  expect(refusing.asked).toHaveLength(1);
  await expect(play({ ...refusing.settings, retries: 1, baseUrl: "http://127.0.0.1:1/v1" })).rejects.toThrow(
    /asked 2 times.*Is the server running/,
  );
});

test("text protocols of new messages are spoken", async () => {
  const { asked, settings } = await serving((_, count) => ({ content: count === 0 ? "```python\n1 + 2\n```" : "3" }));
  const python = defineTool({
    name: "python",
    description: "",
    parameters: z.object({ code: z.string() }),
    execute: ({ code }) => `ran ${code}`,
  });
  const coding = environmentOf({ tools: [python], protocol: { actions: fencedCode(), continuation: newMessages() } });
  expect(await play(settings, coding)).toMatchObject({ reward: 1, stopReason: "done" });
  expect(asked[0].tools).toBeUndefined();
  expect(asked[1].messages.slice(1)).toEqual([
    { role: "assistant", content: "```python\n1 + 2\n```" },
    { role: "user", content: "ran 1 + 2" },
  ]);
});

const search = defineTool({
  name: "search",
  description: "",
  parameters: z.object({ query: z.string() }),
  execute: ({ query }) => `about ${query}`,
});
const researching = environmentOf({
  tools: [search],
  protocol: researchProtocol({ kind: "training" }),
  score: (conversation) => ({ reward: Number(conversation.at(-1)?.content.includes("<answer>3</answer>")) }),
});

test("a message that grows continues as messages, with the stop string that the server removed", async () => {
  const { asked, settings } = await serving((_, count) => ({
    content: count === 0 ? "I look. <search>one" : "<answer>3</answer>",
    stop_reason: null,
  }));
  expect(await play(settings, researching)).toMatchObject({ reward: 1, turns: [{ toolCalls: 1 }, { toolCalls: 0 }] });
  expect(asked[0]).toMatchObject({ stop: ["</python>", "</search>"] });
  expect(asked[1].messages.slice(1)).toEqual([
    { role: "assistant", content: "I look. <search>one</search>" },
    { role: "user", content: "<result>\nabout one\n</result>" },
  ]);
  expect(asked[1]).not.toHaveProperty("continue_final_message");
});

test("with prefill the server continues the message itself, and its tokens are limited by what the server counted", async () => {
  const { asked, settings } = await serving((_, count) =>
    count < 2 ? { content: `<search>${count}` } : { content: "<answer>3</answer>" },
  );
  const protocol = researchProtocol({ maxResponseTokens: 4 });
  const narrow = environmentOf({ tools: [search], protocol });
  const ended = await play({ ...settings, growing: "prefill" }, narrow);
  // Each answer has 2 tokens and the server counts 7 of every prompt: 2 are left after the first, and for the third answer none of 4 is counted as used.
  expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([4, 2, 2]);
  expect(ended.stopReason).toBe("done");
  expect(asked[2].messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: "<search>0</search> <result>\nabout 0\n</result><search>1</search> <result>\nabout 1\n</result>",
    },
  ]);
  expect(asked[2]).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
});

test("a server that repeats the message it continues, as llama.cpp does, is not heard twice", async () => {
  const { settings } = await serving(({ messages }, count) => {
    const begun = count === 0 ? "" : String(messages.at(-1)?.content);
    return { content: begun + (count === 0 ? "<search>one</search>" : "<answer>3</answer>") };
  });
  const ended = await play({ ...settings, growing: "prefill" }, researching);
  expect(
    ended.messages
      .map(({ content }) => content)
      .join("")
      .match(/<search>/g),
  ).toHaveLength(1);
  expect(ended).toMatchObject({ reward: 1, turns: [{ toolCalls: 1 }, { toolCalls: 0 }] });
});

test("names that servers refuse are replaced for them alone; fields are added and left out", async () => {
  const dotted = { ...add, name: "sums.add" };
  const { asked, settings } = await serving((_, count) =>
    count === 0
      ? { tool_calls: [{ function: { name: "sums_add", arguments: { a: 1, b: 2 } } }] }
      : { content: [{ type: "text", text: "3" }] },
  );
  const request = { seed: null, reasoning_effort: "low" };
  const played = await play(
    { ...settings, request, maxTokensField: "max_completion_tokens" },
    environmentOf({ tools: [dotted] }),
  );
  expect(played).toMatchObject({ reward: 1, turns: [{ toolCalls: 1 }, {}] });
  expect(asked[0].tools).toMatchObject([{ function: { name: "sums_add" } }]);
  expect(asked[0]).toMatchObject({ reasoning_effort: "low", max_completion_tokens: 50 });
  expect(asked[0]).not.toHaveProperty("seed");
  expect(asked[0]).not.toHaveProperty("max_tokens");
  expect(asked[1].messages.slice(1)).toMatchObject([
    { tool_calls: [{ id: "call_0", function: { name: "sums_add" } }] },
    { role: "tool", tool_call_id: "call_0", content: "3" },
  ]);
});

test("a conversation that is refused alone ends, one that is too long ends as such, and settings that are refused end the run", async () => {
  const question = ({ messages }: Asked) => messages[0].content;
  const filtered = await serving((asked) => (question(asked) === "1 + 2?" ? 400 : { content: "Hello." }));
  expect(await play(filtered.settings)).toMatchObject({
    stopReason: "actor-error",
    reward: 0,
    error: expect.stringMatching(/400/),
  });
  server?.close();
  const refusing = await serving(() => 400);
  await expect(play(refusing.settings)).rejects.toThrow(/refuses every such request.*evaluation.player.request/);
  expect(refusing.asked).toHaveLength(2);
  expect(refusing.asked[1].messages).toEqual([{ role: "user", content: "Hello." }]);
  server?.close();
  const withheld = await serving(() => ({ content: "3", finish: "content_filter" }));
  expect(await play(withheld.settings)).toMatchObject({
    stopReason: "actor-error",
    error: expect.stringMatching(/content_filter/),
  });
  expect(withheld.asked).toHaveLength(1);
  server?.close();
  const short = await serving((_, count) => (count === 0 ? toolCall('{"a": 1, "b": 2}') : 413));
  short.words = "This model's maximum context length is 8 tokens";
  expect(await play(short.settings)).toMatchObject({ stopReason: "max-tokens", turns: [{ toolCalls: 1 }] });
});

test("groups are played side by side, and an interrupted episode is cancelled", async () => {
  const { asked, settings } = await serving(() => ({ content: "3" }));
  const [{ trajectories }] = await rolloutGroupsBy(endpointActor(settings), environmentOf(), [{ id: "t" }], {
    ...options,
    ...{ name: "g", groupSize: 5, concurrency: 5 },
  });
  expect(trajectories.map(({ reward }) => reward)).toEqual([1, 1, 1, 1, 1]);
  expect(new Set(asked.map(({ seed }) => seed)).size).toBe(5);
  expect(await play(settings, environmentOf(), AbortSignal.abort())).toMatchObject({ stopReason: "cancelled", reward: 0 });
});
