import { expect, test } from "vitest";
import { z } from "zod";
import { door, doorSheets, nearestIssue, optionsDoor, settingsDoor } from "./door.ts";
import { ConfigError } from "./errors.ts";

const row = door("a row", { a: z.string(), b: z.int().optional() }, { ignores: ["note"], neutral: { mode: "plain" } });
const issuesOf = (value: unknown) => row.safeParse(value).error?.issues.map(({ path, message }) => [path.join("."), message]);

test("a door takes its fields, ignores some, takes one value of others, and refuses the rest by name unless they are null", () => {
  expect(row.parse({ a: "x", b: 1, note: { any: 1 }, mode: "plain", none: null })).toMatchObject({ a: "x", b: 1 });
  expect(issuesOf({ a: "x", mode: null, none: undefined })).toBeUndefined();
  expect(issuesOf({ a: "x", c: 0 })).toEqual([["c", "no such field: a row has a, b"]]);
  expect(issuesOf({ a: "x", mode: "fancy" })).toEqual([["mode", 'none, or "plain": a row has no other here']]);
  expect(issuesOf({ a: 1 })?.map(([path]) => path)).toEqual(["a"]);
});

test("a door is on the list of doors, with what it uses, ignores and refuses", () => {
  const sheet = doorSheets().find(({ name }) => name === "a row");
  expect(sheet).toMatchObject({ uses: ["a", "b"], ignores: ["note"], neutral: { mode: "plain" } });
  const refused = [
    ["c", 1],
    ["c", null],
    ["note", 1],
    ["mode", "fancy"],
    ["mode", "plain"],
    ["a", 1],
    ["b", 1],
  ] as const;
  expect(refused.map(([field, value]) => sheet?.refuses(field, value))).toEqual([true, false, false, true, false, true, false]);
});

test("settings as a door are strict, and options of a function are named with what was probably meant", () => {
  const settings = settingsDoor("settings of a test", { size: z.int().default(1) });
  expect(settings.safeParse({ siz: 1 }).success).toBe(false);
  const sheets = doorSheets();
  const own = sheets.find(({ name }) => name === "settings of a test");
  expect([own?.uses, own?.refuses("siz", 1), own?.refuses("size", "x"), own?.refuses("size", 1)]).toEqual([
    ...[["size"], true, false, false],
  ]);
  const check = optionsDoor<{ print?: boolean; signal?: AbortSignal }>("a function", { print: true, signal: true });
  check({ print: false, other: undefined });
  expect(() => check({ prnt: true })).toThrow('a function: prnt is true; expected no option of this name. Did you mean "print"?');
  expect(() => check({ elsewhere: 1 })).toThrow(
    new ConfigError("a function: elsewhere", 1, {
      expected: "no option of this name",
      hint: "The options are print, signal.",
    }),
  );
  const options = sheets.find(({ name }) => name === "a function");
  expect([
    options?.uses,
    options?.refuses("other", 1),
    options?.refuses("print", 1),
    options?.refuses("other", undefined),
  ]).toEqual([...[["print", "signal"], true, false, false]]);
});

test("the deepest issue is the nearest; of several forms, that of the form which the value nearly has", () => {
  const nearest = (schema: z.ZodType, value: unknown) => {
    const { path, message } = nearestIssue(schema.safeParse(value).error?.issues ?? []);
    return [path.join("."), message];
  };
  expect(nearest(z.object({ a: z.int(), b: z.object({ c: z.int() }) }), { a: "x", b: { c: "y" } })[0]).toBe("b.c");
  // A field that is not known is named before one that is missing.
  expect(nearest(row, { aa: "x" })).toEqual(["aa", "no such field: a row has a, b"]);
  const forms = z.object({
    at: z.union([z.string(), z.object({ a: z.int(), b: z.int() }), z.object({ a: z.int(), b: z.int(), c: z.int() })]),
  });
  expect(nearest(forms, { at: { a: 1, b: "x" } })[0]).toBe("at.b");
  expect(nearest(forms, { at: 5 })[0]).toBe("at");
  expect(nearestIssue([])).toEqual({ message: "other JSON", path: [] });
});
