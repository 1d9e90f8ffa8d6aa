import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { guard, isLoopback, keyOf, requireKeys } from "./access.ts";

const request = (headers: Record<string, string | string[]>, url = "/") => ({ headers, url }) as unknown as IncomingMessage;

test.each([
  ["localhost", true],
  ["::1", true],
  ["127.0.0.1", true],
  ["127.9.8.7", true],
  ["127.0.0.1.example.com", false],
  ["128.0.0.1", false],
  ["0.0.0.0", false],
  ["localhost.example.com", false],
])("only this machine reaches %s: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
  const open = () => requireKeys({ host, keys: [] }, "read");
  if (expected) expect(open).not.toThrow();
  else expect(open).toThrow(/keys of the server is "none".*whoever reaches the server could read/);
  expect(() => requireKeys({ host, keys: ["k"] }, "read")).not.toThrow();
});

test.each([
  [request({ "x-api-key": "a", authorization: "Bearer b" }), "a"],
  [request({ "x-api-key": ["a", "b"] }), "a"],
  [request({ authorization: "Bearer b", "x-goog-api-key": "c" }), "b"],
  [request({ authorization: "b" }), "b"],
  [request({ "x-goog-api-key": "c" }, "/?key=d"), "c"],
  [request({}, "/a?x=1&key=d%20e"), "d e"],
  [request({}, "/key=d"), ""],
  [request({}), ""],
])("a request's key is where its vendor sends it", (given, expected) => {
  expect(keyOf(given)).toBe(expected);
});

const statusOf = (given: IncomingMessage, keys: readonly string[] = [], host = "127.0.0.1") => {
  try {
    guard(given, { host, keys });
    return 200;
  } catch (error) {
    return (error as { status: number }).status;
  }
};

test.each([
  ["localhost", 200],
  ["localhost:80", 200],
  ["127.0.0.1:8765", 200],
  ["[::1]:8765", 200],
  ["evil.example", 421],
  ["evil.example:8765", 421],
  ["", 421],
])("a server of this machine is asked as %j: %i", (host, status) => {
  expect(statusOf(request({ host }))).toBe(status);
  expect(statusOf(request({ host }), [], "0.0.0.0")).toBe(200);
});

test("a page's script is refused, and so is a client without one of the keys", () => {
  const host = "localhost";
  expect(statusOf(request({ host, origin: "http://localhost" }))).toBe(403);
  const keyed = (key?: string) =>
    statusOf(request({ host, ...(key === undefined ? {} : { "x-api-key": key }) }), ["one", "other"]);
  expect([keyed("one"), keyed("other"), keyed("on"), keyed("onee"), keyed(), keyed("")]).toEqual([200, 200, 401, 401, 401, 401]);
  expect(() => guard(request({ host }), { host, keys: ["one"] })).toThrow(/key of the request is "missing"/);
  expect(() => guard(request({ host, "x-api-key": "x" }), { host, keys: ["one"] })).toThrow(/is "unknown"/);
});
