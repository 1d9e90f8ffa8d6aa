import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { ConfigError } from "../../../src/core/errors.ts";
import { httpLimits, keysOf, listeningFlags, parsedFlags } from "./flags.ts";

const schema = z.object(listeningFlags(8765, 64));

test("flags have defaults, and numbers as texts", () => {
  expect(parsedFlags(schema, {})).toEqual({
    ...{ host: "127.0.0.1", port: 8765, key: [] },
    ...{ maxBody: 64, maxConnections: 1024, requestTimeout: 300 },
  });
  expect(parsedFlags(schema, { port: "0", maxBody: "1", key: ["a"] })).toMatchObject({ port: 0, maxBody: 1, key: ["a"] });
  expect(parsedFlags(schema, { port: "65535" }).port).toBe(65_535);
});

test.each([
  ["port", "65536", "--port"],
  ["port", "-1", "--port"],
  ["port", "8765.5", "--port"],
  ["maxBody", "0", "--max-body"],
  ["maxConnections", "many", "--max-connections"],
  ["requestTimeout", "0", "--request-timeout"],
  ["key", [""], "--key"],
])("%s %j is refused by its flag", (name, value, flag) => {
  expect(() => parsedFlags(schema, { [name]: value })).toThrow(ConfigError);
  expect(() => parsedFlags(schema, { [name]: value })).toThrow(flag);
});

test("limits are MiB and seconds", () => {
  expect(httpLimits({ maxBody: 2, maxConnections: 3, requestTimeout: 4 })).toEqual({
    ...{ maxBytes: 2_097_152, connections: 3, requestMs: 4000 },
  });
});

afterEach(() => vi.unstubAllEnvs());
test("the key of the environment variable is one more", () => {
  vi.stubEnv("RETROGRADE_SERVER_KEY", "");
  expect(keysOf({ key: ["a"] })).toEqual(["a"]);
  vi.stubEnv("RETROGRADE_SERVER_KEY", "b");
  expect(keysOf({ key: ["a"] })).toEqual(["a", "b"]);
});
