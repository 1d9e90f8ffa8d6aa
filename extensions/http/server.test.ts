import "../../test/loopback.ts";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { afterEach, expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { HttpError } from "./http-error.ts";
import {
  type HttpRequest,
  type HttpService,
  headLimit,
  httpDefaults,
  type Reply,
  type RunningHttp,
  startHttp,
} from "./server.ts";

// Refused with 408 before: a head that lay there for 12 s while the agent of the same process built a tokenizer for each of 32 episodes.
test("a request of this machine has as long for its head as for the whole, one of another machine has 10 s", () => {
  const { requestMs } = httpDefaults;
  for (const host of ["127.0.0.1", "localhost", "::1"]) expect(headLimit(host, requestMs)).toBe(300_000);
  expect(headLimit("0.0.0.0", requestMs)).toBe(10_000);
  expect(headLimit("127.0.0.1.example.com", requestMs)).toBe(10_000);
  expect(headLimit("0.0.0.0", 2000)).toBe(2000);
});

let running: RunningHttp | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function serve(route: HttpService["route"], more: Partial<HttpService> = {}): Promise<string> {
  running = await startHttp({ host: "127.0.0.1", port: 0, guard: () => {}, route, ...more });
  return running.baseUrl;
}

/** Everything that a client sees but the date. */
async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { redirect: "manual", ...init });
  const { date: _, connection: __, "keep-alive": ___, ...headers } = Object.fromEntries(response.headers);
  return { status: response.status, headers, text: await response.text() };
}
const nosniff = { "x-content-type-options": "nosniff" };
const ofJson = { ...nosniff, "content-type": "application/json" };
const chunked = { "transfer-encoding": "chunked" };

test.each<[string, Reply, object]>([
  ["JSON", { json: { a: 1 } }, { status: 200, headers: { ...ofJson, ...chunked }, text: '{"a":1}' }],
  ["JSON with a status", { status: 201, json: null }, { status: 201, headers: { ...ofJson, ...chunked }, text: "null" }],
  [
    "bytes",
    { bytes: Buffer.from("ab"), type: "image/png" },
    { status: 200, headers: { ...nosniff, "content-type": "image/png", ...chunked }, text: "ab" },
  ],
  ["another place", { location: "/b" }, { status: 302, headers: { ...nosniff, location: "/b", ...chunked }, text: "" }],
  ["nothing", { status: 204 }, { status: 204, headers: nosniff, text: "" }],
  [
    "another server's answer",
    { status: 206, stream: Readable.from(["a", "b"]), headers: { "content-type": "text/x" } },
    { status: 206, headers: { ...nosniff, ...chunked, "content-type": "text/x" }, text: "ab" },
  ],
  [
    "events",
    {
      events: async (write) => {
        write("data: 1\n\n");
        await null;
        write("data: 2\n\n");
      },
    },
    {
      status: 200,
      headers: {
        ...{ ...nosniff, ...chunked, "content-type": "text/event-stream", "cache-control": "no-cache" },
        "x-accel-buffering": "no",
      },
      text: "data: 1\n\ndata: 2\n\n",
    },
  ],
])("a reply with %s", async (_, reply, expected) => {
  expect(await ask(await serve(() => reply))).toEqual(expected);
});

test("headers are those of the service, and of the reply above them", async () => {
  const headers = { "x-own": "service", "x-all": "1" };
  const base = await serve(() => ({ json: 1, headers: { "x-own": "reply" } }), { headers });
  expect((await ask(base)).headers).toEqual({ ...ofJson, ...chunked, "x-own": "reply", "x-all": "1" });
  await running?.close();
  const failing = await serve(
    () => {
      throw new HttpError(429, "places", 3, { retryAfter: 7 });
    },
    { headers },
  );
  expect((await ask(failing)).headers).toMatchObject({ "x-all": "1", "retry-after": "7" });
});

test("a request is seen with its method, path, parts, query, headers and body", async () => {
  const seen: object[] = [];
  const base = await serve(async ({ signal, body, headers, ...request }: HttpRequest) => {
    seen.push({
      ...request,
      query: String(request.query),
      own: headers["x-own"],
      body: String(await body()),
      open: !signal.aborted,
    });
    return { json: null };
  });
  await ask(`${base}/a%20b/%C3%A9?x=1&y=%3F?`, { method: "POST", body: "text", headers: { "x-own": "1" } });
  await ask(`${base}`);
  expect(seen).toEqual([
    {
      ...{ method: "POST", url: "/a%20b/%C3%A9?x=1&y=%3F?", path: "/a b/é", parts: ["a b", "é"], query: "x=1&y=%3F%3F" },
      ...{ own: "1", body: "text", open: true },
    },
    { method: "GET", url: "/", path: "/", parts: [""], query: "", own: undefined, body: "", open: true },
  ]);
});

test("what is thrown is an answer: a refusal with its status, all else 500, or as the service writes it", async () => {
  const errors = [new HttpError(422, "a", 1), new Error("broken"), "text"];
  const failing = () => {
    throw errors.shift();
  };
  const base = await serve(failing);
  const details = [];
  for (let i = 0; i < 3; i++) {
    const { status, text } = await ask(base);
    details.push([status, JSON.parse(text)]);
  }
  expect(details).toEqual([
    [422, { detail: "a is 1." }],
    [500, { detail: "broken" }],
    [500, { detail: "text" }],
  ]);
  await running?.close();
  const problem: HttpService["problem"] = (error, path) => ({ status: 418, json: { error: String(error), path } });
  const own = await serve(() => Promise.reject(new Error("own")), { problem });
  expect(await ask(`${own}/a%20b?c`)).toMatchObject({ status: 418, text: '{"error":"Error: own","path":"/a%20b"}' });
});

test("a path that is not UTF-8 is refused, and a guard refuses before any route", async () => {
  const routes: string[] = [];
  const base = await serve(
    ({ path }) => {
      routes.push(path);
      return { json: null };
    },
    {
      guard: ({ url }) => {
        if (url === "/no") throw new HttpError(403, "path", url);
      },
    },
  );
  expect(await ask(`${base}/%ff`)).toMatchObject({ status: 400, text: expect.stringContaining("percent-encoded UTF-8") });
  expect((await ask(`${base}/no`)).status).toBe(403);
  expect((await ask(`${base}/yes`)).status).toBe(200);
  expect(routes).toEqual(["/yes"]);
});

test("events that fail end their stream; nothing is added to what was written", async () => {
  const base = await serve(() => ({
    events: async (write) => {
      write("data: 1\n\n");
      throw new Error("broken");
    },
  }));
  expect(await ask(base)).toMatchObject({ status: 200, text: "data: 1\n\n" });
});

test("a body is read up to its limit, and the client of a larger one sees why it was refused", async () => {
  const base = await serve(async ({ body }) => ({ json: (await body()).length }), { limits: { maxBytes: 4 } });
  expect((await ask(base, { method: "POST", body: "1234" })).text).toBe("4");
  expect(await ask(base, { method: "POST", body: "x".repeat(100_000) })).toMatchObject({ status: 413 });
});

test("each request is logged once it has ended", async () => {
  const entries: object[] = [];
  const base = await serve(() => ({ status: 201, json: 1 }), { log: (entry) => entries.push(entry) });
  await ask(`${base}/a%20b?secret=1`, { method: "PUT" });
  await expect.poll(() => entries).toEqual([{ method: "PUT", path: "/a%20b", status: 201, ms: expect.any(Number) }]);
  expect((entries[0] as { ms: number }).ms).toBeLessThan(5000);
});

test("a route learns that its client has left", async () => {
  let left: Promise<unknown> | undefined;
  let arrived = () => {};
  const seen = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const base = await serve(({ signal }) => {
    left = once(signal, "abort");
    arrived();
    return new Promise(() => {});
  });
  const request = httpRequest(base);
  request.on("error", () => {});
  request.end();
  await seen;
  request.destroy();
  await left;
});

async function upgrade(base: string, path: string): Promise<string> {
  const socket = connect(Number(new URL(base).port), "127.0.0.1");
  let text = "";
  socket.on("data", (part) => (text += part));
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n`);
  await once(socket, "close");
  return text;
}

test("a request to speak another protocol is guarded, and refused in one head", async () => {
  const targets: object[] = [];
  const base = await serve(() => ({ json: null }), {
    guard: ({ url }) => {
      if (url === "/no") throw new HttpError(401, "key", "missing");
    },
    upgrade: (_, target, socket) => {
      targets.push({ ...target, query: String(target.query) });
      if (target.path === "/broken") throw new Error("broken");
      socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\nother", () => socket.destroy());
    },
  });
  const head = (status: string) => `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`;
  expect(await upgrade(base, "/no")).toBe(head("401 Unauthorized"));
  expect(await upgrade(base, "/broken")).toBe(head("500 Internal Server Error"));
  expect(await upgrade(base, "/%ff")).toBe(head("400 Bad Request"));
  expect(await upgrade(base, "/a/b?c=1")).toBe("HTTP/1.1 101 Switching Protocols\r\n\r\nother");
  expect(targets).toEqual([
    { path: "/broken", parts: ["broken"], query: "" },
    { path: "/a/b", parts: ["a", "b"], query: "c=1" },
  ]);
});

test("a port that is taken is refused by its flag, and free again after the end", async () => {
  const base = await serve(() => ({ json: 1 }), { background: true, keepAliveMs: 50 });
  expect(base).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const port = Number(new URL(base).port);
  const again = () => startHttp({ host: "::1", port, guard: () => {}, route: () => ({ json: 2 }) });
  await expect(again()).rejects.toThrow(ConfigError);
  await expect(again()).rejects.toMatchObject({ subject: "--port", value: port, expected: "a free port" });
  await running?.close();
  running = await again();
  expect(running.baseUrl).toBe(`http://[::1]:${port}`);
});
