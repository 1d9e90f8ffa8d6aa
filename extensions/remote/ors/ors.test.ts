import "../../../test/loopback.ts";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { CallAnswer, Episode } from "../../../src/environments/environment.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { EventReader } from "./events.ts";
import { orsEnvironment } from "./ors.ts";
import { messagesOf, messagesSchema, wireMessages } from "./wire.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => unknown;

const event = (name: string, data: string) => `event: ${name}\ndata: ${data}\n\n`;
const output = (text: string, more: object = {}) =>
  JSON.stringify({
    ok: true,
    output: { blocks: [{ type: "text", text }], metadata: null, reward: null, finished: false, ...more },
  });

/** A server of ORS whose calls are answered by the test. */
async function serving(call: Answer, change: Record<string, Answer> = {}) {
  const bodies: string[] = [];
  const routes: Record<string, Answer> = {
    "/list_environments": () => ["world", "other"],
    "/world/splits": () => [{ name: "train", type: "train" }],
    "/world/num_tasks": () => ({ num_tasks: 3 }),
    "/create_session": (_, __, response) => void response.end(`: hello\n\n${event("task_id", "s-1")}${event("end", "")}`),
    "/create": () => ({ sid: "s-1" }),
    "/world/prompt": () => [
      { type: "text", text: "Look." },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
    "/world/task_tools": () => ({ tools: [{ name: "act", description: "Acts.", input_schema: null }] }),
    "/world/call": call,
    "/delete": () => ({}),
    "/delete_session": () => ({}),
    "/ping": () => ({}),
    ...change,
  };
  const seen: string[] = [];
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      seen.push(request.url ?? "");
      if (request.url === "/world/call" || request.url === "/create") bodies.push(body);
      const answer = routes[request.url ?? ""]?.(request, body, response);
      if (answer !== undefined) response.end(JSON.stringify(answer));
      else if (routes[request.url ?? ""] === undefined) response.writeHead(404).end('{"detail":"Not Found"}');
    });
  });
  const listening = server;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, bodies, seen };
}

const { signal } = new AbortController();

async function start(url: string, settings: object = {}): Promise<Episode> {
  const environment = orsEnvironment("ors:test", url, settings);
  return environment.start(await environment.task("train", 1), 0);
}
const act = (episode: Episode, argumentsText = "{}") =>
  episode.call?.({ name: "act", arguments: {}, argumentsText }, { signal }) as Promise<CallAnswer | undefined>;

test("a session, its prompt, its tools and its rewards", async () => {
  let calls = 0;
  const { url, bodies, seen } = await serving((_, __, response) => {
    const last = ++calls === 2;
    const text = output("seen", { reward: last ? 1 : -0.25, finished: last });
    response.end(event("task_id", "t") + event("chunk", text.slice(0, 20)) + event("end", text.slice(20)));
  });
  const episode = await start(url);
  expect(episode.messages).toEqual([{ role: "user", content: "Look.\n[image/png, 4 characters: not shown]" }]);
  expect(episode.tools).toMatchObject([{ name: "act", parameters: { type: "object", properties: {} } }]);
  expect(await act(episode, '{"a": 5.0}')).toEqual({ content: "seen", done: false });
  expect(await act(episode)).toEqual({ content: "seen", done: true });
  expect(await episode.score([])).toEqual({ reward: 0.75 });
  expect(bodies).toEqual([
    '{"env_name":"world","split":"train","index":1}',
    '{"name":"act","input":{"a": 5.0}}',
    '{"name":"act","input":{}}',
  ]);
  await episode.close?.();
  expect(seen.slice(-2)).toEqual(["/delete", "/delete_session"]);
});

test("a server without environments is refused by name", async () => {
  const { url } = await serving(() => ({}), { "/list_environments": () => [] });
  await expect(start(url)).rejects.toThrow(/list_environments/);
});

const listedTools = { tools: [{ name: "act", description: "Acts.", input_schema: null }] };

test("the last message goes to the tool that grades it, which the model is not shown", async () => {
  let terminal: unknown = { name: "finish", arg: "message" };
  let graded: object = { ok: false, error: "no text" };
  const { url, bodies } = await serving(
    (_, __, response) => void response.end(event("task_id", "t") + event("end", JSON.stringify(graded))),
    {
      "/version": () => ({ version: "0.1.167", build_sha: null }),
      "/world/task_tools": () => ({
        ...listedTools,
        terminal_tool: terminal,
        supports_score_group: false,
        message_block_types: [],
      }),
    },
  );
  const last = { role: "assistant", content: "It is done." } as const;
  await expect((await start(url)).reply(last)).rejects.toThrow(/terminal tool finish.*"no text"/);
  graded = JSON.parse(output("", { reward: 0.5, finished: true }));
  const episode = await start(url);
  expect(episode.tools.map(({ name }) => name)).toEqual(["act"]);
  expect(await episode.reply(last)).toEqual({ done: true });
  expect(await episode.score([])).toEqual({ reward: 0.5 });
  terminal = { name: "finish", arg: null };
  expect(await (await start(url, { rewards: "turns" })).reply(last)).toEqual({ done: true, reward: 0.5 });
  expect(bodies.filter((body) => body.includes("finish"))).toEqual([
    ...['{"name":"finish","input":{"message":"It is done."}}', '{"name":"finish","input":{"message":"It is done."}}'],
    '{"name":"finish","input":{}}',
  ]);
  terminal = { name: "finish" };
  await expect(start(url)).rejects.toThrow(/terminal_tool\.arg.*version 0\.1\.167/);
});

test("a conversation as a prompt: roles, reasoning, calls and their results", async () => {
  const text = (said: string) => ({ type: "text", text: said });
  const given = [
    { role: "system", blocks: [text("Be brief.")] },
    { role: "user", blocks: [text("Look."), { type: "image", data: "AAAA", mimeType: "image/png" }] },
    {
      role: "assistant",
      blocks: [{ type: "reasoning", text: "Hm." }, text("So."), { type: "tool_call", id: "c1", name: "act", input: { a: 1 } }],
    },
    {
      role: "user",
      blocks: [{ type: "tool_result", tool_call_id: "c1", blocks: [text("seen")], is_error: false }, text("And?")],
    },
  ];
  const { url } = await serving(() => undefined, { "/world/messages": () => given });
  const { messages } = await start(url, { system: "Play." });
  expect(messages).toEqual([
    { role: "system", content: "Play.\n\nBe brief." },
    { role: "user", content: "Look.\n[image/png, 4 characters: not shown]" },
    { role: "assistant", content: "So.", reasoning: "Hm.", toolCalls: [{ id: "c1", name: "act", arguments: { a: 1 } }] },
    { role: "tool", name: "act", callId: "c1", content: "seen" },
    { role: "user", content: "And?" },
  ]);
  const there = wireMessages(messages);
  expect(messagesOf(messagesSchema.parse(there))).toEqual(messages);
});

test.each<[string, Record<string, Answer>, RegExp]>([
  ["a newer wire", { "/version": () => ({ version: "0.2.0" }) }, /version of the server .* "0\.2\.0".*0\.1\.167/],
  [
    "another environment's tasks",
    { "/world/task": () => ({ task: {}, env_name: "other" }) },
    /env_name of POST \/world\/task is "other".*world/,
  ],
  [
    "a field that is not known",
    { "/version": () => ({ version: "0.1.190" }), "/world/task_tools": () => ({ ...listedTools, grader_tool: { name: "x" } }) },
    /grader_tool.*version 0\.1\.190/,
  ],
  [
    "a block that is not known",
    { "/world/messages": () => [{ role: "user", blocks: [{ type: "video" }] }] },
    /0\.blocks\.0\.type/,
  ],
])("%s is refused by name", async (_, routes, message) => {
  const { url } = await serving(() => undefined, routes);
  await expect(start(url)).rejects.toThrow(message);
});

test("a reward that is no number is a fault that names the field, and never a 0", async () => {
  const { url } = await serving(
    (_, __, response) => void response.end(event("task_id", "t") + event("end", output("", { reward: "1.0" }))),
  );
  await expect(act(await start(url))).rejects.toThrow(/output\.reward/);
});

test("an environment that is still being set up is waited for, and secrets go where the version reads them", async () => {
  let asked = 0;
  const headers: unknown[] = [];
  const change: Record<string, Answer> = {
    "/create": (request) => ({ sid: `s-${headers.push(request.headers["x-secrets"])}` }),
    "/world/messages": (_, __, response) => {
      if (++asked > 1) return [{ role: "user", blocks: [{ type: "text", text: "Ready." }] }];
      response.writeHead(503).end('{"detail":"Environment still starting."}');
    },
  };
  process.env.WIRES_SECRET = "s3cret";
  const older = await serving(() => undefined, change);
  const settings = { secretVariables: { key: "WIRES_SECRET" } };
  expect((await start(older.url, settings)).messages).toEqual([{ role: "user", content: "Ready." }]);
  server?.close();
  const newer = await serving(() => undefined, { ...change, "/version": () => ({ version: "0.1.167" }) });
  await start(newer.url, settings);
  delete process.env.WIRES_SECRET;
  expect(older.bodies[0]).toContain('"secrets":{"key":"s3cret"}');
  expect(newer.bodies[0]).not.toContain("secrets");
  expect(JSON.parse(Buffer.from(String(headers[1]), "base64").toString())).toMatchObject({ key: { value: "s3cret" } });
});

test("a stream that breaks is read again by its id, and the call is made once", async () => {
  const ids: (string | undefined)[] = [];
  const { url } = await serving((_, body, response) => {
    ids.push(JSON.parse(body).task_id);
    response.write(event("task_id", " t-9 "));
    if (ids.length < 3) setTimeout(() => response.destroy(), 20);
    else response.end(event("end", output("late")));
  });
  expect(await act(await start(url))).toMatchObject({ content: "late" });
  expect(ids).toEqual([undefined, "t-9", "t-9"]);
});

test("wrong calls are reported to the model; raised errors, dead sessions and nonsense are faults with a name", async () => {
  let answer: Answer = () => undefined;
  const { url, seen } = await serving((...all) => answer(...all));
  const says =
    (text: string): Answer =>
    (_, __, response) =>
      void response.end(event("task_id", "t") + text);
  const problem = async (settings: object = {}) => {
    const episode = await start(url, settings);
    const error = await act(episode).catch((thrown: unknown) => thrown);
    await episode.close?.();
    expect(error).toBeInstanceOf(RemoteEnvError);
    return (error as RemoteEnvError).problem;
  };
  answer = says(event("end", JSON.stringify({ ok: false, error: "not a tool" })));
  expect(await act(await start(url))).toEqual({ content: "Error: not a tool", valid: false, failure: "invalid" });
  answer = says(event("error", "division by zero"));
  expect(await problem()).toBe("refused");
  expect(await act(await start(url, { executionErrors: "tell" }))).toMatchObject({ content: "Error: division by zero" });
  answer = says(event("end", '{"ok":true,"output":{"blocks":"none"}}'));
  expect(await problem()).toBe("malformed");
  answer = says(event("end", output("x".repeat(2 ** 21))));
  expect(await problem({ maxAnswer: 1 })).toBe("too-large");
  answer = (_, __, response) => void response.write(event("task_id", "t"));
  expect(await problem({ timeoutMs: 100 })).toBe("timeout");
  answer = (_, __, response) => void response.writeHead(404).end('{"detail":"Active environment not found"}');
  expect(await problem()).toBe("expired");
  answer = says("");
  expect(await problem()).toBe("malformed");
  const lively = await start(url, { pingMs: 20 });
  await expect.poll(() => seen.filter((path) => path === "/ping").length).toBeGreaterThan(1);
  await lively.close?.();
});

test("events are read the same wherever the parts end", () => {
  const text = 'event: a\r\ndata: {"x": "ä€😀"}\r\n\r\n: ping\r\n\r\nevent:b\ndata: one\ndata:  two\n\ndata: bare\r\rdata\n\n';
  const bytes = Buffer.from(text);
  const whole = new EventReader().read(bytes);
  expect(whole).toEqual([
    { event: "a", data: '{"x": "ä€😀"}' },
    { event: "b", data: "one\n two" },
    { event: "message", data: "bare" },
    { event: "message", data: "" },
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 12 }), (cuts) => {
      const at = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
      const reader = new EventReader();
      const parts = at.slice(1).flatMap((end, i) => reader.read(bytes.subarray(at[i], end)));
      expect(parts).toEqual(whole);
    }),
  );
});

test("a prompt without words is a beginning; the settings' system message is before it", async () => {
  const { url } = await serving(() => undefined, { "/world/prompt": () => [] });
  expect((await start(url, { system: "Play." })).messages).toEqual([
    { role: "system", content: "Play." },
    { role: "user", content: "Begin." },
  ]);
  const long = await serving(() => undefined, { "/world/prompt": () => [{ type: "text", text: "0123456789" }] });
  expect((await start(long.url, { maxOutput: 4 })).messages).toEqual([
    { role: "user", content: "0123\n[cut: the first 4 of 10 characters]" },
  ]);
});

test("an environment is chosen by its name, whatever its capitals, and an unknown one is refused", async () => {
  const { url, seen } = await serving(() => undefined, {
    "/World/splits": () => [
      { name: "train", type: "train" },
      { name: "hard", type: "validation" },
    ],
    "/World/num_tasks": (_, body) => ({ num_tasks: body.includes("hard") ? 2 : 0 }),
    "/World/task": () => ({ task: {}, env_name: "wORLD" }),
  });
  const environment = orsEnvironment("ors:test", url, { environment: "World", concurrency: 3, rewards: "turns" });
  expect(environment).toMatchObject({ name: "ors:test", concurrency: 3, turnRewards: true, replayable: false });
  expect(environment.splits).toEqual(["train", "validation", "test", "challenge"]);
  await environment.open?.();
  await environment.open?.();
  expect(environment.splits).toEqual(["train", "hard"]);
  expect([await environment.size("train"), await environment.size("hard"), await environment.size("test")]).toEqual([0, 2, 0]);
  expect(seen.filter((path) => path === "/version")).toHaveLength(1);
  await expect(start(url, { environment: "moon" })).rejects.toThrow(/environment is "moon"; expected "world" or "other"/);
});

test("an answer that keeps breaking is read four times at most, and one without an id is not read again", async () => {
  let calls = 0;
  const broken = await serving((_, __, response) => {
    calls++;
    response.write(event("task_id", "t"));
    setTimeout(() => response.destroy(), 5);
  });
  await expect(act(await start(broken.url))).rejects.toMatchObject({ problem: "unreachable" });
  expect(calls).toBe(4);
  const nameless = await serving((_, __, response) => {
    calls++;
    response.write(event("chunk", "{"));
    setTimeout(() => response.destroy(), 5);
  });
  await expect(act(await start(nameless.url))).rejects.toMatchObject({ problem: "unreachable" });
  expect(calls).toBe(5);
  const early = await serving((_, __, response) => {
    calls++;
    response.end(event("task_id", "t") + event("chunk", "{"));
  });
  await expect(act(await start(early.url))).rejects.toThrow(/the answer to the call of act is "a stream that ends early"/);
  expect(calls).toBe(9);
  const raising = await serving((_, __, response) => {
    calls++;
    response.end(event("task_id", "t") + event("error", "boom"));
  });
  await expect(act(await start(raising.url))).rejects.toMatchObject({ problem: "refused", value: "boom", expected: "no error" });
  expect(calls).toBe(10);
});

test("tools that all tasks share are those of a server that knows no others; a call of another tool is not its own", async () => {
  const { url, seen } = await serving(() => undefined, { "/world/tools": () => listedTools });
  const older = await serving(() => undefined, { "/world/task_tools": undefined as never, "/world/tools": () => listedTools });
  expect((await start(older.url, { replayable: true })).tools).toMatchObject([{ name: "act", replayable: true }]);
  expect(older.seen).toContain("/world/tools");
  const episode = await start(url);
  expect(seen).not.toContain("/world/tools");
  expect(await episode.call?.({ name: "other", arguments: {} }, { signal })).toBeUndefined();
  expect(await episode.reply({ role: "assistant", content: "" })).toEqual({ done: true });
});

test("a session that does not begin is a fault, and one whose task is not set up is deleted", async () => {
  const none = await serving(() => undefined, { "/create_session": (_, __, response) => void response.end(event("end", "")) });
  await expect(start(none.url)).rejects.toThrow(/POST \/create_session is "no session"; expected an event task_id/);
  const refused = await serving(() => undefined, {
    "/create": (_, __, response) => void response.writeHead(500).end("boom"),
  });
  await expect(start(refused.url)).rejects.toThrow(/POST \/create is "500 boom"/);
  expect(refused.seen.slice(-2)).toEqual(["/delete", "/delete_session"]);
  const never = await serving(() => undefined, {
    "/world/messages": (_, __, response) => void response.writeHead(503).end("still starting"),
  });
  await expect(start(never.url, { setupMs: 1 })).rejects.toMatchObject({ problem: "timeout" });
  expect(never.seen.slice(-2)).toEqual(["/delete", "/delete_session"]);
  const toolless = await serving(() => undefined, {
    "/world/task_tools": (_, __, response) => void response.writeHead(500).end("boom"),
  });
  await expect(start(toolless.url)).rejects.toThrow(/GET task_tools is "500 boom"/);
  const full = await serving(() => undefined, {
    "/world/messages": (_, __, response) => void response.writeHead(503).end("full"),
  });
  await expect(start(full.url)).rejects.toMatchObject({ problem: "capacity" });
});
