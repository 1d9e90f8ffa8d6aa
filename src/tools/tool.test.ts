import { expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod3";
import { defineTool, parametersAsJsonSchema } from "./tool.ts";

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

test("a schema of the published zod 3 is refused by name, with what to do", () => {
  const tool = { name: "find", description: "", parameters: z3.object({ title: z3.string() }), execute: () => [] };
  const refusal = /find.parameters is "a schema of zod 3"; expected a schema of zod 4.*npm install zod@4.*zod\/v4/;
  expect(() => defineTool(tool as never)).toThrow(refusal);
  expect(() => parametersAsJsonSchema(tool as never)).toThrow(refusal);
});
