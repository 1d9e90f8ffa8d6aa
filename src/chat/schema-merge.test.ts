import { expect, test } from "vitest";
import { constraintsOf, type Keywords, mergeSchemas } from "./schema-merge.ts";

test("keywords that decide which values fit, without remarks", () => {
  const remarks = [
    ...["title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment", "$schema"],
    ...["$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$defs", "definitions", "contentMediaType", "contentEncoding"],
    ...["contentSchema", "x-own"],
  ];
  const schema = { type: "string", $ref: "#", "y-own": 1, max: 2 };
  expect(constraintsOf({ ...schema, ...Object.fromEntries(remarks.map((keyword) => [keyword, 1])) })).toEqual(schema);
});

test.each<[string, Keywords, Keywords, Keywords, string?]>([
  ["another keyword", { type: "string" }, { pattern: "a", title: "t" }, { type: "string", pattern: "a" }],
  ["the same keyword", { pattern: "a", enum: [1] }, { pattern: "a", enum: [1] }, { pattern: "a", enum: [1] }],
  ["required", { required: ["a", "b"] }, { required: ["b", "c"] }, { required: ["a", "b", "c"] }],
  ["required that is no list", { required: ["a"] }, { required: "b" }, { required: ["a"] }, "required"],
  ["types", { type: ["string", "null"] }, { type: ["null", "array"] }, { type: ["null"] }],
  ["types without a common one", { type: "string" }, { type: "null" }, { type: [] }],
  ["a number and an integer", { type: "number" }, { type: "integer" }, { type: ["integer"] }],
  ["an integer and a number", { type: ["integer", "null"] }, { type: "number" }, { type: ["integer"] }],
  ["a number and both", { type: "number" }, { type: ["integer", "number"] }, { type: ["number"] }],
  ["enum", { enum: [1, "1", { a: 1 }] }, { enum: [{ a: 1 }, "1"] }, { enum: ["1", { a: 1 }] }],
  ["enum that is no list", { enum: [1] }, { enum: 1 }, { enum: [1] }, "enum"],
  ["least bounds", { minimum: 1, minLength: 5 }, { minimum: 3, minLength: 2 }, { minimum: 3, minLength: 5 }],
  ["largest bounds", { maximum: 1, maxItems: 5 }, { maximum: 3, maxItems: 2 }, { maximum: 1, maxItems: 2 }],
  [
    "exclusive bounds",
    { exclusiveMinimum: 1, exclusiveMaximum: 9 },
    { exclusiveMinimum: 2, exclusiveMaximum: 8 },
    { exclusiveMinimum: 2, exclusiveMaximum: 8 },
  ],
  [
    "bounds that are no numbers",
    { minimum: 1, maximum: "2" },
    { minimum: true, maximum: 3 },
    { minimum: 1, maximum: "2" },
    "minimum maximum",
  ],
  [
    "keywords that only end like bounds",
    { vitamin: 1, climax: 1, exclusive: 1 },
    { vitamin: 2, climax: 2, exclusive: 2 },
    { vitamin: 1, climax: 1, exclusive: 1 },
    "vitamin climax exclusive",
  ],
  [
    "properties",
    { properties: { a: { type: "string" }, b: {} } },
    { properties: { a: { minLength: 1 }, c: true } },
    { properties: { a: { allOf: [{ type: "string" }, { minLength: 1 }] }, b: {}, c: true } },
  ],
  ["properties that are none", { properties: { a: {} } }, { properties: [] }, { properties: { a: {} } }, "properties"],
  [
    "items",
    { items: { type: "string" } },
    { items: { minLength: 1 } },
    { items: { allOf: [{ type: "string" }, { minLength: 1 }] } },
  ],
  ["items of a tuple", { items: { type: "string" } }, { items: [{}] }, { items: { type: "string" } }, "items"],
  ["items beside those of a tuple", { items: [{}] }, { items: { type: "string" } }, { items: [{}] }, "items"],
  [
    "additional properties",
    { additionalProperties: { type: "string" } },
    { additionalProperties: { minLength: 1 } },
    { additionalProperties: { allOf: [{ type: "string" }, { minLength: 1 }] } },
  ],
  [
    "additional properties of none",
    { additionalProperties: true },
    { additionalProperties: false },
    { additionalProperties: false },
  ],
  [
    "none of additional properties",
    { additionalProperties: false },
    { additionalProperties: {} },
    { additionalProperties: false },
  ],
  [
    "properties that the first is closed to",
    { properties: { a: {} }, additionalProperties: false },
    { properties: { b: {} } },
    { properties: { a: {}, b: {} }, additionalProperties: false },
    "additionalProperties",
  ],
  [
    "properties that the second is closed to",
    { properties: { b: {} } },
    { properties: { a: {} }, additionalProperties: { type: "string" } },
    { properties: { a: {}, b: {} }, additionalProperties: { type: "string" } },
    "additionalProperties",
  ],
  [
    "the same properties, closed",
    { properties: { a: {} }, additionalProperties: false },
    { properties: { a: {} }, additionalProperties: true },
    { properties: { a: {} }, additionalProperties: false },
  ],
  [
    "no properties to be closed to",
    { additionalProperties: false },
    { properties: [] },
    { additionalProperties: false, properties: [] },
  ],
  [
    "what cannot be merged",
    { pattern: "a", format: "date" },
    { pattern: "b", format: "time" },
    { pattern: "a", format: "date" },
    "pattern format",
  ],
])("one schema for %s of two", (_, a, b, merged, dropped = "") => {
  const left: string[] = [];
  expect(mergeSchemas(a, b, (keyword) => left.push(keyword))).toEqual(merged);
  expect(left.join(" ")).toBe(dropped);
});
