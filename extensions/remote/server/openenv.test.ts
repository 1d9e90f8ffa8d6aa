import { once } from "node:events";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { closed, counting } from "../../../test/environments/counting.ts";
import "../../../test/loopback.ts";
import { serve, server } from "./environments.fixture.ts";
import { messageTool } from "./hosted.ts";
import { openapi, schemas } from "./openenv-wire.ts";

async function ask(path: string, body?: unknown): Promise<{ status: number; json: unknown }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${server?.baseUrl}${path}`, body === undefined ? {} : { method: "POST", body: text });
  return { status: response.status, json: await response.json() };
}
const ok = (json: unknown) => ({ status: 200, json });

/** Answers to requests of MCP, without what every one has. */
async function mcp(method: string, params: object = {}): Promise<unknown> {
  const { json, status } = await ask("/mcp", { jsonrpc: "2.0", id: 7, method, params });
  const { jsonrpc, id, result, error } = json as { jsonrpc: string; id: number; result?: unknown; error?: unknown };
  expect([status, jsonrpc, id]).toEqual([200, "2.0", 7]);
  return result ?? error;
}
const refusal = (code: number, message: unknown) => ({ code, message, data: null });
const sessionOf = async () => ((await mcp("openenv/session/create")) as { session_id: string }).session_id;
const text = (said: string, isError = false) => ({
  content: [{ type: "text", text: said, annotations: null, _meta: null }],
  ...{ structured_content: { result: said }, meta: null, data: said, is_error: isError },
});

async function connect(query = ""): Promise<{ socket: WebSocket; heard: () => Promise<unknown> }> {
  const socket = new WebSocket(`${server?.baseUrl.replace("http", "ws")}/ws${query}`);
  const messages: unknown[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  await once(socket, "open");
  const heard = async () => {
    if (messages.length === 0) await once(socket, "message");
    return messages.shift();
  };
  return { socket, heard };
}
const state = '{"type":"state"}';

test("the routes that describe the environment", async () => {
  await serve("openenv");
  expect(await ask("/health")).toEqual(ok({ status: "healthy" }));
  expect(await ask("/schema")).toEqual(ok(schemas));
  expect(await ask("/openapi.json")).toEqual(ok(openapi("counting")));
  expect(await ask("/list_environments")).toEqual(ok(["counting"]));
  expect(await ask("/metadata")).toEqual(
    ok({ name: "counting", description: "The environment counting of Retrograde.", version: "1" }),
  );
  expect(await ask("/state")).toEqual(ok({ episode_id: null, step_count: 0 }));
  expect(await ask("/Counting/num_tasks", { split: "train" })).toEqual(ok({ num_tasks: 3 }));
  const missing = (route: string) => ({
    status: 404,
    json: { detail: `route is "${route}"; expected one of OpenEnv's interface.` },
  });
  expect(await ask("/jump")).toEqual(missing("GET /jump"));
  expect(await ask("/health", {})).toEqual(missing("POST /health"));
  expect(await ask("/reset")).toEqual(missing("GET /reset"));
  expect(await ask("/mcp")).toEqual(missing("GET /mcp"));
  expect(await ask("/counting")).toEqual(missing("GET /counting"));
  expect(await ask("/other/num_tasks", { split: "train" })).toEqual(missing("POST /other/num_tasks"));
  expect(await ask("/counting/jump", {})).toEqual(missing("POST /counting/jump"));
});

test("a slash in an environment's name is a low line in its routes", async () => {
  await serve("openenv", { environment: { ...counting(), name: "a/b/c" } });
  expect(await ask("/list_environments")).toEqual(ok(["a_b_c"]));
  expect(await ask("/a_b_c/num_tasks", { split: "train" })).toEqual(ok({ num_tasks: 3 }));
});

test("resets and steps by HTTP have an episode each, which is closed", async () => {
  await serve("openenv");
  const messages = [
    { role: "system", content: "Count." },
    { role: "user", content: "Count to 3." },
  ];
  expect(await ask("/reset", { index: 1 })).toEqual(
    ok({
      observation: { metadata: { task: "train/1", messages }, prompt: "Count.\n\nCount to 3." },
      ...{ reward: null, done: false },
    }),
  );
  expect(closed).toEqual(["3"]);
  const step = (action: object | undefined, more: object = {}) => ask("/step", { ...(action && { action }), ...more });
  const call = { type: "call_tool", tool_name: "add", arguments: { by: 2 } };
  const added = ok({
    observation: { metadata: {}, tool_name: "add", result: text("The counter is 2."), error: null },
    ...{ reward: -0.1, done: false },
  });
  expect(await step(call)).toEqual(added);
  expect(await step(call, { timeout_s: 3, request_id: "r" })).toEqual(added);
  expect(await step({ type: "list_tools" })).toMatchObject(
    ok({ observation: { tools: [{ name: "add" }, { name: messageTool }] } }),
  );
  expect(await step(undefined)).toEqual({ status: 422, json: { detail: '/step is "Invalid message".' } });
  expect((await step(call, { speed: 2 })).status).toBe(422);
  expect(await ask("/reset", { index: -1 })).toEqual({ status: 422, json: { detail: '/reset is "Invalid message".' } });
  expect(await ask("/reset", { index: 50 })).toMatchObject({ status: 500, json: { detail: expect.stringContaining("0 to 2") } });
  expect(server?.sessions()).toBe(0);
});

test("MCP without a session: each request has an episode of its own", async () => {
  await serve("openenv");
  expect(await ask("/mcp", "{oops")).toEqual(
    ok({ jsonrpc: "2.0", id: null, error: refusal(-32_700, expect.stringContaining("JSON")) }),
  );
  expect(await ask("/mcp", { id: 1, method: "tools/list" })).toEqual(
    ok({ jsonrpc: "2.0", id: null, error: refusal(-32_600, expect.stringContaining("jsonrpc")) }),
  );
  expect(await mcp("tools/list")).toMatchObject({
    tools: [{ name: "add", description: "Adds to the counter.", inputSchema: { required: ["by"] } }, { name: messageTool }],
  });
  const call = (name: string, by: unknown) => mcp("tools/call", { name, arguments: { by } });
  expect([await call("add", 1), await call("add", 1)]).toEqual([text("The counter is 1."), text("The counter is 1.")]);
  expect(await call("add", -1)).toEqual(text("Error: only up", true));
  expect(await call("fly", 1)).toEqual(refusal(-32_602, `there is no tool "fly". The tools are add, ${messageTool}.`));
  expect(await call("add", "x")).toEqual(refusal(-32_602, expect.stringContaining("wrong arguments for add")));
  expect(await mcp("tools/call", { arguments: {} })).toEqual(refusal(-32_602, expect.stringContaining("name")));
  expect(await mcp("tools/jump")).toEqual(refusal(-32_601, "Method not found: tools/jump"));
  expect(closed).toHaveLength(6);
  expect(server?.sessions()).toBe(0);
});

test("MCP with a session: its episode continues until it is closed", async () => {
  await serve("openenv", { sessions: 1 });
  const id = await sessionOf();
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  expect(server?.sessions()).toBe(1);
  expect(await mcp("openenv/session/create")).toEqual(refusal(-32_000, "1 of 1 sessions are open"));
  const add = () => mcp("tools/call", { session_id: id, name: "add", arguments: { by: 1 } });
  expect([await add(), await add()]).toEqual([text("The counter is 1."), text("The counter is 2.")]);
  expect(await mcp("tools/list", { session_id: "none" })).toEqual(refusal(-32_602, "Unknown session_id: none"));
  const close = (params: object) => mcp("openenv/session/close", params);
  expect(await close({})).toEqual(refusal(-32_602, "Invalid params - 'session_id' is required"));
  expect(await close({ session_id: id })).toEqual({ session_id: id, closed: true });
  expect([server?.sessions(), closed]).toEqual([0, ["2"]]);
  expect(await close({ session_id: id })).toEqual(refusal(-32_602, `Unknown session_id: ${id}`));
});

test("an episode that is over, or does not start, is an error of MCP with its reason", async () => {
  await serve("openenv", { maxTurns: 1 });
  const id = await sessionOf();
  const add = () => mcp("tools/call", { session_id: id, name: "add", arguments: { by: 1 } });
  expect(await add()).toEqual(text("The counter is 1."));
  expect(await add()).toEqual(refusal(-32_603, expect.stringContaining("expected a reset")));
});

test("a WebSocket continues the session that it names, which stays when it goes", async () => {
  await serve("openenv");
  const id = await sessionOf();
  await mcp("tools/call", { session_id: id, name: "add", arguments: { by: 1 } });
  const first = await connect(`?session_id=${id}`);
  first.socket.send(state);
  expect(await first.heard()).toEqual({ type: "state", data: { episode_id: `${id}/1`, step_count: 1 } });
  const second = await connect(`?session_id=${id}`);
  const problem = (code: string, message: string) => ({ type: "error", data: { message, code } });
  expect(await second.heard()).toEqual(problem("SESSION_ERROR", `Session ${id} already has a WebSocket`));
  await once(second.socket, "close");
  const other = await connect("?session_id=none");
  expect(await other.heard()).toEqual(problem("SESSION_ERROR", "Unknown session_id: none"));
  await once(other.socket, "close");
  first.socket.close();
  await once(first.socket, "close");
  await expect
    .poll(async () => {
      const again = await connect(`?session_id=${id}`);
      again.socket.send(state);
      const heard = await again.heard();
      again.socket.close();
      return heard;
    })
    .toEqual({ type: "state", data: { episode_id: `${id}/1`, step_count: 1 } });
  expect(server?.sessions()).toBe(1);
});

test("a WebSocket beyond the limit is refused with it, and one that ends its session gives its place back", async () => {
  await serve("openenv", { sessions: 1 });
  const first = await connect();
  const second = await connect();
  expect(await second.heard()).toEqual({
    type: "error",
    data: {
      ...{ message: "1 of 1 sessions are open", code: "CAPACITY_REACHED" },
      ...{ active_sessions: 1, max_sessions: 1 },
    },
  });
  await once(second.socket, "close");
  first.socket.send('{"type":"reset"}');
  await first.heard();
  first.socket.send('{"type":"close"}');
  await once(first.socket, "close");
  await expect.poll(() => server?.sessions()).toBe(0);
  expect(closed).toEqual(["2"]);
});

test("a WebSocket of a silent session is closed with the reason", async () => {
  await serve("openenv", { sessionMs: 50 });
  const { socket } = await connect();
  const [code, reason] = await once(socket, "close");
  expect([code, String(reason)]).toEqual([1001, "idle session"]);
});

test("another path speaks no other protocol", async () => {
  await serve("openenv");
  const socket = new WebSocket(`${server?.baseUrl.replace("http", "ws")}/wss`);
  const [error] = await once(socket, "error");
  expect(error.message).toBe("Unexpected server response: 404");
});

test.each<[string, object, string]>([
  ["no choice", {}, "train/0"],
  ["a seed beyond the tasks", { seed: 5 }, "train/2"],
  ["an index above a seed", { seed: 5, index: 1 }, "train/1"],
  ["a split", { split: "hard", seed: 7 }, "hard/0"],
])("the task of a reset with %s", async (_, body, task) => {
  await serve("openenv");
  expect(await ask("/reset", body)).toMatchObject(ok({ observation: { metadata: { task } } }));
});

test("a split without an end has a task for each seed, and without train the first with tasks is played", async () => {
  const environment = {
    ...counting(),
    splits: ["none", "endless"],
    size: (split: string) => (split === "none" ? 0 : Number.POSITIVE_INFINITY),
  };
  const { task } = environment;
  await serve("openenv", {
    environment: { ...environment, task: (_: string, index: number) => task("train", index % 3) } as never,
  });
  const prompt = async (body: object) =>
    ((await ask("/reset", body)).json as { observation: { prompt: string } }).observation.prompt;
  expect(await prompt({ seed: 100 })).toBe("Count.\n\nCount to 3.");
  expect(await prompt({})).toBe("Count.\n\nCount to 2.");
});
