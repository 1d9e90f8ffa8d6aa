import { expect, test } from "vitest";
import { z } from "zod";
import { apiKeyFrom, keyHint } from "./api-key.ts";
import { firstDuplicate } from "./duplicate.ts";
import { ConfigError, EnvError, failureOf, RetrogradeError, reasonOf } from "./errors.ts";
import { escaped } from "./escaped.ts";
import { groupBy } from "./group-by.ts";
import { jsonOf, parseJson } from "./json.ts";
import { choiceOf, kindIn } from "./kinds.ts";
import { mean, median, standardDeviation, variance } from "./mean.ts";
import { once } from "./once.ts";
import { hasLength, present } from "./present.ts";
import { isRecord } from "./record.ts";

test.each<[unknown, ConstructorParameters<typeof ConfigError>[2], string]>([
  [undefined, {}, "x is missing."],
  [5, { expected: "less" }, "x is 5; expected less."],
  [2n ** 70n, {}, "x is 1180591620717411303424."],
  ["a", { expected: ["b"] }, 'x is "a"; expected "b".'],
  ["a", { expected: ["b", 1, true] }, 'x is "a"; expected "b", 1 or true.'],
  ["a", { expected: [] }, 'x is "a"; expected .'],
  [{ a: 1n }, { hint: "Do this" }, 'x is {"a":"1"}. Do this.'],
  [null, { expected: "more!", hint: "Why?" }, "x is null; expected more! Why?"],
  [new Error("it broke"), {}, "x is it broke."],
  [Symbol("s"), {}, "x is Symbol(s)."],
  ["y".repeat(198), {}, `x is "${"y".repeat(198)}".`],
  ["y".repeat(199), {}, `x is "${"y".repeat(199)}….`],
])("an error says what failed, with which value, and what was expected: %#", (value, details, message) => {
  expect(new ConfigError("x", value, details).message).toBe(message);
});

test("an error keeps what it was made of", () => {
  const cause = new Error("c");
  const error = new EnvError("task", 1, { expected: ["a"], hint: "h", cause });
  expect(error).toBeInstanceOf(RetrogradeError);
  expect(error).toMatchObject({ name: "EnvError", subject: "task", value: 1, expected: ["a"], hint: "h", cause });
  expect(Object.hasOwn(new EnvError("task", 1), "cause")).toBe(false);
});

test("the reason of what was thrown is its message, its code, its name, or its text", () => {
  const coded = Object.assign(new Error(""), { code: "ECONNREFUSED" });
  const textless = Object.create(null) as object;
  expect([new Error("m"), coded, new TypeError(""), "text", 5, undefined, textless].map(reasonOf)).toEqual([
    ...["m", "ECONNREFUSED", "TypeError", "text", "5", "undefined", "something that has no text was thrown"],
  ]);
  expect(failureOf(new Error("fetch failed", { cause: coded }))).toBe("ECONNREFUSED");
  expect([failureOf(new Error("m", { cause: "text" })), failureOf("text")]).toEqual(["m", "text"]);
});

test("a key is read without white space; without one the error says which variable and whose key", () => {
  expect(apiKeyFrom({ KEY: " secret\n" }, "KEY", "a server")).toBe("secret");
  for (const env of [{}, { KEY: "" }, { KEY: "  " }])
    expect(() => apiKeyFrom(env, "KEY", "a server")).toThrow(
      "environment variable KEY is missing; expected the API key of a server. Set it.",
    );
  expect(() => apiKeyFrom({}, "KEY", "a server", keyHint("a.keyEnv"))).toThrow(
    "Set it, name another variable in a.keyEnv, or give null there if the server wants no key.",
  );
});

test("JSON is read whole or not at all, and one of another form says so", () => {
  expect([jsonOf('{"a":1}'), jsonOf("null"), jsonOf("{"), jsonOf("")]).toEqual([{ a: 1 }, null, undefined, undefined]);
  const read = (text: string) => parseJson(text, z.object({ a: z.int() }), (expected, cause) => new Error(expected, { cause }));
  expect(read('{"a":1,"b":2}')).toEqual({ a: 1 });
  expect(() => read("{")).toThrow(/^JSON$/);
  expect(() => read('{"a":"x"}')).toThrow(/expected number.*\n.*at a/);
  expect(() => read('{"a":"x"}')).toThrow(expect.objectContaining({ cause: expect.any(z.ZodError) }));
});

test("means, medians and deviations", () => {
  expect([mean([1, 2, 6]), mean([])]).toEqual([3, Number.NaN]);
  expect([median([9, 1, 5]), median([4, 1, 3, 2]), median([]), median([10, 9])]).toEqual([5, 3, 0, 10]);
  expect([variance([1, 3]), variance([2, 4, 9]), variance([5]), variance([])]).toEqual([2, 13, 0, 0]);
  expect([standardDeviation([1, 3]), standardDeviation([7])]).toEqual([Math.SQRT2, 0]);
});

test("lists: by key, the first item that is there twice, and as many as were promised", () => {
  expect([...groupBy(["ab", "c", "ad", "b"], (text) => text[0] ?? "")]).toEqual([
    ["a", ["ab", "ad"]],
    ["c", ["c"]],
    ["b", ["b"]],
  ]);
  expect([firstDuplicate([1, 2, 3, 2, 1]), firstDuplicate([1, 2]), firstDuplicate([])]).toEqual([2, undefined, undefined]);
  expect([hasLength([1, 2], 2), hasLength([1], 2)]).toEqual([true, false]);
  expect([present(0, "a number"), present(null, "nothing")]).toEqual([0, null]);
  expect(() => present(undefined, "the first")).toThrow("the first is missing, which is a mistake in this program");
  expect([{}, { a: 1 }, [], null, "a", undefined, () => {}].map(isRecord)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test("a text's pattern fits that text alone, under the flag u", () => {
  for (const text of ["\\^$.*+?()[]{}|/", "a-b", "plain"]) expect(new RegExp(`^${escaped(text)}$`, "u").test(text)).toBe(true);
  expect(new RegExp(`^${escaped("a.b")}$`, "u").test("axb")).toBe(false);
});

test("an answer is asked for once, and again only after a failure", async () => {
  let asked = 0;
  const ask = once(async () => {
    if (++asked === 1) throw new Error("first");
    return asked;
  });
  await expect(ask()).rejects.toThrow("first");
  expect([await ask(), await ask(), asked]).toEqual([2, 2, 2]);
});

test("one of a table's kinds has its own settings, and no others", () => {
  const table = [
    { kind: "a", settings: { n: z.int().default(3) } },
    { kind: "b", settings: {} },
  ] as const;
  const schema = choiceOf(table);
  expect(schema.parse({ kind: "a" })).toEqual({ kind: "a", n: 3 });
  expect(schema.safeParse({ kind: "b", n: 3 }).success).toBe(false);
  expect(kindIn(table, { kind: "b" })).toBe(table[1]);
  expect(() => kindIn(table, { kind: "c" })).toThrow('"c" is none of a, b');
});
