import "../../../test/loopback.ts";
import "../../../test/office.ts";
import { basename } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import type { InferenceOptions } from "../../inference/server.ts";
import { named, serveCommand, startInference, untilInterrupted } from "./serve.ts";
import { startEnvironmentServer } from "./serve-environment.ts";

const order = vi.hoisted((): string[] => []);
let engines = 0;
let served: InferenceOptions | undefined;
vi.mock(import("../../local/engine.ts"), () => ({
  createLocalEngine: async ({ threads, slots, decode }) => {
    const name = "ab"[engines++];
    return {
      info: { maxLength: 64, vocabularySize: 8, capabilities: [] },
      sample: async () => void order.push(`${name} samples with ${threads} threads, ${slots} slots, ${typeof decode?.([0])}`),
      dispose: async () => void order.push(`${name} is gone`),
    } as never;
  },
}));
vi.mock(import("../../inference/server.ts"), async (original) => ({
  ...(await original()),
  serveInference: async (options) => {
    order.push("listens");
    served = options;
    return { baseUrl: "http://x", close: async () => void order.push("closes") };
  },
}));
let text = "";
const screen = createScreen({ write: (part: string) => (text += part) });
beforeEach(() => {
  [engines, text, served] = [0, "", undefined];
  order.length = 0;
});

test("each model samples once before clients are let in: its sessions are not made while one waits", async () => {
  const server = await startInference({ model: ["a=default", "b=default"], threads: "3" }, screen);
  await server.close();
  const samples = (name: string) => `${name} samples with 3 threads, 32 slots, string`;
  expect(order).toEqual([samples("a"), samples("b"), "listens", "closes", "a is gone", "b is gone"]);
});

test("a server has its flags' address, keys and limits, and its models under their names", async () => {
  const flags = { host: "::1", port: "1", key: ["k"], maxBody: "2", maxConnections: "3", requestTimeout: "4" };
  await startInference({ ...flags, model: ["small=default"] }, screen);
  expect(served).toMatchObject({
    ...{ host: "::1", port: 1, keys: ["k"] },
    limits: { maxBytes: 2 * 2 ** 20, connections: 3, requestMs: 4000 },
  });
  expect([...(served?.models.keys() ?? [])]).toEqual(["small"]);
  expect(served?.models.get("small")?.chat).toBeDefined();
  expect(served).not.toHaveProperty("log");
  expect(text).toMatch(/^Inference server at http:\/\/x: chat completions at http:\/\/x\/v1\n {2}model small \(.*office\)\n$/);
});

test("without models the bundled one is served under its folder's name; --verbose prints requests", async () => {
  await startInference({ verbose: true }, screen);
  const [name] = served?.models.keys() ?? [];
  expect(name).toBe(basename(name ?? ""));
  text = "";
  served?.log?.({ path: "/v1/models", status: 200, ms: 1.6 });
  expect(text).toBe("/v1/models 200 2 ms\n");
  await expect(startInference({ model: ["a=default", "a=default"] }, screen)).rejects.toThrow(
    /--model is "a"; expected each name once/,
  );
});

test.each([
  ["a=b=c", { name: "a", what: "b=c" }],
  ["./models/a", { name: undefined, what: "./models/a" }],
  ["=b", { name: "", what: "b" }],
])("the model %s", (given, expected) => {
  expect(named.parse(given)).toEqual(expected);
});

test.each([
  [{}, /serve is "nothing"; expected "--inference" or "--env"/],
  [{ inference: true, env: "office" }, /serve is "several interfaces"/],
  [{ inference: true, as: "ors" }, /serve is "several interfaces"/],
  [{ env: "office" }, /--as is .*expected "openenv" or "ors"/],
  [{ env: "office", as: "grpc" }, /--as is "grpc"; expected "openenv" or "ors"/],
])("%j serves nothing", async (flags, message) => {
  await expect((async () => serveCommand(flags, screen))()).rejects.toThrow(message);
});

test("sessions of an environment are checked", async () => {
  for (const flags of [{ maxSessions: "0" }, { sessionTimeout: "none" }])
    await expect(startEnvironmentServer({ as: "ors", ...flags }, screen)).rejects.toThrow(/--(max-sessions|session-timeout)/);
});

test("a server is open until Ctrl-C, which is Node's again afterwards", async () => {
  const before = process.listenerCount("SIGINT");
  const ending = untilInterrupted({ close: async () => void order.push("closes") });
  await new Promise((resolve) => setImmediate(resolve));
  expect([order, process.listenerCount("SIGINT")]).toEqual([[], before + 1]);
  process.emit("SIGINT", "SIGINT");
  expect(await ending).toBe(0);
  expect([order, process.listenerCount("SIGINT")]).toEqual([["closes"], before]);
});

test("the command serves what its flags choose", async () => {
  const serving = serveCommand({ inference: true, model: ["a=default"] } as object, screen);
  await vi.waitFor(() => expect(text).toContain("  model a ("));
  process.emit("SIGINT", "SIGINT");
  expect(await serving).toBe(0);
  expect(order.slice(1)).toEqual(["listens", "closes", "a is gone"]);
});

test.each([
  ["openenv", "ws"],
  ["ors", "http"],
] as const)("an environment's server says where clients of %s find it, here by %s", async (as, scheme) => {
  const server = await startEnvironmentServer({ as, env: "office", port: "0", maxSessions: "7", key: ["k"] }, screen);
  const address = server.baseUrl.replace("http", scheme);
  expect(text).toBe(`Environment office at ${server.baseUrl} (${as}, up to 7 sessions)\n  here: --env ${as}:${address}\n`);
  expect((await fetch(`${server.baseUrl}/list_environments`)).status).toBe(401);
  const named = await fetch(`${server.baseUrl}/list_environments`, { headers: { "x-api-key": "k" } });
  expect(await named.json()).toEqual(["office"]);
  await server.close();
});

test("the command serves an environment too, until Ctrl-C", async () => {
  const serving = serveCommand({ env: "office", as: "ors", port: "0" } as object, screen);
  await vi.waitFor(() => expect(text).toContain("  here: --env ors:http://"));
  process.emit("SIGINT", "SIGINT");
  expect(await serving).toBe(0);
});
