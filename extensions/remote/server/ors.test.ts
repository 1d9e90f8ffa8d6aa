import { expect, test } from "vitest";
import { closed, counting } from "../../../test/environments/counting.ts";
import "../../../test/loopback.ts";
import { serve, server } from "./environments.fixture.ts";

async function ask(route: string, body?: object, id: string | undefined = "s1") {
  const [method = "", path = ""] = route.split(" ");
  const response = await fetch(`${server?.baseUrl}/${path}`, {
    method,
    headers: id === "" ? {} : { "x-session-id": id },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, json: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : undefined };
}
const jsonOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).json;
const create = (more: object = { split: "train", index: 0 }, id = "s1") => ask("POST create", more, id);
/** The document at the end of a call's events. */
const called = async (name: string, input: object, id = "s1") => {
  const { text } = await ask("POST counting/call", { name, input }, id);
  return JSON.parse(/event: end\r\ndata: (.*)\r\n/.exec(text)?.[1] ?? "null");
};

const add = {
  ...{ name: "add", description: "Adds to the counter." },
  input_schema: {
    ...{ $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
    ...{ properties: { by: { type: "number" } }, required: ["by"] },
  },
};
const tools = {
  tools: [
    expect.objectContaining({ ...add, input_schema: expect.objectContaining({ required: ["by"] }) }),
    expect.objectContaining({ name: "message_to_user" }),
  ],
  ...{ terminal_tool: null, supports_score_group: false },
  message_block_types: ["text", "image", "reasoning", "tool_call", "tool_result"],
};

test("the routes of the server itself", async () => {
  await serve("ors");
  expect(await jsonOf("GET health")).toEqual({ status: "ok" });
  expect(await jsonOf("GET version")).toEqual({ version: "0.1.167", build_sha: null });
  expect(await jsonOf("GET list_environments")).toEqual(["counting"]);
  expect(await jsonOf("POST delete_session")).toEqual({ sid: "s1" });
  expect(await jsonOf("POST delete")).toEqual({ sid: "s1" });
  expect((await create()).json).toEqual({ sid: "s1" });
  expect(await jsonOf("POST ping")).toEqual({ status: "ok" });
  expect(await jsonOf("POST delete")).toEqual({ sid: "s1" });
  expect([server?.sessions(), closed]).toEqual([0, ["2"]]);
});

test("the routes of the environment, by its name or without one", async () => {
  await serve("ors");
  for (const route of ["GET counting/tools", "GET tools", "GET Counting/tools"]) expect(await jsonOf(route)).toEqual(tools);
  // Its tools are those of an episode that is closed again.
  expect([server?.sessions(), new Set(closed)]).toEqual([0, new Set(["2"])]);
  await create({ split: "train", index: 1 });
  expect(await jsonOf("GET counting/task_tools")).toEqual(tools);
  const blocks = (text: string) => [{ type: "text", text, detail: null }];
  expect(await jsonOf("GET prompt")).toEqual([...blocks("Count."), ...blocks("Count to 3.")]);
  expect(await jsonOf("GET counting/messages")).toEqual([
    expect.objectContaining({ role: "system", blocks: [expect.objectContaining({ type: "text", text: "Count." })] }),
    expect.objectContaining({ role: "user", blocks: [expect.objectContaining({ type: "text", text: "Count to 3." })] }),
  ]);
  expect(await jsonOf("POST num_tasks", { split: "train" })).toEqual({ num_tasks: 3 });
  expect(await jsonOf("POST counting/num_tasks", { split: "hard" })).toEqual({ num_tasks: 1 });
});

test("calls have their outcomes, and an episode that is over says so", async () => {
  await serve("ors");
  await create();
  const ok = (text: string, reward: number | null, finished = false, metadata: object | null = null) => ({
    ok: true,
    output: { blocks: [{ type: "text", text, detail: null }], metadata, reward, finished },
  });
  expect(await called("add", { by: 2 })).toEqual(ok("The counter is 2.", -0.1));
  expect(await called("add", { by: -2 })).toEqual(ok("Error: only up", -0.1));
  expect(await called("fly", {})).toEqual({
    ...{ ok: false, error: 'there is no tool "fly". The tools are add, message_to_user.', reason: "not_found" },
  });
  expect(await called("message_to_user", {})).toEqual({
    ...{ ok: false, error: "message_to_user needs content, a text.", reason: "input_validation" },
  });
  // What reached the environment has a reward, and is no refusal.
  expect(await called("add", {})).toMatchObject({ ok: true, output: { reward: -0.1 } });
  expect(await called("message_to_user", { content: "2" })).toEqual(ok("", 1, true, { count: 2 }));
  expect(await called("add", { by: 1 })).toEqual({
    ...{ ok: false, error: "the episode has finished: no further calls are made", reason: "episode_finished" },
  });
});

test.each<[string, object, number, RegExp]>([
  ["no task", {}, 422, /expected task_spec, or split and index/],
  ["half a task", { split: "train" }, 422, /expected task_spec, or split and index/],
  ["a task that is not there", { split: "train", index: 3 }, 400, /task is .*0 to 2/],
  ["a split that is not there", { task_spec: { split: "none", index: 0 } }, 400, /split of counting/],
  ["another environment", { env_name: "other", split: "train", index: 0 }, 404, /environment is "other"; expected "counting"/],
  ["a set of tools", { split: "train", index: 0, toolset_name: "web" }, 400, /toolset_name is "web"/],
  ["an unknown field", { split: "train", index: 0, speed: 2 }, 422, /speed/],
])("a session for %s is refused", async (_, body, status, message) => {
  await serve("ors");
  const { status: given, text } = await create(body);
  expect([given, JSON.parse(text).detail]).toEqual([status, expect.stringMatching(message)]);
  expect(server?.sessions()).toBe(0);
});

test("a task is named by its specification too, and the environment in any case", async () => {
  await serve("ors");
  const named = { env_name: "COUNTING", task_spec: { id: "train/2", split: "train", index: 2 }, secrets: {}, toolset_name: null };
  expect((await create(named)).status).toBe(200);
  expect(await jsonOf("GET prompt")).toMatchObject([{}, { text: "Count to 4." }]);
});

test("sessions have ids, are made once, and no more than there may be", async () => {
  await serve("ors", { sessions: 1 });
  expect(await ask("POST create", { split: "train", index: 0 }, "")).toMatchObject({
    ...{ status: 400, text: expect.stringContaining("the header of a session") },
  });
  expect((await create({ split: "train", index: 0 }, " ")).status).toBe(400);
  expect((await create({ split: "train", index: 0 }, "s1")).json).toEqual({ sid: "s1" });
  expect((await create()).text).toContain("Session already exists");
  expect(await create({ split: "train", index: 0 }, "s2")).toMatchObject({ status: 503 });
  for (const route of ["POST ping", "GET prompt", "GET counting/task_tools"])
    expect(await ask(route, undefined, "s2")).toMatchObject({
      status: 404,
      text: expect.stringContaining("Active environment not found"),
    });
});

test.each([
  "GET jump",
  "POST health",
  "GET counting",
  "GET counting/jump",
  "GET other/tools",
  "POST counting/prompt",
  "GET a/b/c",
])("%s is no route", async (route) => {
  await serve("ors");
  const { status, text } = await ask(route, route.startsWith("POST") ? {} : undefined);
  const path = route.replace(" ", " /");
  expect([status, JSON.parse(text)]).toEqual([
    404,
    { detail: `route is "${path}"; expected one of ORS's interface; the environment is counting.` },
  ]);
});

test("a slash in an environment's name is a low line, and its letters are small", async () => {
  await serve("ors", { environment: { ...counting(), name: "A/B/c" } });
  expect(await jsonOf("GET list_environments")).toEqual(["a_b_c"]);
  expect(await jsonOf("POST a_b_c/num_tasks", { split: "train" })).toEqual({ num_tasks: 3 });
});
