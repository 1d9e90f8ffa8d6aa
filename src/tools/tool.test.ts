import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool, parametersAsJsonSchema } from "./tool.ts";

test("a model is told that an argument with a default can be left out", () => {
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
