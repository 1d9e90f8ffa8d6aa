import "../../test/loopback.ts";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { slowdown } from "../../test/slowdown.ts";
import { guard } from "./access.ts";
import { type RunningHttp, startHttp } from "./server.ts";

const opened: Socket[] = [];
const servers: RunningHttp[] = [];

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) await server.close();
});

async function serve(
  connections: number,
  route: () => Promise<object> = async () => ({}),
  requestMs?: number,
): Promise<RunningHttp> {
  const server = await startHttp({
    ...{ host: "127.0.0.1", port: 0, limits: { connections, ...(requestMs === undefined ? {} : { requestMs }) } },
    guard: (request) => guard(request, { host: "127.0.0.1", keys: ["key"] }),
    route: async (request) => {
      await request.body();
      return { json: await route() };
    },
  });
  servers.push(server);
  return server;
}

/** A connection that says this and waits. `said` is all that comes back. */
async function open({ baseUrl }: RunningHttp, first = "") {
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  opened.push(socket);
  const state = { socket, said: "", isClosed: false };
  socket.on("data", (part) => (state.said += String(part)));
  socket.on("error", () => {});
  socket.on("close", () => (state.isClosed = true));
  await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
  socket.write(first);
  return state;
}

const request = (key: string, more = "") => `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n${more}\r\n`;
const ask = async ({ baseUrl }: RunningHttp) =>
  (await fetch(baseUrl, { headers: { "x-api-key": "key", connection: "close" }, signal: AbortSignal.timeout(20_000) })).status;

test.each([
  ["say nothing", ""],
  ["send half a head", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "],
  ["have no key", request("other")],
  ["have a key, and send half a body", request("key", "Content-Length: 1000\r\n")],
  ["have a key, and wait between two requests", request("key")],
])("a client is served beside 1,024 connections that %s", async (_, first) => {
  const server = await serve(1024);
  for (let i = 0; i < 1024; i++) await open(server, first);
  const times = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    expect(await ask(server)).toBe(200);
    times.push(performance.now() - start);
  }
  expect(Math.min(...times)).toBeLessThan(1000 * slowdown()); // some milliseconds; before, none within 70 s
});

test("connections that have shown a key keep their places, and so do requests in work", async () => {
  const answers: (() => void)[] = [];
  const server = await serve(16, () => new Promise((resolve) => answers.push(() => resolve({ done: true }))));
  const working = [await open(server, request("key")), await open(server, request("key"))];
  await vi.waitFor(() => expect(answers).toHaveLength(2), 60_000);
  const silent: Awaited<ReturnType<typeof open>>[] = [];
  for (let i = 0; i < 40; i++) silent.push(await open(server));
  await vi.waitFor(() => expect(silent.filter(({ isClosed }) => !isClosed)).toHaveLength(10), 60_000);
  expect(silent.slice(-10).every(({ isClosed }) => !isClosed)).toBe(true);
  expect(working.some(({ isClosed }) => isClosed)).toBe(false);
  for (const finish of answers) finish();
  await vi.waitFor(() => expect(working.every(({ said }) => said.includes('{"done":true}'))).toBe(true), 60_000);
});

test("one address has three quarters of the places, even with requests in work", async () => {
  const server = await serve(8, () => new Promise(() => {}));
  const all: Awaited<ReturnType<typeof open>>[] = [];
  for (let i = 0; i < 8; i++) {
    all.push(await open(server, request("key")));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await vi.waitFor(() => expect(all.map(({ isClosed }) => isClosed)).toEqual([...Array(6).fill(false), true, true]), 60_000);
});

test("a connection whose head does not arrive in time is ended, also if nothing came", async () => {
  const server = await serve(8, undefined, 500);
  const all = [await open(server), await open(server, "GET / HTTP/1.1\r\nHost: x\r\nX: ")];
  // Node looks for them every 30 s by itself.
  await vi.waitFor(() => expect(all.every(({ isClosed }) => isClosed)).toBe(true), { timeout: 60_000 });
});
