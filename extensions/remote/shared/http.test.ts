import "../../../test/loopback.ts";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { HttpClient, type HttpOptions, hidden, noJson } from "./http.ts";
import { RemoteEnvError } from "./problem.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function client(body: string, { status = 200, ...options }: Partial<HttpOptions> & { status?: number } = {}) {
  const listening = createServer((_, response) => response.writeHead(status).end(body));
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/base`;
  return new HttpClient({ base, spoken: "Wire 2", timeoutMs: 20_000, maxBytes: 1000, headers: {}, secrets: [], ...options });
}

const failure = async (work: Promise<unknown>) => {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RemoteEnvError);
  return error as RemoteEnvError;
};

const schema = z.object({ a: z.number() });

test.each([
  [400, "refused", /server's own log/],
  [401, "refused", /keyVariable/],
  [403, "refused", /keyVariable/],
  [404, "expired", /session is gone/],
  [410, "expired", /session is gone/],
  [429, "capacity", /Set environment\.settings\.concurrency to less than rollout\.concurrency/],
  [500, "refused", /server's own log/],
  [503, "capacity", /concurrency/],
] as const)("status %i is %s, with the next step", async (status, problem, hint) => {
  const http = await client(`no place for my-key ${"x".repeat(400)}`, { status, secrets: ["my-key", ""] });
  const error = await failure(http.json(schema, { path: "/x" }));
  expect(error).toMatchObject({ problem, subject: "GET /x", value: `${status} no place for *** ${"x".repeat(280)}` });
  expect(error.hint).toMatch(hint);
});

test.each([200, 201, 299])("status %i is an answer", async (status) => {
  expect(await (await client('{"a":1}', { status })).json(schema, { path: "/x" })).toEqual({ a: 1 });
});

test("an answer may be as large as the limit, and no larger", async () => {
  expect((await (await client("x".repeat(1000))).ask({ path: "/x" })).text).toHaveLength(1000);
  expect(await failure((await client("x".repeat(1001))).ask({ path: "/x" }))).toMatchObject({
    ...{
      problem: "too-large",
      value: "more than 1000 bytes",
      subject: expect.stringMatching(/GET \/base\/x of 127\.0\.0\.1:\d+$/),
    },
  });
});

test("an answer of another form names the first three fields, and both versions", async () => {
  const http = await client('{"a":"1","b":1,"c":1,"d":1}');
  const four = z.object({ a: z.number(), b: z.string(), c: z.string(), d: z.string() });
  const error = await failure(http.json(four, { path: "/x" }));
  expect(error.problem).toBe("malformed");
  expect(error.message).toMatch(/at a: .*; at b: .*; at c: [^;]*; …\)/);
  expect(error.hint).toBe("Spoken here is Wire 2. The server does not say its version. Is this the address of such a server?");
  http.serverVersion = "3.1";
  const newer = await failure(http.json(z.string(), { path: "/x" }));
  expect(newer.hint).toContain("The server is of version 3.1.");
  expect(newer.message).not.toContain("…)");
});

test("what is no JSON is shown by its number that is none, or its beginning", async () => {
  const http = await client('{"b": 1, "reward": NaN}');
  expect(await failure(http.json(schema, { path: "/x" }))).toMatchObject({ problem: "malformed", value: '"reward": NaN' });
  expect(noJson('{"a": -Infinity}')).toBe('"a": -Infinity');
  expect(noJson("x".repeat(300))).toHaveLength(200);
});

test("no text has a secret, and an empty one hides nothing", () => {
  expect(hidden("a key and a key", ["key", ""])).toBe("a *** and a ***");
  expect(hidden("as it is")).toBe("as it is");
});
