import { expect, test } from "vitest";
import { z } from "zod";
import { acts, actsOf } from "./acts.ts";

const schema = z.strictObject({
  command: acts.program(z.string()).optional(),
  url: acts.address(z.url(), (address) => (address.includes("hub") ? "HUB_KEY" : undefined)).nullable(),
  keyEnv: acts.variable(z.string()).default("KEY"),
  data: z.array(acts.reads(z.string())),
  out: z.record(z.string(), acts.writes(z.string())),
  port: acts.by(z.int(), (port) => (port > 0 ? [{ kind: "listens", what: String(port) }] : [])).prefault(0),
  either: z.union([z.strictObject({ a: acts.program(z.string()) }), z.strictObject({ a: z.string(), b: z.int() }), z.null()]),
  later: z.lazy(() => acts.reads(z.string())).optional(),
  plain: z.tuple([]).optional(),
  rest: z.strictObject({ n: z.number(), e: z.enum(["x"]), l: z.literal(1), u: z.unknown(), b: z.boolean() }).optional(),
});

test("the acts of settings are those of their marks, wherever these are, in the order of the settings", () => {
  const value = {
    ...{ command: "node", url: "http://hub.example", keyEnv: "OTHER", data: ["a", "b"], out: { x: "c", y: "d" }, port: 80 },
    ...{ either: { a: "sh" }, later: "e", rest: { n: 1, e: "x", l: 1, u: { a: "f" }, b: true } },
  };
  expect(actsOf(schema, value)).toEqual([
    { kind: "starts", what: "node" },
    { kind: "connects", what: "http://hub.example" },
    { kind: "sends", what: "HUB_KEY" },
    { kind: "sends", what: "OTHER" },
    { kind: "reads", what: "a" },
    { kind: "reads", what: "b" },
    { kind: "writes", what: "c" },
    { kind: "writes", what: "d" },
    { kind: "listens", what: "80" },
    { kind: "starts", what: "sh" },
    { kind: "reads", what: "e" },
  ]);
});

test("what is left out does nothing, and of a union's forms only those that the value has count", () => {
  const parsed = schema.parse({ url: "http://x.example", data: [], out: {}, either: { a: "sh", b: 1 } });
  expect(actsOf(schema, parsed)).toEqual([
    { kind: "connects", what: "http://x.example" },
    { kind: "sends", what: "KEY" },
  ]);
  expect(actsOf(schema, { url: null, data: [], out: {}, either: null })).toEqual([]);
  expect([actsOf(schema, undefined), actsOf(schema, null)]).toEqual([[], []]);
});

test("a kind of schema that is not looked into is an error: its marks would be passed over", () => {
  expect(() => actsOf(schema, { data: [], out: {}, either: null, plain: [] })).toThrow(
    'settings of the kind "tuple" are not looked into for what acts',
  );
});
