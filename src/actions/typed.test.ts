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

const given = (text: string, schema: unknown, untyped: "text" | "json" = "json") => typedJson(text, tool(schema), "a", untyped);

test.each<[string, string, unknown, "text" | "json", string]>([
  ["a text without a type, as text", "5", {}, "text", '"5"'],
  ["a text without a type, as JSON", "5", {}, "json", "5"],
  ["white space", " ", { type: "object" }, "json", '" "'],
  ["no JSON", "x y", { type: "object" }, "json", '"x y"'],
  ["Python's true", " True ", { type: "boolean" }, "text", "true"],
  ["Python's false", "False", { type: "boolean" }, "text", "false"],
  ["Python's true as text", "True", { type: "string" }, "text", '"True"'],
  ["null where a text may be none", " None ", { type: ["string", "null"] }, "text", "null"],
  ["null where it is a text", "null", { type: "string" }, "text", '"null"'],
  ["null without a type", "null", {}, "json", "null"],
  ["JSON is written again without its spaces", '{ "b" : [1 , 2] }', { type: "object" }, "json", '{"b":[1,2]}'],
  ["numbers keep their text", " 5.0 ", { type: "number" }, "text", "5.0"],
  ["an object with such a number keeps all of its text", '{ "b": 5.0 }', { type: "object" }, "json", '{ "b": 5.0 }'],
])("%s", (_, text, schema, untyped, expected) => {
  expect(given(text, schema, untyped)).toBe(expected);
});

test.each<[string, unknown, string]>([
  ["the types that all parts have", { allOf: [{ type: ["string", "integer"] }, { type: ["integer", "null"] }] }, "5"],
  ["a text in one part alone", { allOf: [{ type: ["string", "integer"] }, { type: "string" }] }, '"5"'],
  ["the types of values alone", { enum: [5, 6] }, "5"],
  ["values of lists and objects", { enum: [[5], { b: 1 }] }, "5"],
  ["texts among the values", { enum: ["5", 6] }, '"5"'],
  ["an integer whose values are numbers", { type: ["integer", "string"], enum: [5] }, "5"],
  ["a text whose values are none", { type: ["integer", "string"], enum: ["5"] }, '"5"'],
  ["options of which one is a text", { anyOf: [{ type: "integer" }, { type: "string" }] }, '"5"'],
  ["options in options", { oneOf: [{ anyOf: [{ type: "null" }, { type: "string" }] }, { type: "integer" }] }, '"5"'],
  ["options beside a type", { type: "integer", anyOf: [{ type: "string" }] }, "5"],
  ["a schema that is none", true, "5"],
])("a digit by %s", (_, schema, expected) => {
  expect(given("5", schema)).toBe(expected);
});

test("properties in the options of a schema's part go before those without a name", () => {
  const schema = {
    allOf: [{ oneOf: [{ properties: { a: { type: "string" } } }, true] }],
    additionalProperties: { type: "integer" },
  };
  expect([typedJson("5", schema, "a", "json"), typedJson("5", schema, "b", "text")]).toEqual(['"5"', "5"]);
  expect(typedJson("5", undefined, "a", "text")).toBe('"5"');
  expect(typedJson("5", { properties: { a: { type: "string" } }, additionalProperties: false }, "b", "json")).toBe("5");
});

test("options that lead to themselves have an end", () => {
  const schema = { $ref: "#/$defs/loop", $defs: { loop: { anyOf: [{ $ref: "#/$defs/loop" }, { type: "string" }] } } };
  const loop = { properties: { a: { $ref: "#/$defs/loop" } }, $defs: schema.$defs };
  expect(typedJson("5", loop, "a", "json")).toBe('"5"');
});
