import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import "../../test/loopback.ts";
import { fetchOnce, fetchPatiently, mayPass, type Outcome, type Verdict } from "./client.ts";

let answers: ((response: ServerResponse) => void)[] = [];
let requests = 0;
const server = createServer((_, response) => {
  requests++;
  const answer = answers.shift() ?? ((given: ServerResponse) => given.end("ok"));
  answer(response);
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answers = [];
  requests = 0;
});

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end(`status ${code}`);
const limits = { timeoutMs: 2000, maxBytes: 100 };
const policy = { ...limits, retries: 2, retryDelayMs: 1 };

/** A value of status 200, and an error of anything else, which may pass. */
const judge = (outcome: Outcome, attempts: number): Verdict<string> =>
  "response" in outcome && outcome.response.ok
    ? { value: `${outcome.text} after ${attempts}` }
    : {
        error: new Error(`${"response" in outcome ? outcome.text : outcome.reason} after ${attempts}`),
        again: !("response" in outcome) || mayPass(outcome.response.status),
      };

test("one request: its answer, or in words why there is none", async () => {
  const got = await fetchOnce(url, {}, limits);
  expect("response" in got && [got.response.status, got.text, [...got.bytes]]).toEqual([200, "ok", [111, 107]]);
  answers = [(response) => void response.end("x".repeat(101))];
  expect(await fetchOnce(url, {}, limits)).toEqual({ failure: "too large", reason: "more than 100 bytes" });
  answers = [() => {}];
  expect(await fetchOnce(url, {}, { ...limits, timeoutMs: 20 })).toEqual({ failure: "late", reason: "nothing within 20 ms" });
  answers = [(response) => void response.writeHead(200).write("half")];
  expect(await fetchOnce(url, {}, { ...limits, timeoutMs: 20 })).toMatchObject({ failure: "late" });
  expect(await fetchOnce("http://127.0.0.1:9999/", {}, limits)).toMatchObject({
    ...{ failure: "unreachable", reason: expect.stringContaining("ECONNREFUSED"), lost: false },
  });
  answers = [(response) => void response.destroy()];
  expect(await fetchOnce(url, {}, limits)).toMatchObject({ failure: "unreachable", lost: true });
  answers = [() => {}];
  await expect(fetchOnce(url, {}, limits, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
});

test("faults that may pass are tried again, as often as allowed; others are not", async () => {
  answers = [status(503), status(429)];
  expect(await fetchPatiently(url, {}, policy, judge)).toBe("ok after 3");
  answers = [status(503), status(500), status(502), status(503)];
  await expect(fetchPatiently(url, {}, policy, judge)).rejects.toThrow("status 502 after 3");
  expect(requests).toBe(6);
  answers = [status(404)];
  await expect(fetchPatiently(url, {}, policy, judge)).rejects.toThrow("status 404 after 1");
  await expect(fetchPatiently(url, {}, { ...policy, retries: 0, timeoutMs: 20 }, judge)).resolves.toBe("ok after 1");
});

test("a server's wish for a pause is followed up to a minute; a longer one ends the request", async () => {
  answers = [status(503, { "retry-after": "0" })];
  expect(await fetchPatiently(url, {}, { ...policy, retryDelayMs: 60_001 }, judge)).toBe("ok after 2");
  answers = [status(503, { "retry-after": "61" })];
  await expect(fetchPatiently(url, {}, policy, judge)).rejects.toThrow("status 503 after 1");
});

test("a kept connection that was closed is replaced at once, and only once", async () => {
  const broken = (response: ServerResponse) => void response.destroy();
  answers = [broken];
  expect(await fetchPatiently(url, {}, { ...policy, retries: 0 }, judge)).toBe("ok after 1");
  answers = [broken, broken];
  await expect(fetchPatiently(url, {}, { ...policy, retries: 0 }, judge)).rejects.toThrow("after 1");
  expect(requests).toBe(4);
});

test("what is to happen before an attempt happens before each; a signal ends the pause between two", async () => {
  answers = [status(503), status(503)];
  const log: number[] = [];
  const before = async () => void log.push(requests);
  await fetchPatiently(url, {}, policy, judge, { before });
  expect(log).toEqual([0, 1, 2]);
  const controller = new AbortController();
  answers = [status(503)];
  const waiting = fetchPatiently(url, {}, { ...policy, retryDelayMs: 60_000 }, judge, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("stopped")), 20);
  await expect(waiting).rejects.toThrow("stopped");
});

test("statuses that may pass", () => {
  expect([200, 400, 401, 404, 408, 409, 410, 425, 429, 499, 500, 503].filter(mayPass)).toEqual([408, 409, 425, 429, 500, 503]);
});
