import { slowdown } from "../../../test/slowdown.ts";
import "../../../research/install.ts";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { defineEnvironment } from "../../../src/environments/define.ts";
import type { CallAnswer, Episode } from "../../../src/environments/environment.ts";
import { createEnvironment } from "../../../src/environments/registry.ts";
import { defineTool } from "../../../src/tools/tool.ts";
import { closed, counting } from "../../../test/environments/counting.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { messageTool } from "./hosted.ts";
import { serveOpenenv } from "./openenv.ts";
import { serveEnvironment } from "./serve-environment.ts";
import type { EnvironmentServerOptions, RunningEnvironmentServer } from "./settings.ts";

let server: RunningEnvironmentServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  closed.length = 0;
});

async function serve(change: Partial<EnvironmentServerOptions> = {}): Promise<string> {
  server = await serveOpenenv({
    ...{ environment: counting(), host: "127.0.0.1", port: 0, keys: [], sessions: 256, sessionMs: 60_000, maxBytes: 2 ** 20 },
    ...{ seed: 3, episodeTimeoutMs: 5000, maxTurns: 20 },
    ...change,
  });
  return `openenv:${server.baseUrl}`;
}

async function start(name: string, settings: object = {}, split = "train", index = 0): Promise<Episode> {
  const environment = createEnvironment(name, settings);
  await environment.open?.();
  return environment.start(await environment.task(split, index), 0);
}

const { signal } = new AbortController();
const call = (episode: Episode, name: string, args: object) =>
  episode.call?.({ name, arguments: args as Record<string, unknown> }, { signal }) as Promise<CallAnswer | undefined>;

const problem = async (work: unknown) => {
  const error = await Promise.resolve(work).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RemoteEnvError);
  return (error as RemoteEnvError).problem;
};

test("an episode over OpenEnv: prompt, tools, errors, rewards and end come through", async () => {
  const name = await serve();
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

test("a long answer with runs of spaces comes through OpenEnv byte for byte", async () => {
  const episode = await start(await serve(), { maxOutput: 100_000 });
  const answer = await call(episode, "add", { by: 7 });
  expect(answer?.content.trim()).toBe("wide  \n".repeat(2500).trim());
  await episode.close?.();
});

test("OpenEnv refuses sessions beyond the limit", async () => {
  const name = await serve({ sessions: 1 });
  const first = await start(name);
  expect(await problem(start(name))).toBe("capacity");
  await first.close?.();
  await expect.poll(() => server?.sessions(), { timeout: 60_000 }).toBe(0);
  await (await start(name)).close?.();
});

test("OpenEnv closes sessions that are silent, and their place is free again", async () => {
  const name = await serve({ sessions: 1, sessionMs: 300 });
  const silent = await start(name);
  await expect.poll(() => server?.sessions(), { timeout: 60_000 }).toBe(0);
  expect(closed).toEqual(["2"]);
  expect(await problem(call(silent, "add", { by: 1 }))).toBe("expired");
  await silent.close?.();
  await (await start(name)).close?.();
});

test("a request that is too large, a task that is not there, a wrong key and a dead server are refused by OpenEnv", async () => {
  const name = await serve({ keys: ["right"], maxBytes: 2000 });
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
  await expect(serve({ host: "0.0.0.0" })).rejects.toThrow(/keys of the server/);
});

test("200 sessions over OpenEnv are in flight at a time", async () => {
  const environment = createEnvironment(await serve(), {});
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
  await serve();
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
  server = await serveEnvironment({ environment: endless, port: 0 });
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

test("over OpenEnv no tool of the environment's is hidden by the server's own", async () => {
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
  const episode = await start(await serve({ environment }));
  expect(episode.tools.map(({ name }) => name)).toEqual([messageTool, "send_message", `${messageTool}_2`]);
  await call(episode, messageTool, { to: "Ana" });
  await call(episode, "send_message", { to: "Bo" });
  expect(await call(episode, `${messageTool}_2`, { content: "Done." })).toMatchObject({ done: true });
  expect(heard).toEqual([`${messageTool} Ana`, "send_message Bo", "Done."]);
  await episode.close?.();
});

test("an environment with a protocol in plain text is played by messages", async () => {
  const knowledge = createEnvironment("knowledge", {});
  const name = await serve({ environment: knowledge });
  const episode = await start(name, {}, "train", 0);
  expect(episode.tools.map((tool) => tool.name)).toEqual([messageTool]);
  const searched = await call(episode, messageTool, { content: "<think>x</think><search>something</search>" });
  expect(searched?.content).toMatch(/<result>/);
  expect(await call(episode, messageTool, { content: "<think>x</think><answer>\\boxed{no}</answer>" })).toMatchObject({
    done: true,
  });
  expect((await episode.score([])).reward).toBe(0);
  await episode.close?.();
});

test("from code an environment is opened before it is served over OpenEnv, and closed after", async () => {
  const order: string[] = [];
  const environment = {
    ...counting(),
    concurrency: 1,
    open: () => void order.push("open"),
    close: () => void order.push("close"),
  };
  const running = await serveEnvironment({ environment, port: 0 });
  server = running;
  const first = await start(`openenv:${running.baseUrl}`);
  expect(await call(first, "add", { by: 2 })).toMatchObject({ content: "The counter is 2." });
  // No more sessions than the environment has episodes at a time.
  expect(await problem(start(`openenv:${running.baseUrl}`))).toBe("capacity");
  await running.close();
  expect(order).toEqual(["open", "close"]);
  await expect(serveEnvironment({ environment, host: "0.0.0.0", port: 0 })).rejects.toThrow(/keys of the server/);
  expect(order).toEqual(["open", "close", "open", "close"]);
});

test("over OpenEnv the end waits for no call, start or close that hangs", async () => {
  const hang = () => new Promise<never>(() => {});
  const execute = vi.fn(hang);
  const wait = defineTool({ name: "wait", description: "Waits.", parameters: z.object({}), execute, timeoutMs: 600_000 });
  const environment = defineEnvironment({
    name: "hanging",
    tasks: { train: [{ prompt: "Wait." }, { prompt: "hang" }] },
    start: ({ prompt }) => (prompt === "hang" ? hang() : { tools: [wait], close: hang }),
  });
  server = await serveEnvironment({ environment, port: 0 });
  const name = `openenv:${server.baseUrl}`;
  const calls = [call(await start(name), "wait", {}), start(name, {}, "train", 1)].map((each) =>
    Promise.resolve(each).catch(() => {}),
  );
  await expect.poll(() => execute.mock.calls.length).toBe(1);
  await expect.poll(() => server?.sessions()).toBe(2);
  const started = performance.now();
  await server.close();
  server = undefined;
  expect(performance.now() - started).toBeLessThan(8000 * slowdown());
  await Promise.all(calls);
});

test("a WebSocket that floods is read no faster than it is answered", async () => {
  const never = { ...counting(), start: () => new Promise<never>(() => {}) };
  await serve({ environment: never, episodeTimeoutMs: 400 });
  const socket = new WebSocket(`${server?.baseUrl.replace("http", "ws")}/ws`);
  await new Promise((resolve) => socket.once("open", resolve));
  const message = `${JSON.stringify({ type: "reset" })}${" ".repeat(64_000)}`;
  for (let i = 0; i < 1000; i++) socket.send(message);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(socket.bufferedAmount).toBeGreaterThan(40_000_000); // of 64 MB
  socket.terminate();
});
