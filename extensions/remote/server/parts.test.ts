import { afterEach, expect, test, vi } from "vitest";
import type { Environment } from "../../../src/environments/environment.ts";
import { messageTool, messageToolBeside, promptText, taskAt, toolList } from "./hosted.ts";
import { callObservation, failure, observation, openapi, readRpc, rpcError, rpcResult, schemas } from "./openenv-wire.ts";
import { eventText, OrsCalls } from "./ors-calls.ts";
import { Sessions } from "./sessions.ts";
import { taskRoute } from "./tasks.ts";

afterEach(() => void vi.useRealTimers());

test("the server's tool takes the first name that is free", () => {
  expect(messageToolBeside([])).toBe(messageTool);
  expect(messageToolBeside(["other", messageTool])).toBe("message_to_user_2");
  expect(messageToolBeside(["message_to_user_3", messageTool, "message_to_user_2"])).toBe("message_to_user_4");
  expect(messageToolBeside(["message_to_user_2"])).toBe(messageTool);
});

test("tools and prompts are written as both protocols have them", () => {
  const parameters = { type: "object", properties: {} } as const;
  expect(toolList([{ name: "a", description: "A.", parameters }])).toEqual([
    { name: "a", description: "A.", input_schema: parameters },
  ]);
  expect(
    promptText([
      { role: "system", content: "a" },
      { role: "user", content: "b" },
    ]),
  ).toBe("a\n\nb");
});

const environment = {
  ...{ name: "world", splits: ["train", "hard", "none"] },
  size: (split: string) => ({ train: 5, hard: Number.POSITIVE_INFINITY, none: 0 })[split] ?? 0,
  task: (split: string, index: number) => ({ id: `${split}/${index}` }),
} as unknown as Environment;

async function route(name: string, body: object | undefined) {
  const request = { method: body === undefined ? "GET" : "POST", body: async () => Buffer.from(JSON.stringify(body)) };
  const reply = await taskRoute(environment, "world", name, request).catch((error: unknown) => ({ json: error }));
  return reply === undefined ? undefined : (reply as { json: unknown }).json;
}
const place = (split: string, index: number) => ({ id: `${split}/${index}`, split, index });
const indices = async (body: object) => {
  const { tasks, env_name } = (await route("task_range", { split: "train", ...body })) as {
    tasks: { index: number }[];
    env_name: string;
  };
  expect(env_name).toBe("world");
  return tasks.map(({ index }) => index);
};

test("splits with tasks are listed, those of other names as validation", async () => {
  expect(await route("splits", undefined)).toEqual([
    { name: "train", type: "train" },
    { name: "hard", type: "validation" },
  ]);
  expect(await route("num_tasks", { split: "train" })).toEqual({ num_tasks: 5 });
  expect(await route("num_tasks", { split: "hard" })).toEqual({ num_tasks: 10_000 });
  for (const split of ["none", "other"]) expect(await route("num_tasks", { split })).toMatchObject({ status: 400 });
});

test("tasks have their places, and one that is not there is refused with those that are", async () => {
  expect(await route("tasks", { split: "train" })).toEqual({
    tasks: [0, 1, 2, 3, 4].map((i) => place("train", i)),
    env_name: "world",
  });
  expect(await route("task", { split: "train", index: 4 })).toEqual({ task: place("train", 4), env_name: "world" });
  expect(await route("task", { split: "hard", index: 1e6 })).toMatchObject({ task: { index: 1e6 } });
  for (const index of [-1, 5])
    expect(await route("task", { split: "train", index })).toMatchObject({ status: 400, expected: "0 to 4" });
  expect(await route("task", { split: "train", index: 0, seed: 1 })).toMatchObject({ status: 422 });
  for (const [name, body] of [
    ["other", {}],
    ["other", undefined],
    ["tasks", undefined],
  ] as const)
    expect(await route(name, body)).toBeUndefined();
});

test("more tasks than an answer lists are refused, and counted", async () => {
  const large = { ...environment, size: () => 10_001 } as unknown as Environment;
  const ask = async (name: string, body: object) => {
    const request = { method: "POST", body: async () => Buffer.from(JSON.stringify({ split: "train", ...body })) };
    const reply = await taskRoute(large, "world", name, request).catch((error: unknown) => ({ json: error }));
    return (reply as { json: unknown }).json;
  };
  expect(await ask("num_tasks", {})).toEqual({ num_tasks: 10_001 });
  expect(await ask("tasks", {})).toMatchObject({ status: 400, value: 10_001, hint: "Use num_tasks and task, or task_range." });
  expect(await ask("task_range", {})).toMatchObject({ status: 400, value: 10_001, expected: "at most 10000 tasks" });
  expect(await ask("task_range", { start: 1 })).toMatchObject({ tasks: { length: 10_000 } });
});

test.each([
  [{}, [0, 1, 2, 3, 4]],
  [{ start: 1, stop: 3 }, [1, 2]],
  [{ start: -2 }, [3, 4]],
  [{ stop: -4 }, [0]],
  [{ start: -9, stop: 9 }, [0, 1, 2, 3, 4]],
  [{ start: 3, stop: 1 }, []],
  [{ start: null, stop: 0 }, []],
  [{ start: 5 }, []],
])("a range of %j is that of Python's slices", async (body, expected) => {
  expect(await indices(body)).toEqual(expected);
});

test("a task is found by its split and index", async () => {
  expect(await taskAt(environment, { split: "train", index: 4 })).toEqual({ id: "train/4" });
  for (const index of [-1, 5, 0.5, Number.NaN])
    await expect(taskAt(environment, { split: "train", index })).rejects.toThrow(/index of world's split "train".*0 to 4/);
  for (const split of ["other", undefined])
    await expect(taskAt(environment, { split, index: 0 })).rejects.toThrow(/split of world/);
});

test("an event has a field for each line of its text", () => {
  expect(eventText("chunk", "a\nb\r\nc\rd")).toBe("event: chunk\r\ndata: a\r\ndata: b\r\ndata: c\r\ndata: d\r\n\r\n");
});

async function written(reply: ReturnType<OrsCalls["reply"]>): Promise<string> {
  let text = "";
  if ("events" in reply) await reply.events((part) => void (text += part));
  return text;
}
const chunks = (text: string) => [...text.matchAll(/event: (\w+)\r\ndata: ([^\r]*)\r\n/g)].map(([, name, data]) => [name, data]);

test("an answer comes in chunks that do not begin with white space, and may be asked for again for a minute", async () => {
  vi.useFakeTimers();
  const calls = new OrsCalls();
  const answer = `${"a".repeat(4095)}b  c${"d".repeat(5000)}`;
  const work = vi.fn(async () => answer);
  const first = chunks(await written(calls.reply(undefined, work)));
  const [[, id], ...parts] = first;
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(parts.map(([name, data]) => [name, data.length, /^\s/.test(data)])).toEqual([
    ["chunk", 4098, false],
    ["chunk", 4096, false],
    ["end", 905, false],
  ]);
  expect(parts.map(([, data]) => data).join("")).toBe(answer);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(chunks(await written(calls.reply(id, work)))).toEqual(first);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(await written(calls.reply(id, work))).toBe(eventText("error", "unknown task_id"));
});

test("a call that takes long keeps its connection open, and one that fails says why", async () => {
  vi.useFakeTimers();
  let text = "";
  const slow = new OrsCalls().reply(undefined, () => new Promise((resolve) => setTimeout(() => resolve("done"), 25_000)));
  const ended = "events" in slow && slow.events((part) => void (text += part));
  await vi.advanceTimersByTimeAsync(25_000);
  await ended;
  expect(text.match(/: ping\r\n\r\n/g)).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(text.match(/: ping\r\n\r\n/g)).toHaveLength(2);
  expect(await written(new OrsCalls().reply(undefined, () => Promise.reject(new Error("boom"))))).toContain(
    eventText("error", "boom"),
  );
});

test("a session that is silent for too long is ended once, those that are heard stay until the close", async () => {
  vi.useFakeTimers();
  const ended: string[] = [];
  const sessions = new Sessions<{ heardAt: number }>(1000, (id) => void ended.push(id));
  const heard = { heardAt: performance.now() };
  sessions.set("silent", { heardAt: performance.now() });
  sessions.set("heard", heard);
  await vi.advanceTimersByTimeAsync(750);
  heard.heardAt = performance.now();
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(750);
  expect(ended).toEqual(["silent"]);
  await sessions.remove("silent");
  await sessions.close();
  expect([ended, sessions.size]).toEqual([["silent", "heard"], 0]);
});

const outcome = { text: "seen", reward: undefined, done: false };

test("an outcome is an observation: its result, or why it did not reach the tool", () => {
  const result = {
    content: [{ type: "text", text: "seen", annotations: null, _meta: null }],
    ...{ structured_content: { result: "seen" }, meta: null, data: "seen", is_error: false },
  };
  const data = (change: object) => (callObservation("t", { ...outcome, ...change }) as { data: object }).data;
  expect(data({ reward: 0.5, done: true, scores: { a: 1 } })).toEqual({
    ...{ observation: { metadata: { a: 1 }, tool_name: "t", result, error: null }, reward: 0.5, done: true },
  });
  expect(data({ error: "error" })).toMatchObject({ observation: { result: { is_error: true }, error: null }, reward: null });
  for (const [error, type] of [
    ["unknown-tool", "tool_not_found"],
    ["invalid", "invalid_args"],
    ["timeout", "timeout"],
  ])
    expect(data({ error })).toMatchObject({ observation: { result: null, error: { error_type: type, message: "seen" } } });
  expect(observation({ a: 1 })).toEqual({
    type: "observation",
    data: { observation: { metadata: {}, a: 1 }, reward: null, done: false },
  });
  expect(failure("C", "m", { x: 1 })).toEqual({ type: "error", data: { message: "m", code: "C", x: 1 } });
});

test("requests of MCP are read, and answered by the codes of JSON-RPC", () => {
  expect(readRpc({ jsonrpc: "2.0", method: "m" })).toEqual({ rpc: { jsonrpc: "2.0", method: "m", params: {}, id: null } });
  for (const wrong of [{ jsonrpc: "1.0", method: "m" }, { jsonrpc: "2.0" }, { jsonrpc: "2.0", method: "m", batch: 1 }, 5])
    expect(readRpc(wrong)).toMatchObject({ refusal: { jsonrpc: "2.0", id: null, error: { code: -32_600, data: null } } });
  expect(rpcResult({ id: 7 }, { a: 1 })).toEqual({ jsonrpc: "2.0", id: 7, result: { a: 1 } });
  const codes = {
    parse: -32_700,
    request: -32_600,
    method: -32_601,
    params: -32_602,
    internal: -32_603,
    server: -32_000,
  } as const;
  for (const [name, code] of Object.entries(codes))
    expect(rpcError({ id: "x" }, name as keyof typeof codes, "m")).toEqual({
      ...{ jsonrpc: "2.0", id: "x", error: { code, message: "m", data: null } },
    });
});

test("the server describes its routes, its action and its observations", () => {
  const ok = { responses: { 200: { description: "Successful Response" } } };
  const get = ["health", "metadata", "schema", "state", "list_environments", "world/splits"];
  const post = ["reset", "step", "mcp", "world/tasks", "world/num_tasks", "world/task", "world/task_range"];
  expect(openapi("world")).toEqual({
    ...{ openapi: "3.1.0", info: { title: "world", version: "1.0.0" } },
    paths: Object.fromEntries([
      ...get.map((path) => [`/${path}`, { get: ok }]),
      ...post.map((path) => [`/${path}`, { post: ok }]),
    ]),
  });
  const metadata = { type: "object", additionalProperties: true, default: {} };
  const [text, flag] = [{ type: "string" }, { type: "boolean" }];
  expect(schemas).toEqual({
    action: {
      ...{
        title: "CallToolAction",
        description: "Calls a tool of the environment.",
        type: "object",
        additionalProperties: false,
      },
      properties: {
        ...{ metadata, type: { type: "string", const: "call_tool", default: "call_tool" }, tool_name: text },
        arguments: { type: "object", additionalProperties: true },
      },
      required: ["tool_name"],
    },
    observation: {
      ...{ title: "CallToolObservation", type: "object" },
      properties: { done: flag, reward: {}, metadata, tool_name: text, result: {}, error: {} },
      required: ["tool_name"],
    },
    reset_observation: {
      ...{ title: "TaskObservation", type: "object" },
      properties: { done: flag, reward: {}, metadata, prompt: text },
      required: ["prompt"],
    },
    state: { title: "State", type: "object", properties: { episode_id: text, step_count: { type: "integer" } } },
  });
});
