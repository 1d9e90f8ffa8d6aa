import { expect, test } from "vitest";
import { typedJson } from "./typed.ts";

const $defs = { code: { type: "string" }, count: { type: "integer" }, mode: { enum: ["1", "2", null] } };
const tool = (schema: unknown) => ({ type: "object", properties: { a: schema }, $defs });

test.each<[string, unknown, string, unknown]>([
  // A code of digits is a text, wherever its schema says so.
  ["a reference", { $ref: "#/$defs/code" }, "007", "007"],
  ["a reference to a number", { $ref: "#/$defs/count" }, "7", 7],
  ["allOf, as pydantic writes a default", { allOf: [{ $ref: "#/$defs/code" }], default: "x" }, "12", "12"],
  ["const", { const: "5" }, "5", "5"],
  ["const of a number", { const: 5 }, "5", 5],
  ["an enum of texts and null", { $ref: "#/$defs/mode" }, "1", "1"],
  ["an enum of texts and null, null", { $ref: "#/$defs/mode" }, "None", null],
  ["options with a reference", { anyOf: [{ $ref: "#/$defs/code" }, { type: "null" }] }, "42", "42"],
  ["options with a reference, null", { oneOf: [{ $ref: "#/$defs/code" }, { type: "null" }] }, "null", null],
  ["OpenAPI's null", { type: "string", nullable: true }, "null", null],
  ["a type with values", { type: ["string", "number"], enum: [1, 2] }, "2", 2],
  ["parts of which one has a type", { allOf: [{ minLength: 1 }, { type: "string" }] }, "true", "true"],
  ["a reference that leads to itself", { $ref: "#/properties/a" }, "5", 5],
])("%s", (_, schema, text, expected) => {
  expect(JSON.parse(typedJson(text, tool(schema), "a", "json"))).toEqual(expected);
});

test("an argument of a tool whose schema is in parts, and one by additionalProperties", () => {
  const parts = { allOf: [{ $ref: "#/$defs/base" }], $defs: { base: { properties: { a: { type: "string" } } } } };
  expect(typedJson("1", parts, "a", "json")).toBe('"1"');
  const options = { anyOf: [{ properties: { a: { type: "string" } } }, { properties: { b: { type: "integer" } } }] };
  expect(typedJson("1", options, "a", "json")).toBe('"1"');
  expect(typedJson("1", { additionalProperties: { type: "string" } }, "b", "json")).toBe('"1"');
  expect(typedJson("1", { properties: {} }, "constructor", "json")).toBe("1");
});

test("an integer beyond 2^53 keeps its digits", () => {
  expect(typedJson("1152921504606846977", tool({ $ref: "#/$defs/count" }), "a", "text")).toBe("1152921504606846977");
});
