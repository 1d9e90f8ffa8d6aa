import "../../../test/loopback.ts";
import "../../install.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { CallAnswer, Episode } from "../../../src/environments/environment.ts";
import { createEnvironment } from "../../../src/environments/registry.ts";
import { HttpClient } from "../shared/http.ts";
import { NemoGymSession } from "./session.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const tools = [
  { type: "function", name: "add", parameters: { properties: { by: { type: "number" } } }, description: null, strict: true },
];
const row = {
  responses_create_params: {
    input: [
      { role: "developer", content: "Count." },
      { role: "user", content: [{ type: "input_text", text: "To 3." }] },
    ],
    tools,
  },
  goal: 3,
};
const file = join(mkdtempSync(join(tmpdir(), "nemo-gym-")), "rows.jsonl");
const history = {
  responses_create_params: {
    input: [
      { role: "user", content: "Hi" },
      { type: "reasoning", id: "r", summary: [] },
      { type: "function_call", call_id: "c", name: "add", arguments: '{"by": 1.0}', id: "x" },
      { type: "function_call_output", call_id: "c", output: "1" },
    ],
  },
};
writeFileSync(file, `${JSON.stringify(row)}\n${JSON.stringify(history)}\n{"responses_create_params":{"input":5}}\n`);

// biome-ignore lint/suspicious/noExplicitAny: documents of the test, read field by field
type Body = Record<string, any>;

interface Seen {
  readonly path: string;
  readonly cookie: string | undefined;
  readonly body: Body;
}

async function serving(answers: Record<string, (body: Body) => object | number>) {
  const seen: Seen[] = [];
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      const body: Body = text === "" ? {} : JSON.parse(text);
      seen.push({ path: request.url ?? "", cookie: request.headers.cookie, body });
      const answer = answers[request.url ?? ""]?.(body) ?? 404;
      response.setHeader("set-cookie", `session=s${seen.length}; path=/; httponly`);
      if (typeof answer === "number") response.writeHead(answer).end('{"detail":"no"}');
      else response.end(JSON.stringify(answer));
    });
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return { name: `nemo-gym:http://127.0.0.1:${(listening.address() as AddressInfo).port}`, seen };
}

const { signal } = new AbortController();
const start = async (name: string, index = 0): Promise<Episode> => {
  const environment = createEnvironment(name, { tasks: { train: file } });
  return environment.start(await environment.task("train", index), 0);
};
const add = (episode: Episode, argumentsText: string) =>
  episode.call?.({ name: "add", arguments: {}, argumentsText }, { signal }) as Promise<CallAnswer | undefined>;

test("a session, its tools and the verdict on the episode, as a Response", async () => {
  const { name, seen } = await serving({
    "/seed_session": () => ({}),
    "/add": ({ by }) => (by === undefined ? 422 : by < 0 ? 500 : { sum: by }),
    "/verify": (body) => ({ ...body, reward: 0.5, extra: 2, note: "x" }),
  });
  const episode = await start(name);
  expect(episode.messages).toEqual([
    { role: "system", content: "Count." },
    { role: "user", content: "To 3." },
  ]);
  expect(episode.tools).toMatchObject([
    { name: "add", description: "", parameters: { type: "object", properties: { by: { type: "number" } } } },
  ]);
  expect(await add(episode, '{"by": 3.0}')).toEqual({ content: '{"sum":3}' });
  expect(await add(episode, "{}")).toEqual({ content: '{"detail":"no"}', valid: false, failure: "invalid" });
  await expect(add(episode, '{"by": -1}')).rejects.toThrow(/POST \/add is "500/);
  expect(await episode.reply({ role: "assistant", content: "3" })).toEqual({ done: true });
  const score = await episode.score([
    ...episode.messages,
    {
      role: "assistant",
      content: "",
      reasoning: "Add.",
      toolCalls: [{ name: "add", arguments: { by: 3 }, argumentsText: '{"by": 3.0}' }],
    },
    { role: "tool", name: "add", content: '{"sum":3}' },
    { role: "assistant", content: "3" },
  ]);
  expect(score).toEqual({ reward: 0.5, scores: { extra: 2 } });
  expect(seen.map(({ cookie }) => cookie)).toEqual([undefined, "session=s1", "session=s2", "session=s3", "session=s4"]);
  expect(seen[0].body).toEqual(row);
  expect(seen.at(-1)?.body).toMatchObject({
    goal: 3,
    responses_create_params: row.responses_create_params,
    response: { object: "response", tools },
  });
  expect(seen.at(-1)?.body.response.output).toMatchObject([
    { type: "reasoning", summary: [{ type: "summary_text", text: "Add." }] },
    { type: "function_call", call_id: "call_0_0", name: "add", arguments: '{"by": 3.0}' },
    { type: "function_call_output", call_id: "call_0_0", output: '{"sum":3}' },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "3", annotations: [] }] },
  ]);
});

const played = { observation: "warmer", reward: 0, terminated: false, truncated: false, info: {} };
test.each<[string, object, object, RegExp]>([
  ["a reward that is a text", {}, { ...played, reward: "0.5" }, /\/step.*reward.*NeMo Gym 0\.4/s],
  ["a reward that is null", {}, { ...played, reward: null }, /\/step.*reward.*NeMo Gym 0\.4/s],
  ["no reward", {}, { ...played, reward: undefined }, /\/step.*reward.*NeMo Gym 0\.4/s],
  ["a newer step", {}, { ...played, rewards: [1] }, /\/step.*rewards.*NeMo Gym 0\.4/s],
  ["a newer reset", { seed: 1 }, played, /\/reset.*seed.*NeMo Gym 0\.4/s],
])("a GymnasiumServer: %s is a fault that names the field", async (_, reset, step, message) => {
  const { name } = await serving({ "/reset": () => ({ observation: null, info: {}, ...reset }), "/step": () => step });
  const turn = async () => (await start(name)).reply({ role: "assistant", content: "3" });
  await expect(turn()).rejects.toThrow(message);
});

test.each([undefined, null, true, [1]])("a verdict of %j is a fault that names the field", async (reward) => {
  const { name } = await serving({ "/seed_session": () => ({}), "/verify": () => ({ reward }) });
  await expect((await start(name)).score([])).rejects.toThrow(/\/verify.*reward.*NeMo Gym 0\.4/s);
});

test("a row with a history, a wrong row, and servers that refuse", async () => {
  const { name } = await serving({ "/seed_session": () => ({}), "/verify": () => ({ reward: "high" }) });
  const episode = await start(name, 1);
  expect(episode.messages).toEqual([
    { role: "user", content: "Hi" },
    { role: "assistant", content: "", toolCalls: [{ id: "c", name: "add", arguments: { by: 1 }, argumentsText: '{"by": 1.0}' }] },
    { role: "tool", name: "add", callId: "c", content: "1" },
  ]);
  await expect(episode.score([])).rejects.toThrow(/\/verify.*reward.*NeMo Gym 0\.4/s);
  await expect(start(name, 2)).rejects.toThrow(/row 3: responses_create_params/);
  server?.close();
  await expect(start(name)).rejects.toThrow(/./);
});

test("a tool without a route is answered as the server does; a session's tools may be over MCP", async () => {
  const { name } = await serving({ "/seed_session": () => ({}), "/verify": () => ({ reward: 0 }) });
  expect(await add(await start(name), "{}")).toEqual({ content: '{"detail":"no"}', valid: false, failure: "invalid" });
  server?.close();
  const { name: newer } = await serving({
    "/seed_session": () => ({ mcp: { url_path: "/mcp", transport: "stdio", headers: {} } }),
  });
  await expect(start(newer)).rejects.toThrow(/mcp\.transport.*NeMo Gym 0\.4/);
  server?.close();
  const { name: silent } = await serving({ "/seed_session": () => ({ mcp: { url_path: "/mcp", headers: {} } }) });
  await expect(start(silent)).rejects.toThrow(/MCP server/);
});

test("a GymnasiumServer: a reward with every step, and the end", async () => {
  const steps = [
    { observation: "warmer", reward: 0.25, terminated: false, truncated: false, info: {} },
    {
      observation: null,
      reward: 0,
      terminated: false,
      truncated: false,
      info: { tool_outputs: [{ call_id: "call_1", output: "7" }] },
    },
    { observation: null, reward: 1, terminated: true, truncated: false, info: {} },
  ];
  let at = 0;
  const { name, seen } = await serving({
    "/reset": () => ({ observation: "Guess.", info: {} }),
    "/step": () => steps[at++] ?? 500,
  });
  const episode = await start(name);
  expect(episode.messages.at(-1)).toEqual({ role: "user", content: "Guess." });
  expect(await episode.reply({ role: "assistant", content: "3" })).toEqual({
    ...{ done: false, messages: [{ role: "user", content: "warmer" }] },
  });
  expect(await add(episode, '{"by": 1}')).toEqual({ content: "7", done: false });
  expect(await episode.reply({ role: "assistant", content: "7" })).toEqual({ done: true });
  expect(await episode.score([])).toEqual({ reward: 1.25 });
  expect(seen.map(({ path }) => path)).toEqual(["/seed_session", "/reset", "/step", "/step", "/step"]);
  expect(seen[2].body).toMatchObject({ goal: 3, response: { output: [{ type: "message", content: [{ text: "3" }] }] } });
  at = 1;
  await expect((await start(name)).reply({ role: "assistant", content: "3" })).rejects.toThrow(/observation of POST \/step/);
});

test("a GymnasiumServer: calls have ids of their own step, other tools are not its own, and being cut off is an end", async () => {
  const step = { observation: "seen", reward: 0.5, terminated: false, truncated: false, info: null };
  let answer: object = { ...step, info: { tool_outputs: [{ call_id: "mine", output: "7" }], note: 1 } };
  const { name, seen } = await serving({ "/reset": () => ({ observation: "" }), "/step": () => answer });
  const environment = createEnvironment(name, { tasks: { train: file }, rewards: "turns", maxOutput: 6 });
  expect(environment).toMatchObject({ name, splits: ["train"], turnRewards: true, replayable: false });
  expect([await environment.size("train"), await environment.size("test")]).toEqual([3, 0]);
  const episode = await environment.start(await environment.task("train", 0), 0);
  expect(episode.messages).toHaveLength(2);
  const call = { name: "add", arguments: { by: 1 } };
  expect(await episode.call?.({ ...call, id: "mine" }, { signal })).toEqual({
    ...{ content: "7\nseen", done: false, reward: 0.5 },
  });
  answer = { ...step, observation: "longer than six", truncated: true };
  expect(await episode.call?.(call, { signal })).toEqual({
    ...{ content: "longer\n[cut: the first 6 of 15 characters]", done: true, reward: 0.5 },
  });
  expect(await episode.call?.({ ...call, name: "other" }, { signal })).toBeUndefined();
  const sent = seen.filter(({ path }) => path === "/step").map(({ body }) => body.response.output);
  expect(sent).toMatchObject([[{ type: "function_call", call_id: "mine" }], [{ call_id: "call_1", arguments: '{"by":1}' }]]);
  expect(await episode.score([])).toEqual({ reward: 0 });
});

test("cookies are kept by name, also those of other routes, and without their attributes", async () => {
  const cookies: (string | undefined)[] = [];
  server = createServer((request, response) => {
    cookies.push(request.headers.cookie);
    response.setHeader("set-cookie", ["a=1; Path=/", ` b = x=${cookies.length}; Secure`, "=none", "nothing"]);
    request.resume().on("end", () => response.end("{}"));
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const http = new HttpClient({
    ...{ base: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, spoken: "x", timeoutMs: 20_000 },
    ...{ maxBytes: 1000, headers: {}, secrets: [] },
  });
  const session = new NemoGymSession(http);
  for (let i = 0; i < 3; i++) await session.post("/any", {});
  expect(cookies).toEqual([undefined, "a=1; b=x=1", "a=1; b=x=2"]);
});

test("a row's own numbers are no scores, and a 4xx is what the model reads", async () => {
  const { name } = await serving({
    "/seed_session": () => ({ mcp: null }),
    "/verify": (body) => ({ ...body, goal: 4, reward: -1, parts: { a: 1 }, share: 0.5 }),
    "/add": ({ by }) => by,
  });
  const episode = await start(name);
  expect(await episode.score(episode.messages)).toEqual({ reward: -1, scores: { share: 0.5 } });
  expect(await add(episode, '{"by": 400}')).toEqual({ content: '{"detail":"no"}', valid: false, failure: "invalid" });
  expect(await add(episode, '{"by": 399}')).toEqual({ content: '{"detail":"no"}' });
  await expect(add(episode, '{"by": 500}')).rejects.toMatchObject({ problem: "refused" });
  await expect(add(episode, '{"by": 503}')).rejects.toMatchObject({ problem: "capacity" });
  expect(await episode.call?.({ name: "other", arguments: {} }, { signal })).toBeUndefined();
});

test("tools over MCP beside those of the row are called there, and the connection ends with the episode", async () => {
  const asked: string[] = [];
  server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const reply = (body: object) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.url === "/seed_session")
      return void reply({ mcp: { url_path: "/tools/mcp", headers: { "x-own": "1" }, server_name: "s" } });
    if (request.url !== "/tools/mcp") return void reply({ reward: 1 });
    if (request.method !== "POST") return void response.writeHead(request.method === "DELETE" ? 200 : 405).end();
    const { id, method, params } = JSON.parse(text);
    asked.push(`${method} ${request.headers["x-own"]}`);
    if (id === undefined) return void response.writeHead(202).end();
    const results: Record<string, object> = {
      initialize: {
        ...{ protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
      },
      "tools/list": { tools: [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }] },
      "tools/call": { content: [{ type: "text", text: `saw ${params?.arguments?.at}` }] },
    };
    reply({ jsonrpc: "2.0", id, result: results[method] ?? {} });
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const episode = await start(`nemo-gym:http://127.0.0.1:${(listening.address() as AddressInfo).port}`);
  expect(episode.tools.map(({ name, description }) => [name, description])).toEqual([
    ["add", ""],
    ["look", "Looks."],
  ]);
  // The episode leaves its calls to the tool.
  expect(await episode.call?.({ name: "look", arguments: { at: "x" } }, { signal })).toBeUndefined();
  expect(await episode.tools[1]?.execute({ at: "x" }, { signal })).toBe("saw x");
  expect(asked).toEqual(expect.arrayContaining(["initialize 1", "tools/list 1", "tools/call 1"]));
  await episode.close?.();
  await expect(async () => episode.tools[1]?.execute({ at: "x" }, { signal })).rejects.toThrow(
    /MCP server of the resource server is "closed"/,
  );
});
