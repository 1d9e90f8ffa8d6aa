import { expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod3";
import { cut } from "./cut.ts";
import { beyondBounds } from "./schema-bounds.ts";
import { defineTool, libraryOf, parametersAsJsonSchema } from "./tool.ts";

test("a model learns that an argument with a default can be left out", () => {
  const tool = defineTool({
    name: "list",
    description: "Lists notes.",
    parameters: z.object({ folder: z.string(), count: z.int().default(10) }),
    execute: () => [],
  });
  const schema = parametersAsJsonSchema(tool);
  expect(schema.required).toEqual(["folder"]);
  expect(schema.properties).toMatchObject({ folder: { type: "string" }, count: { type: "integer", default: 10 } });
  expect(schema).not.toHaveProperty("$schema");
});

test("a JSON schema that is nested too deep is refused by its tool's name", () => {
  let schema: object = { type: "string" };
  for (let level = 0; level < 400; level++) schema = { type: "object", properties: { a: schema } };
  const refusal = /find.parameters is "a schema nested more than 64 levels deep"; expected a smaller schema/;
  expect(() => parametersAsJsonSchema({ name: "find", parameters: schema as never })).toThrow(refusal);
});

test("a schema is within the bounds up to the last level, value and character", () => {
  const deep = (levels: number) => {
    let schema: object = {};
    for (let level = 0; level < levels; level++) schema = { a: schema };
    return schema;
  };
  expect(beyondBounds(deep(64))).toBeUndefined();
  expect(beyondBounds(deep(65))).toBe("nested more than 64 levels deep");
  // The schema and its list are values too.
  const many = (count: number) => ({ enum: Array.from({ length: count }, () => 1) });
  expect(beyondBounds(many(49_998))).toBeUndefined();
  expect(beyondBounds(many(49_999))).toBe("of more than 50000 values");
  expect(beyondBounds({ title: "a".repeat(1_000_000 - 5) })).toBeUndefined();
  expect(beyondBounds({ title: "a".repeat(1_000_000 - 4) })).toBe("of more than 1000000 characters");
  expect(beyondBounds({ ["a".repeat(1_000_001)]: 1 })).toBe("of more than 1000000 characters");
});

test("a schema's library is its vendor; zod 3 gives none, or the one of zod 4", () => {
  const schema = (vendor: string, more = {}) => ({ "~standard": { vendor }, ...more });
  expect(libraryOf(schema("valibot"))).toBe("valibot");
  expect(libraryOf(schema("valibot", { _def: {} }))).toBe("valibot");
  expect(libraryOf(schema("zod", { _def: {} }))).toBe("zod 3");
  expect(libraryOf({ _def: {} })).toBe("zod 3");
  expect([{ type: "object" }, null, "text", undefined].map(libraryOf)).toEqual([undefined, undefined, undefined, undefined]);
});

test("a schema of another library, and what is none, is refused with what helps", () => {
  const refused = (parameters: unknown) => () => parametersAsJsonSchema({ name: "find", parameters: parameters as never });
  expect(refused({ "~standard": { vendor: "valibot" } })).toThrow(/"a schema of valibot".*Convert it to a JSON schema/);
  expect(refused({ parse: () => 1 })).toThrow("Convert it to a JSON schema");
  expect(refused("text")).toThrow('find.parameters is "text"');
  for (const none of [null, undefined, 5])
    expect(refused(none)).toThrow(/expected a schema of zod 4, or a JSON schema with type "object"/);
  expect(() => parametersAsJsonSchema({ name: "find", parameters: z.object({ day: z.date() }) as never })).toThrow(
    /find.parameters is "a zod schema"; expected one that JSON can meet.*Date/,
  );
  expect(parametersAsJsonSchema({ name: "find", parameters: { type: "object", title: "as it is" } })).toEqual({
    type: "object",
    title: "as it is",
  });
});

test("a text is cut at its limit with a notice, never inside of a character", () => {
  expect(cut("abcd", 4)).toBe("abcd");
  expect(cut("abcde", 4)).toBe("abcd\n[cut: the first 4 of 5 characters]");
  expect(cut("abc😀d", 4)).toBe("abc\n[cut: the first 3 of 6 characters]");
  expect(cut("abc😀d", 5)).toBe("abc😀\n[cut: the first 5 of 6 characters]");
  expect(cut("abc", 10, 7)).toBe("abc");
  expect(cut("abc", 10, 8)).toBe("abc\n[cut: the first 3 of about 11 characters]");
});

test("a schema of the published zod 3 is refused by name, with what to do", () => {
  const tool = { name: "find", description: "", parameters: z3.object({ title: z3.string() }), execute: () => [] };
  const refusal = /find.parameters is "a schema of zod 3"; expected a schema of zod 4.*npm install zod@4.*zod\/v4/;
  expect(() => defineTool(tool as never)).toThrow(refusal);
  expect(() => parametersAsJsonSchema(tool as never)).toThrow(refusal);
});
