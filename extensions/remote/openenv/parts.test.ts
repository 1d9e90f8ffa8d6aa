import "../../../test/loopback.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import type { WebSocket } from "ws";
import { actingOf } from "./episode.ts";
import { type FakeServer, fakeServer } from "./fake-server.fixture.ts";
import { OpenenvSession, RefusedStep } from "./session.ts";
import { openenvSettingsSchema } from "./settings.ts";
import { observationText, toolAnswer } from "./show.ts";
import { type ActionSchema, schemasSchema } from "./wire.ts";

const show = (names?: string[], maxOutput = 1000) => ({ show: names, maxOutput });

test.each<[object, string[] | undefined, string]>([
  [{ text: "a", metadata: { seed: 1 }, other: null, more: undefined }, undefined, "a"],
  [{ text: "" }, undefined, ""],
  [{ count: 0, text: "a", done: false }, undefined, '{"count":0,"text":"a","done":false}'],
  [{ count: 1 }, undefined, '{"count":1}'],
  [{ a: 1, text: "b", metadata: "m" }, ["metadata"], "m"],
  [{ a: 1, b: 2, c: 3 }, ["c", "a", "none"], '{"c":3,"a":1}'],
  [{}, undefined, "{}"],
])("the observation %j with %j shown is %j", (observation, names, text) => {
  expect(observationText(observation as Record<string, unknown>, show(names))).toBe(text);
});

const block = (text: string) => ({ type: "text", text });
test.each<[object, object]>([
  [{ result: "a" }, { content: "a" }],
  [{ result: null }, { content: "" }],
  [{}, { content: "" }],
  [{ result: 3 }, { content: "3" }],
  [{ result: { n: 1 } }, { content: '{"n":1}' }],
  [{ result: { content: "a" } }, { content: '{"content":"a"}' }],
  [{ result: { content: [block("a"), block("b")] } }, { content: "a\nb" }],
  [{ result: { content: [block("a")], is_error: true } }, { content: "a", failure: "error" }],
  [{ result: { content: [block("a")], is_error: "yes" } }, { content: "a" }],
  [{ result: { content: [{ type: "image", data: "12345" }] } }, { content: "[image, 5 characters: not shown]" }],
  [{ result: { content: [{ type: "link", uri: "x" }, null] } }, { content: '{"type":"link","uri":"x"}\nnull' }],
  [{ result: "  a", tool_name: "t", metadata: { m: 1 }, next: "b", none: null }, { content: "a\nb" }],
  [{ result: "a", next: "b", after: "c" }, { content: 'a\n{"next":"b","after":"c"}' }],
  [{ next: "b" }, { content: "b" }],
  [{ result: "a", error: null }, { content: "a" }],
  [
    { result: "a", error: { error_type: "invalid_args", message: "no" } },
    { content: "Error: no", valid: false, failure: "invalid" },
  ],
  [{ error: { error_type: "tool_not_found" } }, { content: "Error: ", valid: false, failure: "invalid" }],
  [{ error: { error_type: "timeout", message: "Error: 3 s" } }, { content: "Error: 3 s", failure: "timeout" }],
  [{ error: { message: "broke" } }, { content: "Error: broke", failure: "error" }],
])("a call's observation %j is %j", (observation, expected) => {
  expect(toolAnswer(observation as Record<string, unknown>, show())).toEqual(expected);
});

test("what the model reads is cut", () => {
  expect(observationText({ text: "abcd" }, show(undefined, 3))).toBe("abc\n[cut: the first 3 of 4 characters]");
  const cut = "Err\n[cut: the first 3 of 9 characters]";
  expect(toolAnswer({ error: { message: "no" } }, show(undefined, 3)).content).toBe(cut);
  expect(toolAnswer({ result: "abcd" }, show(undefined, 3)).content).toBe("abc\n[cut: the first 3 of 4 characters]");
});

const actionOf = (action: object): ActionSchema => schemasSchema.parse({ action }).action;
const typed = actionOf({
  properties: { by: { type: "integer" }, note: { type: "string" }, metadata: {} },
  required: ["by", "note"],
});
const ofTools = actionOf({ properties: { tool_name: {}, arguments: {} } });
const settings = (given: object) => openenvSettingsSchema.parse(given);

test("how the model acts is chosen by the action's schema, or by the settings", () => {
  expect(actingOf(ofTools, settings({}))).toEqual({ kind: "tools" });
  expect(actingOf(typed, settings({ actions: "tools" }))).toEqual({ kind: "tools" });
  expect(actingOf(actionOf({ properties: { tool_name: {} } }), settings({}))?.kind).toBe("schema");
  expect(actingOf(ofTools, settings({ actions: "schema" }))?.kind).toBe("schema");
  expect(actingOf(typed, settings({ actions: "text" }))).toEqual({ kind: "text", field: "note" });
  expect(actingOf(typed, settings({ actions: "text", textField: "by" }))).toEqual({ kind: "text", field: "by" });
  expect(actingOf(typed, settings({ actions: "text", textField: "x" }))).toBeUndefined();
  const two = actionOf({ properties: { a: { type: "string" }, b: { type: "string" } }, required: ["a", "b"] });
  expect(actingOf(two, settings({ actions: "text" }))).toBeUndefined();
  expect(actingOf(actionOf({ properties: {}, required: ["a"] }), settings({ actions: "text" }))).toBeUndefined();
});

test("the tool of a typed action is described by the schema, without metadata", () => {
  const toolOf = (action: object) => {
    const acting = actingOf(actionOf(action), settings({ replayable: true }));
    return acting?.kind === "schema" ? acting.tool : undefined;
  };
  expect(
    toolOf({ properties: { by: { type: "integer" }, metadata: {} }, required: ["by"], $defs: { x: {} }, title: "T" }),
  ).toMatchObject({
    ...{ name: "step", description: "T", replayable: true },
    parameters: { type: "object", properties: { by: { type: "integer" } }, required: ["by"], $defs: { x: {} } },
  });
  expect(toolOf({ title: "T", description: " Moves. " })?.description).toBe("Moves.");
  expect(toolOf({ title: "" })?.description).toBe("Acts in the environment.");
  expect(toolOf({})).toMatchObject({ description: "Acts in the environment.", parameters: { properties: {}, required: [] } });
});

// ---- a session

let server: FakeServer | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await server?.close();
  server = undefined;
});

type Answer = Parameters<typeof fakeServer>[0];
async function session(answer: Answer, onOpen?: (socket: WebSocket) => void, change: object = {}): Promise<OpenenvSession> {
  server = await fakeServer(answer, onOpen === undefined ? {} : { onOpen });
  const limits = { timeoutMs: 5000, connectTimeoutMs: 5000, maxBytes: 1000, headers: { a: "b" }, secrets: ["hush"] };
  return OpenenvSession.open({ url: `${server.url}/ws`, ...limits, ...change });
}
const seen = { type: "observation", data: { observation: { n: 1 }, reward: 1, done: false } };

test("requests are sent as they are, and answered by their observations", async () => {
  const one = await session(() => seen);
  expect(await one.reset({ seed: 3 })).toEqual(seen.data);
  expect(await one.step('{"by": 1.0}')).toEqual(seen.data);
  expect(server?.sent).toEqual(['{"type":"reset","data":{"seed":3}}', '{"type":"step","data":{"by": 1.0}}']);
  expect(server?.headers.map(({ a }) => a)).toEqual(["b"]);
  one.close();
  await expect.poll(() => server?.open()).toBe(0);
});

test("a server's refusal has its code and its reasons, and the session continues", async () => {
  const errors = [{ loc: ["data", 0], msg: "wrong" }, { msg: "hush" }];
  const answers: object[] = [{ message: "Invalid", code: "VALIDATION_ERROR", errors }, { errors: "none" }];
  const one = await session(() => ({ type: "error", data: answers.shift() }));
  const host = server?.url.replace("ws://", "");
  const first = await one.step("{}").catch((error: unknown) => error);
  expect(first).toBeInstanceOf(RefusedStep);
  expect(first).toMatchObject({
    ...{ problem: "refused", code: "VALIDATION_ERROR", subject: `step at ${host}` },
    value: "VALIDATION_ERROR: Invalid; data.0: wrong; : ***",
  });
  await expect(one.reset({})).rejects.toMatchObject({
    code: "UNKNOWN",
    value: "UNKNOWN: no message",
    subject: `reset at ${host}`,
  });
  one.close();
});

test.each<[string, object, object]>([
  ["its places", { code: "CAPACITY_REACHED", max_sessions: 4 }, { problem: "capacity", value: "4 are open" }],
  ["no places", { code: "CAPACITY_REACHED" }, { problem: "capacity", value: "as many as it allows are open" }],
  ["another error", { code: "SESSION_ERROR", message: "unknown" }, { code: "SESSION_ERROR", value: "SESSION_ERROR: unknown" }],
])("a server that says at once that it is full, with %s, is heard at the first request", async (_, data, expected) => {
  const one = await session(
    () => undefined,
    (socket) => {
      socket.send(JSON.stringify({ type: "error", data }));
      socket.close();
    },
  );
  await expect.poll(() => server?.open()).toBe(0);
  await expect(one.reset({})).rejects.toMatchObject(expected);
  await expect(one.reset({})).rejects.toMatchObject({ problem: "expired", value: "closed by the server (1005)" });
});

test("another kind of answer, and one that was not asked for, are no observation", async () => {
  const one = await session(() => ({ type: "state", data: {} }));
  await expect(one.reset({})).rejects.toMatchObject({
    problem: "malformed",
    value: "state",
    subject: expect.stringMatching(/ to reset$/),
  });
  one.close();
  await server?.close();
  const two = await session(
    () => undefined,
    (socket) => socket.send(JSON.stringify(seen)),
  );
  await expect.poll(() => server?.open()).toBe(0);
  await expect(two.reset({})).rejects.toMatchObject({
    ...{ problem: "malformed", value: "an answer that was not asked for", subject: expect.stringMatching(/ to nothing$/) },
  });
  two.close();
});

test("the first failure is the one that is said", async () => {
  const one = await session((_, socket) => void socket.close(1001, "idle hush"));
  const expected = { problem: "expired", value: "closed by the server (1001 idle ***)" };
  for (let i = 0; i < 2; i++) await expect(one.reset({})).rejects.toMatchObject(expected);
  await server?.close();
  const two = await session(() => `{"x": ${"1".repeat(1000)}}`);
  for (let i = 0; i < 2; i++)
    await expect(two.reset({})).rejects.toMatchObject({ problem: "too-large", value: "more than 1000 bytes" });
});

test("a request that is late or cancelled ends the session, since the next answer would be its own", async () => {
  const late = await session(() => undefined, undefined, { timeoutMs: 20 });
  await expect(late.step("{}")).rejects.toMatchObject({ problem: "timeout", expected: "an answer within 20 ms" });
  await expect.poll(() => server?.open()).toBe(0);
  await expect(late.step("{}")).rejects.toMatchObject({ problem: "timeout" });
  await server?.close();
  const cancelled = await session(() => undefined);
  const stop = new AbortController();
  const step = cancelled.step("{}", stop.signal);
  stop.abort(new Error("stop"));
  await expect(step).rejects.toMatchObject({ problem: "expired", value: "cancelled" });
  await expect(cancelled.step("{}", stop.signal)).rejects.toThrow("stop");
  expect(server?.sent.length).toBeLessThanOrEqual(1);
});

test("a server that does not answer a close is left after a second", async () => {
  let socket: WebSocket | undefined;
  const one = await session(
    () => undefined,
    (opened) => {
      socket = opened;
    },
  );
  socket?.removeAllListeners("message");
  Object.assign(socket ?? {}, { close: () => {} });
  socket?.pause();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  one.close();
  await vi.advanceTimersByTimeAsync(999);
  expect(server?.open()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  vi.useRealTimers();
  socket?.resume();
  await expect.poll(() => server?.open()).toBe(0);
});

test("no connection in time, and no such server, are different errors", async () => {
  const silent = createServer(() => {});
  silent.on("upgrade", () => {});
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const options = { timeoutMs: 100, maxBytes: 100, headers: {}, secrets: [] };
  const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}/ws`;
  await expect(OpenenvSession.open({ ...options, url, connectTimeoutMs: 20 })).rejects.toMatchObject({
    ...{ problem: "timeout", subject: `connection to ${url}`, expected: "a connection within 20 ms" },
    hint: "A server that is busy with others may take longer: environment.settings.connectTimeoutMs.",
  });
  silent.closeAllConnections();
  silent.close();
  await expect(OpenenvSession.open({ ...options, url: "ws://127.0.0.1:1/ws", connectTimeoutMs: 1000 })).rejects.toMatchObject({
    ...{ problem: "unreachable", value: "connect ECONNREFUSED 127.0.0.1:1", expected: "an OpenEnv server" },
    hint: "Is the server running, and its address right?",
  });
});
