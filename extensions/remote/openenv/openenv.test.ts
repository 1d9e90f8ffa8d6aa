import "../../../test/loopback.ts";
import { inspect } from "node:util";
import "../../install.ts";
import { afterEach, expect, test } from "vitest";
import { ConfigError } from "../../../src/core/errors.ts";
import type { CallAnswer, Episode } from "../../../src/environments/environment.ts";
import { createEnvironment } from "../../../src/environments/registry.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { type FakeServer, fakeServer } from "./fake-server.fixture.ts";
import { openenvEnvironment } from "./openenv.ts";

const countSchema = {
  action: {
    title: "CountAction",
    description: "Moves the counter.",
    type: "object",
    properties: { by: { type: "integer" }, metadata: { type: "object" } },
    required: ["by"],
  },
};
const toolSchema = { action: { properties: { tool_name: { type: "string" }, arguments: { type: "object" } } } };
const textSchema = { action: { properties: { answer: { type: "string" } }, required: ["answer"] } };

const seen = (observation: object, more: object = {}) => ({
  type: "observation",
  data: { observation, reward: null, done: false, ...more },
});
const signal = new AbortController().signal;

let server: FakeServer | undefined;
afterEach(() => server?.close());

interface Played extends Required<Omit<Episode, "call">> {
  call(...call: Parameters<NonNullable<Episode["call"]>>): Promise<CallAnswer | undefined>;
}

async function start(settings: object = {}, index = 0): Promise<Played> {
  const environment = openenvEnvironment("openenv:test", server?.url ?? "", settings);
  return (await environment.start(await environment.task("train", index), 0)) as Played;
}

const problem = async (work: Promise<unknown>) => {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RemoteEnvError);
  return (error as RemoteEnvError).problem;
};

test("a typed action is one tool; its rewards add up, numbers stay as the model wrote them, and the end is the server's", async () => {
  let count = 0;
  server = await fakeServer(
    ({ type, data }) => {
      if (type === "reset") return seen({ count: 0, metadata: { id: Math.random() }, note: null });
      count += (data as { by: number }).by;
      return seen({ count }, { reward: count === 3 ? 10 : -1, done: count === 3 });
    },
    { routes: { "/schema": countSchema } },
  );
  const episode = await start({ system: "Count to 3." }, 7);
  expect(episode.messages).toEqual([
    { role: "system", content: "Count to 3." },
    { role: "user", content: '{"count":0}' },
  ]);
  expect(episode.tools).toMatchObject([
    {
      name: "step",
      description: "Moves the counter.",
      parameters: { type: "object", properties: { by: { type: "integer" } }, required: ["by"] },
    },
  ]);
  expect(JSON.stringify(episode.tools[0].parameters)).not.toContain("metadata");
  const first = await episode.call({ name: "step", arguments: { by: 1 }, argumentsText: '{"by": 1.0}' }, { signal });
  expect(first).toEqual({ content: '{"count":1}', done: false });
  expect(await episode.call({ name: "step", arguments: { by: 2 } }, { signal })).toEqual({ content: '{"count":3}', done: true });
  expect(await episode.call({ name: "other", arguments: {} }, { signal })).toBeUndefined();
  expect(episode.score([])).toEqual({ reward: 9 });
  expect(server.sent.slice(1)).toEqual(['{"type":"step","data":{"by": 1.0}}', '{"type":"step","data":{"by":2}}']);
  episode.close();
});

test("tools are listed and called; a tool's error, a wrong call and the server's own fault are distinguished", async () => {
  const answers: Record<string, object> = {
    good: seen(
      { tool_name: "good", result: { content: [{ type: "text", text: "fine" }], is_error: false }, error: null },
      { reward: 0.5 },
    ),
    bad: seen({ tool_name: "bad", result: { content: [{ type: "text", text: "boom" }], is_error: true } }),
    wrong: seen({ tool_name: "wrong", result: null, error: { error_type: "invalid_args", message: "a is missing" } }),
    prefixed: seen({ tool_name: "prefixed", error: { error_type: "invalid_args", message: "Error: b is missing" } }),
    slow: seen({ tool_name: "slow", error: { error_type: "timeout", message: "30 s" } }),
    value: seen({ tool_name: "value", result: { n: 1 }, question: "What next?" }),
    raises: { type: "error", data: { code: "EXECUTION_ERROR", message: "division by zero" } },
  };
  server = await fakeServer(
    ({ type, data }) => {
      const action = data as { type?: string; tool_name?: string };
      if (type === "reset") return seen({});
      if (action.type === "list_tools")
        return seen({
          tools: Object.keys(answers).map((name) => ({
            name,
            input_schema: name === "bad" ? { properties: { a: {} }, required: ["a"] } : {},
          })),
        });
      return answers[action.tool_name ?? ""];
    },
    { routes: { "/schema": toolSchema } },
  );
  const episode = await start();
  const call = (name: string): Promise<CallAnswer | undefined> => episode.call({ name, arguments: {} }, { signal });
  expect(episode.messages).toEqual([{ role: "user", content: "Begin." }]);
  expect(episode.tools.slice(0, 2)).toMatchObject([
    { name: "good", description: "", parameters: { type: "object", properties: {} } },
    { name: "bad", description: "", parameters: { type: "object", properties: { a: {} }, required: ["a"] } },
  ]);
  expect(await call("good")).toEqual({ content: "fine", done: false });
  expect(await call("bad")).toEqual({ content: "boom", failure: "error", done: false });
  expect(await call("wrong")).toEqual({ content: "Error: a is missing", valid: false, failure: "invalid", done: false });
  expect(await call("prefixed")).toMatchObject({ content: "Error: b is missing" });
  expect(await call("slow")).toMatchObject({ failure: "timeout" });
  expect(await call("value")).toMatchObject({ content: '{"n":1}\nWhat next?' });
  expect(await problem(call("raises"))).toBe("refused");
  expect(await call("good")).toMatchObject({ content: "fine" });
  expect(episode.score([])).toEqual({ reward: 1 });
  expect(await episode.reply({ role: "assistant", content: "" })).toEqual({ done: true });
  episode.close();
  const told = await start({ executionErrors: "tell", rewards: "turns" });
  expect(await told.call({ name: "raises", arguments: {} }, { signal })).toMatchObject({
    content: "Error: EXECUTION_ERROR: division by zero",
    valid: false,
  });
  expect(await told.call({ name: "good", arguments: {} }, { signal })).toMatchObject({ reward: 0.5 });
  expect(told.score([])).toEqual({ reward: 0 });
  told.close();
});

test("a text action gets the model's message; a field that is not there is a wrong setting", async () => {
  server = await fakeServer(
    ({ type, data }) => {
      if (type === "reset") return seen({ question: "2 + 2?", score: null });
      const right = (data as { answer: string }).answer === "4";
      return seen({ correct_answer: "4" }, { reward: right, done: right });
    },
    { routes: { "/schema": textSchema } },
  );
  const episode = await start({ actions: "text" });
  expect(episode.messages).toEqual([{ role: "user", content: "2 + 2?" }]);
  expect(episode.tools).toEqual([]);
  expect(await episode.reply({ role: "assistant", content: "5" })).toEqual({
    done: false,
    messages: [{ role: "user", content: "4" }],
  });
  expect(await episode.reply({ role: "assistant", content: "4" })).toEqual({ done: true });
  expect(episode.score([])).toEqual({ reward: 1 });
  episode.close();
  await expect(start({ actions: "text", textField: "reply" })).rejects.toThrow(ConfigError);
});

test("every index has a seed of its own, and a group that does not begin alike is refused", async () => {
  server = await fakeServer(({ data }) => seen({ start: (data as { level?: number }).level === 2 ? Math.random() : data }), {
    routes: { "/schema": countSchema },
  });
  const environment = openenvEnvironment("openenv:test", server.url, {});
  const tasks = await Promise.all([...Array(50).keys()].map((i) => environment.task("train", i)));
  const seedOf = (task: (typeof tasks)[number]) => (task as unknown as { reset: { seed: number } }).reset.seed;
  expect(new Set(tasks.map(seedOf)).size).toBe(50);
  expect(tasks.map(seedOf).every((seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31)).toBe(true);
  for (const task of [tasks[0], tasks[1], tasks[0]]) await (await environment.start(task, 0)).close?.();
  const random = openenvEnvironment("openenv:test", server.url, { reset: { level: 2 } });
  const task = await random.task("train", 0);
  await (await random.start(task, 0)).close?.();
  await expect(random.start(task, 0)).rejects.toThrow(/beginning of task train\/0 .*seems to ignore the seed/);
  const ignored = openenvEnvironment("openenv:test", server.url, { reset: { level: 2 }, sameStart: "ignore" });
  for (let i = 0; i < 2; i++) await (await ignored.start(task, 0)).close?.();
});

test("tasks that the server lists, and those of the settings", async () => {
  server = await fakeServer(({ data }) => seen({ given: data }), {
    routes: {
      "/schema": countSchema,
      "/list_environments": ["world"],
      "/world/splits": [
        { name: "train", type: "train" },
        { name: "hard", type: "validation" },
      ],
      "/world/num_tasks": { num_tasks: 4 },
    },
  });
  const listed = openenvEnvironment("openenv:test", server.url, {});
  await listed.open?.();
  expect(listed.splits).toEqual(["train", "hard"]);
  expect([await listed.size("hard"), await listed.size("test")]).toEqual([4, 0]);
  const episode = await listed.start(await listed.task("hard", 3), 0);
  expect(episode.messages.at(-1)?.content).toBe('{"given":{"split":"hard","index":3}}');
  await episode.close?.();
  server.routes["/world/task"] = { task: {}, env_name: "other" };
  const renamed = openenvEnvironment("openenv:test", server.url, {});
  await expect(renamed.open?.()).rejects.toThrow(/env_name of POST \/world\/task is "other".*world/);
  const named = openenvEnvironment("openenv:test", server.url, {
    resets: { train: [{ level: 1 }, { level: 2 }] },
    reset: { wide: true },
  });
  expect([named.splits, await named.size("train")]).toEqual([["train"], 2]);
  expect(await named.task("train", 1)).toEqual({ id: "train/1", reset: { wide: true, level: 2 } });
  const seeds = openenvEnvironment("openenv:test", server.url, { tasks: "seeds" });
  expect(await seeds.size("train")).toBe(Number.POSITIVE_INFINITY);
});

test("a server that is dead, full, silent, talkative or wrong is a named fault", async () => {
  let behaviour = "";
  server = await fakeServer(
    ({ type }, socket) => {
      if (type !== "step") return seen({ count: 1 });
      if (behaviour === "dies") socket.terminate();
      if (behaviour === "large") return seen({ count: "x".repeat(3_000_000) });
      if (behaviour === "wrong") return { type: "observation", data: { observation: [], done: "no" } };
      if (behaviour === "text") return seen({ count: 1 }, { reward: "high" });
      if (behaviour === "missing") return { type: "observation", data: { observation: {}, done: false } };
      if (behaviour === "newer") return seen({ count: 1 }, { returns: [1] });
      if (behaviour === "kind") return { type: "transition", data: { observation: {}, reward: 1, done: true } };
      if (behaviour === "nan") return '{"type":"observation","data":{"observation":{},"reward":NaN,"done":false}}';
      if (behaviour === "late") return new Promise((resolve) => setTimeout(() => resolve(seen({ count: 99 })), 150));
      return undefined;
    },
    {
      routes: { "/schema": countSchema },
      onOpen: (socket) => {
        if (behaviour !== "full") return;
        socket.send(
          JSON.stringify({
            type: "error",
            data: { code: "CAPACITY_REACHED", message: "full", active_sessions: 2, max_sessions: 2 },
          }),
        );
        socket.close();
      },
    },
  );
  const expected = {
    dies: "expired",
    large: "too-large",
    wrong: "malformed",
    nan: "malformed",
    text: "malformed",
    missing: "malformed",
    newer: "malformed",
    kind: "malformed",
    late: "timeout",
    silent: "timeout",
  };
  for (const [how, named] of Object.entries(expected)) {
    behaviour = how;
    const episode = await start({ timeoutMs: how === "late" || how === "silent" ? 50 : 5000, maxAnswer: 1 });
    const call = () => episode.call({ name: "step", arguments: { by: 1 } }, { signal });
    expect(await problem(call()), how).toBe(named);
    const field = { text: "data\\.reward", missing: "data\\.reward", newer: "returns", kind: "type" }[how];
    if (field !== undefined) await expect(call()).rejects.toThrow(new RegExp(`${field}.*0\\.10`, "s"));
    // The next answer would be that to the request before: the session is over.
    expect(await problem(call()), how).toBe(named);
    episode.close();
  }
  behaviour = "full";
  expect(await problem(start())).toBe("capacity");
  // A hint names what is not set already.
  await expect(start()).rejects.toThrow("Set environment.settings.concurrency to 2,");
  await expect(start({ concurrency: 8 })).rejects.toThrow("Set environment.settings.concurrency to 2,");
  await expect(start({ concurrency: 2 })).rejects.toThrow("concurrency is 2, which fits: other clients have the places");
  behaviour = "silent";
  const cancelled = await start();
  const stop = new AbortController();
  const call = cancelled.call({ name: "step", arguments: { by: 1 } }, { signal: stop.signal });
  stop.abort();
  expect(await problem(call)).toBe("expired");
  await server.close();
  expect(await problem(start())).toBe("unreachable");
});

test("the key is sent from the environment and not recorded; addresses are checked", async () => {
  server = await fakeServer(() => seen({}), { routes: { "/schema": countSchema } });
  process.env.OPENENV_TEST_KEY = "secret";
  (await start({ keyVariable: "OPENENV_TEST_KEY" })).close();
  expect(server.headers.every(({ authorization }) => authorization === "Bearer secret")).toBe(true);
  delete process.env.OPENENV_TEST_KEY;
  await expect(start({ keyVariable: "OPENENV_TEST_KEY" })).rejects.toThrow(/OPENENV_TEST_KEY/);
  expect(() => createEnvironment("openenv:ftp://x", {})).toThrow(/expected "?openenv:ws:\/\/HOST:PORT/);
  expect(() => createEnvironment("openenv:ws://me:hunter2@x", {})).toThrow(/keyVariable/);
  expect(() => createEnvironment("openenv:ws://me:hunter2@x", {})).not.toThrow(/hunter2/);
  expect(() => createEnvironment("openenv:ws://x", { show: "all" })).toThrow(/environment.settings.show/);
});

test("a key that the server repeats is in no error, nor in what the model reads", async () => {
  const key = "very-secret-key";
  process.env.OPENENV_TEST_KEY = key;
  const says: Record<string, unknown> = {
    garbage: `not JSON: ${key}`,
    error: { type: "error", data: { code: "EXECUTION_ERROR", message: `bad ${key}`, errors: [] } },
  };
  for (const [name, answer] of Object.entries(says)) {
    server = await fakeServer(() => answer, { routes: { "/schema": countSchema } });
    const error = await start({ keyVariable: "OPENENV_TEST_KEY" }).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect([name, error?.message]).toEqual([name, expect.stringContaining("***")]);
    expect(inspect(error, { depth: 9 })).not.toContain(key);
    await server.close();
  }
  server = await fakeServer((_, socket) => void socket.close(1008, `no ${key}`), { routes: { "/schema": countSchema } });
  const closed = await start({ keyVariable: "OPENENV_TEST_KEY" }).catch((thrown: Error) => thrown);
  expect(inspect(closed, { depth: 9 })).toContain("no ***");
  expect(inspect(closed, { depth: 9 })).not.toContain(key);
  delete process.env.OPENENV_TEST_KEY;
});

test("200 sessions are in flight at a time, each with its own answers", async () => {
  server = await fakeServer(
    ({ type, data }) => seen({ count: type === "reset" ? (data as { seed: number }).seed : (data as { by: number }).by }),
    {
      routes: { "/schema": countSchema },
    },
  );
  const episodes = await Promise.all([...Array(200).keys()].map((i) => start({}, i)));
  expect(server.open()).toBe(200);
  const answers = await Promise.all(episodes.map((episode, by) => episode.call({ name: "step", arguments: { by } }, { signal })));
  expect(answers.map((answer) => JSON.parse(answer?.content ?? "").count)).toEqual([...Array(200).keys()]);
  for (const episode of episodes) episode.close();
});

const asksFor = (paths: readonly string[], { routes = {}, settings = {} }: { routes?: object; settings?: object }) =>
  expect(
    (async () => {
      server = await fakeServer(() => seen({}), { routes: { "/schema": countSchema, ...routes } });
      const environment = openenvEnvironment("openenv:test", `${server.url}/ws`, settings);
      await environment.open?.();
      const sizes = [await environment.size("train"), await environment.size("other")];
      return { splits: environment.splits, sizes, asked: server.paths.filter((path) => paths.includes(path)) };
    })(),
  );
const seeds = { splits: ["train", "validation", "test", "challenge"], sizes: [Number.POSITIVE_INFINITY, 0] };

test("a server is asked for its schema and tasks once, and only where they decide something", async () => {
  const paths = ["/schema", "/list_environments", "/world/splits"];
  await asksFor(paths, {}).resolves.toEqual({ ...seeds, asked: ["/schema", "/list_environments"] });
  await server?.close();
  await asksFor(paths, { settings: { actions: "tools", tasks: "seeds" } }).resolves.toEqual({ ...seeds, asked: [] });
  await server?.close();
  const routes = { "/list_environments": ["world"] };
  await asksFor(paths, { routes }).resolves.toEqual({ ...seeds, asked: paths });
  await server?.close();
  await asksFor(paths, { routes, settings: { resets: { train: [{ a: 1 }], own: [{}, {}] } } }).resolves.toEqual({
    ...{ splits: ["train", "own"], sizes: [1, 0], asked: ["/schema"] },
  });
  await server?.close();
  await asksFor(paths, { routes, settings: { tasks: "listed" } }).rejects.toMatchObject({
    ...{ subject: "environment.settings.tasks", value: "listed", expected: "seeds: this server lists no tasks" },
  });
});

test.each([[undefined], [[]], ["none"], [[{ name: "", input_schema: {} }]]])(
  "tools of the form %j are refused",
  async (tools) => {
    server = await fakeServer(({ type }) => seen(type === "reset" ? {} : { tools }), { routes: { "/schema": toolSchema } });
    await expect(start()).rejects.toMatchObject({
      ...{ problem: "malformed", subject: "tools of the environment", value: tools },
      hint: 'An environment without tools acts by environment.settings.actions "schema" or "text".',
    });
    await expect.poll(() => server?.open()).toBe(0);
  },
);

test("an error of a text action is read, and where it is a fault it ends the episode", async () => {
  let code = "VALIDATION_ERROR";
  server = await fakeServer(
    ({ type }) => (type === "reset" ? seen({ q: "?" }) : { type: "error", data: { code, message: "no" } }),
    {
      routes: { "/schema": textSchema },
    },
  );
  const answer = { role: "assistant", content: "x" } as const;
  const episode = await start({ actions: "text" });
  const message = (content: string) => ({ done: false, messages: [{ role: "user", content }] });
  expect(await episode.reply(answer)).toEqual(message("Error: VALIDATION_ERROR: no"));
  code = "EXECUTION_ERROR";
  expect(await problem(Promise.resolve().then(() => episode.reply(answer)))).toBe("refused");
  episode.close();
  const tells = await start({ actions: "text", executionErrors: "tell" });
  expect(await tells.reply(answer)).toEqual(message("Error: EXECUTION_ERROR: no"));
  tells.close();
});
