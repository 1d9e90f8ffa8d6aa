import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { defineEnvironment } from "../../../src/environments/define.ts";
import { createEnvironment } from "../../../src/environments/registry.ts";
import { defineTool } from "../../../src/tools/tool.ts";
import { closed, counting } from "../../../test/environments/counting.ts";
import { slowdown } from "../../../test/slowdown.ts";
import { messageTool } from "./hosted.ts";
import { serveEnvironment } from "./serve-environment.ts";
import "../../../test/loopback.ts";
import { both, call, keep, problem, serve, server, start } from "./environments.fixture.ts";

test.each(both)("an episode over %s: prompt, tools, errors, rewards and end come through", async (wire) => {
  const name = await serve(wire);
  const environment = createEnvironment(name, {});
  await environment.open?.();
  expect(environment.splits).toEqual(["train", "hard"]);
  expect([await environment.size("train"), await environment.size("hard"), await environment.size("test")]).toEqual([3, 1, 0]);
  const episode = await start(name, {}, "train", 1);
  const prompt = episode.messages.map(({ content }) => content).join("\n\n");
  expect(prompt.replace(/\n+/g, " ")).toBe("Count. Count to 3.");
  expect(episode.tools.map((tool) => tool.name)).toEqual(["add", messageTool]);
  expect(episode.tools[0]).toMatchObject({
    description: "Adds to the counter.",
    parameters: { type: "object", properties: { by: { type: "number" } }, required: ["by"] },
  });
  expect(await call(episode, "add", { by: 3 })).toMatchObject({ content: "The counter is 3.", done: false });
  expect((await call(episode, "add", { by: "x" }))?.content).toMatch(/wrong arguments for add/);
  expect((await call(episode, "add", { by: -1 }))?.content).toMatch(/Error: only up/);
  expect(await call(episode, messageTool, { content: "more" })).toMatchObject({ content: "Go on.", done: false });
  expect(await call(episode, messageTool, { content: "3" })).toMatchObject({ done: true });
  expect((await episode.score([])).reward).toBeCloseTo(1 - 0.3, 9);
  await episode.close?.();
  await expect.poll(() => closed).toEqual(["3"]);
  expect(server?.sessions()).toBe(0);
});

test.each(both)("a long answer with runs of spaces comes through %s byte for byte", async (wire) => {
  const episode = await start(await serve(wire), { maxOutput: 100_000 });
  const answer = await call(episode, "add", { by: 7 });
  expect(answer?.content.trim()).toBe("wide  \n".repeat(2500).trim());
  await episode.close?.();
});

test.each(both)("%s refuses sessions beyond the limit", async (wire) => {
  const name = await serve(wire, { sessions: 1 });
  const first = await start(name);
  expect(await problem(start(name))).toBe("capacity");
  await first.close?.();
  await expect.poll(() => server?.sessions(), { timeout: 60_000 }).toBe(0);
  await (await start(name)).close?.();
});

test.each(both)("%s closes sessions that are silent, and their place is free again", async (wire) => {
  const name = await serve(wire, { sessions: 1, sessionMs: 300 });
  const silent = await start(name);
  await expect.poll(() => server?.sessions(), { timeout: 60_000 }).toBe(0);
  expect(closed).toEqual(["2"]);
  expect(await problem(call(silent, "add", { by: 1 }))).toBe("expired");
  await silent.close?.();
  await (await start(name)).close?.();
});

test.each(both)(
  "a request that is too large, a task that is not there, a wrong key and a dead server are refused by %s",
  async (wire) => {
    const name = await serve(wire, { keys: ["right"], maxBytes: 2000 });
    expect(await problem(start(name))).toBe("refused");
    process.env.WIRES_TEST_KEY = "right";
    const settings = { keyVariable: "WIRES_TEST_KEY" };
    const episode = await start(name, settings);
    await problem(call(episode, "add", { by: 1, note: "x".repeat(5000) }));
    await episode.close?.();
    expect(await problem(start(name, settings, "train", 99))).toBe("refused");
    await server?.close();
    expect(await problem(start(name, settings))).toBe("unreachable");
    delete process.env.WIRES_TEST_KEY;
    await expect(serve(wire, { host: "0.0.0.0" })).rejects.toThrow(/keys of the server/);
  },
);

test.each(both)("200 sessions over %s are in flight at a time", async (wire) => {
  const environment = createEnvironment(await serve(wire), {});
  await environment.open?.();
  const episodes = await Promise.all(
    [...Array(200).keys()].map(async (i) => environment.start(await environment.task("train", i % 3), 0)),
  );
  expect(server?.sessions()).toBe(200);
  const answers = await Promise.all(episodes.map((episode, by) => call(episode, "add", { by: by + 10 })));
  expect(answers.map((answer) => answer?.content)).toEqual(episodes.map((_, by) => `The counter is ${by + 10}.`));
  await Promise.all(episodes.map((episode) => episode.close?.()));
  await expect.poll(() => server?.sessions()).toBe(0);
});

test("the WebSocket's messages are those of OpenEnv's own server, field by field", async () => {
  await serve("openenv");
  const socket = new WebSocket(`${server?.baseUrl.replace("http", "ws")}/ws`);
  await new Promise((resolve) => socket.once("open", resolve));
  const ask = (text: string) =>
    new Promise<unknown>((resolve) => {
      socket.once("message", (data) => resolve(JSON.parse(String(data))));
      socket.send(text);
    });
  expect(await ask("{oops")).toMatchObject({
    type: "error",
    data: { code: "INVALID_JSON", message: expect.stringContaining("Invalid JSON") },
  });
  expect(await ask('{"type":"jump"}')).toEqual({
    type: "error",
    data: { message: "Unknown message type: jump", code: "UNKNOWN_TYPE" },
  });
  expect(await ask('{"type":"step","data":{"type":"fly"}}')).toMatchObject({
    data: { code: "VALIDATION_ERROR", message: "Invalid message", errors: [{ loc: ["type"] }] },
  });
  expect(await ask('{"type":"reset","data":{"seed":4,"episode_id":"mine"}}')).toEqual({
    type: "observation",
    data: {
      observation: {
        metadata: {
          task: "train/1",
          messages: [
            { role: "system", content: "Count." },
            { role: "user", content: "Count to 3." },
          ],
        },
        prompt: "Count.\n\nCount to 3.",
      },
      reward: null,
      done: false,
    },
  });
  expect(await ask('{"type":"state"}')).toEqual({ type: "state", data: { episode_id: "mine", step_count: 0 } });
  expect(await ask('{"type":"step","data":{"type":"call_tool","tool_name":"add","arguments":{"by":2}}}')).toEqual({
    type: "observation",
    data: {
      observation: {
        metadata: {},
        tool_name: "add",
        result: {
          content: [{ type: "text", text: "The counter is 2.", annotations: null, _meta: null }],
          structured_content: { result: "The counter is 2." },
          meta: null,
          data: "The counter is 2.",
          is_error: false,
        },
        error: null,
      },
      reward: -0.1,
      done: false,
    },
  });
  expect(await ask('{"type":"step","data":{"type":"call_tool","tool_name":"fly","arguments":{}}}')).toMatchObject({
    data: { observation: { result: null, error: { error_type: "tool_not_found" } }, reward: null },
  });
  expect(await ask('{"type":"mcp","data":{"jsonrpc":"2.0","id":7,"method":"tools/list"}}')).toMatchObject({
    type: "mcp",
    data: { jsonrpc: "2.0", id: 7, result: { tools: [{ name: "add", inputSchema: { type: "object" } }, { name: messageTool }] } },
  });
  expect(await ask('{"type":"reset","data":{"index":50}}')).toMatchObject({ data: { code: "EXECUTION_ERROR" } });
  const gone = new Promise((resolve) => socket.once("close", resolve));
  socket.send('{"type":"close"}');
  await gone;
  const health = await fetch(`${server?.baseUrl}/health`);
  expect(await health.json()).toEqual({ status: "healthy" });
});

test("a split without an end lists a finite number of tasks, which are those that are counted", async () => {
  const endless = defineEnvironment({
    name: "endless",
    tasks: (random) => ({ prompt: String(random.integer(10)) }),
    start: () => ({ tools: [], reward: () => 1 }),
  });
  keep(await serveEnvironment({ environment: endless, as: "ors", port: 0 }));
  const post = async (path: string, body: object) => {
    const response = await fetch(`${server?.baseUrl}/endless/${path}`, { method: "POST", body: JSON.stringify(body) });
    return (await response.json()) as { readonly num_tasks: number; readonly tasks: readonly unknown[]; readonly task: object };
  };
  const { num_tasks: counted } = await post("num_tasks", { split: "train" });
  expect(counted).toBe(10_000);
  expect((await post("tasks", { split: "train" })).tasks).toHaveLength(counted);
  expect((await post("task_range", { split: "train", start: -2 })).tasks).toEqual([
    { id: "train/9998", split: "train", index: 9998 },
    { id: "train/9999", split: "train", index: 9999 },
  ]);
  expect((await post("task", { split: "train", index: 123_456 })).task).toMatchObject({ index: 123_456 });
});

test("ORS's documents are those of its own server, and an answer can be asked for again", async () => {
  await serve("ors");
  const base = server?.baseUrl ?? "";
  const post = (path: string, body: object, id = "s1") =>
    fetch(`${base}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "x-session-id": id },
    });
  expect(await (await post("/create_session", {})).text()).toMatch(
    /^event: task_id\r\ndata: [0-9a-f-]{36}\r\n\r\nevent: end\r\ndata: \r\n\r\n$/,
  );
  expect(await (await fetch(`${base}/list_environments`)).json()).toEqual(["counting"]);
  expect(await (await fetch(`${base}/counting/splits`)).json()).toEqual([
    { name: "train", type: "train" },
    { name: "hard", type: "validation" },
  ]);
  expect(await (await post("/counting/task_range", { split: "train", start: -2 })).json()).toEqual({
    tasks: [
      { id: "train/1", split: "train", index: 1 },
      { id: "train/2", split: "train", index: 2 },
    ],
    env_name: "counting",
  });
  expect(await (await post("/counting/task", { split: "hard", index: 0 })).json()).toEqual({
    ...{ task: { id: "hard/0", split: "hard", index: 0 }, env_name: "counting" },
  });
  expect((await post("/counting/tasks", { split: "none" })).status).toBe(400);
  expect((await post("/create", { split: "train", index: 0, task_spec: undefined })).status).toBe(200);
  expect((await post("/create", { split: "train", index: 0 })).status).toBe(400);
  expect((await post("/create", {}, "s2")).status).toBe(422);
  const toolset = await post("/create", { split: "train", index: 0, toolset_name: "web" }, "s2");
  expect([toolset.status, await toolset.text()]).toEqual([400, expect.stringMatching(/toolset_name.*web/)]);
  const group = await post("/counting/score_group", { candidates: [] });
  expect([group.status, await group.text()]).toEqual([404, expect.stringMatching(/score_group/)]);
  expect((await post("/ping", {}, "s3")).status).toBe(404);
  const prompt = await fetch(`${base}/counting/prompt`, { headers: { "x-session-id": "s1" } });
  expect(await prompt.json()).toEqual([
    { type: "text", text: "Count.", detail: null },
    { type: "text", text: "Count to 2.", detail: null },
  ]);
  const first = await (await post("/counting/call", { name: "add", input: { by: 2 } })).text();
  const expected = {
    ok: true,
    output: {
      blocks: [{ type: "text", text: "The counter is 2.", detail: null }],
      metadata: null,
      reward: -0.1,
      finished: false,
    },
  };
  expect(first).toMatch(/^event: task_id\r\ndata: ([0-9a-f]{32})\r\n\r\nevent: end\r\n/);
  expect(JSON.parse(first.split("data: ")[2])).toEqual(expected);
  const id = /data: ([0-9a-f]{32})/.exec(first)?.[1];
  const again = await (await post("/counting/call", { name: "add", input: { by: 2 }, task_id: id })).text();
  expect(JSON.parse(again.split("data: ")[2])).toEqual(expected);
  expect(await (await post("/counting/call", { name: "add", input: {}, task_id: "f".repeat(32) })).text()).toMatch(
    /^event: error\r\ndata: unknown task_id/,
  );
  expect(JSON.parse((await (await post("/counting/call", { name: "fly", input: {} })).text()).split("data: ")[2])).toMatchObject({
    ...{ ok: false, reason: "not_found" },
  });
  await post("/counting/call", { name: messageTool, input: { content: "2" } });
  expect(await (await post("/counting/call", { name: "add", input: { by: 2 } })).text()).toMatch(/"reason":"episode_finished"/);
  expect((await post("/delete", {})).status).toBe(200);
  expect(closed).toEqual(["2"]);
});

test.each(both)("over %s no tool of the environment's is hidden by the server's own", async (as) => {
  const heard: string[] = [];
  const environment = defineEnvironment({
    name: "mail",
    tasks: { train: [{ prompt: "Write." }] },
    start: () => ({
      tools: [messageTool, "send_message"].map((name) =>
        defineTool({
          ...{ name, description: "Writes a letter.", parameters: z.object({ to: z.string() }) },
          execute: ({ to }) => `${heard.push(`${name} ${to}`)}`,
        }),
      ),
      reply: ({ content }) => void heard.push(content),
      reward: () => 1,
    }),
  });
  const episode = await start(await serve(as, { environment }));
  expect(episode.tools.map(({ name }) => name)).toEqual([messageTool, "send_message", `${messageTool}_2`]);
  await call(episode, messageTool, { to: "Ana" });
  await call(episode, "send_message", { to: "Bo" });
  expect(await call(episode, `${messageTool}_2`, { content: "Done." })).toMatchObject({ done: true });
  expect(heard).toEqual([`${messageTool} Ana`, "send_message Bo", "Done."]);
  await episode.close?.();
});

test.each(both)("from code an environment is opened before it is served over %s, and closed after", async (as) => {
  const order: string[] = [];
  const environment = {
    ...counting(),
    concurrency: 1,
    open: () => void order.push("open"),
    close: () => void order.push("close"),
  };
  const running = await serveEnvironment({ environment, as, port: 0 });
  keep(running);
  const first = await start(`${as}:${running.baseUrl}`);
  expect(await call(first, "add", { by: 2 })).toMatchObject({ content: "The counter is 2." });
  // No more sessions than the environment has episodes at a time.
  expect(await problem(start(`${as}:${running.baseUrl}`))).toBe("capacity");
  await running.close();
  expect(order).toEqual(["open", "close"]);
  await expect(serveEnvironment({ environment, as: "grpc" as never, port: 0 })).rejects.toThrow(
    /as is "grpc"; expected "openenv" or "ors"/,
  );
  await expect(serveEnvironment({ environment, as, host: "0.0.0.0", port: 0 })).rejects.toThrow(/keys of the server/);
  expect(order).toEqual(["open", "close", "open", "close"]);
});

test.each(both)("over %s the end waits for no call, start or close that hangs", async (as) => {
  const hang = () => new Promise<never>(() => {});
  const execute = vi.fn(hang);
  const wait = defineTool({ name: "wait", description: "Waits.", parameters: z.object({}), execute, timeoutMs: 600_000 });
  const environment = defineEnvironment({
    name: "hanging",
    tasks: { train: [{ prompt: "Wait." }, { prompt: "hang" }] },
    start: ({ prompt }) => (prompt === "hang" ? hang() : { tools: [wait], close: hang }),
  });
  const running = keep(await serveEnvironment({ environment, as, port: 0 }));
  const name = `${as}:${running.baseUrl}`;
  const calls = [call(await start(name), "wait", {}), start(name, {}, "train", 1)].map((each) =>
    Promise.resolve(each).catch(() => {}),
  );
  await expect.poll(() => execute.mock.calls.length).toBe(1);
  await expect.poll(() => server?.sessions()).toBe(2);
  const started = performance.now();
  await running.close();
  keep(undefined);
  expect(performance.now() - started).toBeLessThan(8000 * slowdown());
  await Promise.all(calls);
});

test("a WebSocket that floods is read no faster than it is answered", async () => {
  const never = { ...counting(), start: () => new Promise<never>(() => {}) };
  await serve("openenv", { environment: never, episodeTimeoutMs: 400 });
  const socket = new WebSocket(`${server?.baseUrl.replace("http", "ws")}/ws`);
  await new Promise((resolve) => socket.once("open", resolve));
  const message = `${JSON.stringify({ type: "reset" })}${" ".repeat(64_000)}`;
  for (let i = 0; i < 1000; i++) socket.send(message);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(socket.bufferedAmount).toBeGreaterThan(40_000_000); // of 64 MB
  socket.terminate();
});
