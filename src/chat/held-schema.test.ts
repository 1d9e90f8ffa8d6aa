import { expect, test } from "vitest";
import { heldSchema } from "./grammar-schema.ts";
import { constraintsOf, mergeSchemas } from "./schema-merge.ts";

type Schema = Readonly<Record<string, unknown>>;
const character = '(?:[^"\\\\\\u0000-\\u001f]|\\\\["\\\\/bfnrt])';
const closed = { required: [], additionalProperties: false };

/** A schema, what a grammar holds of it, and the keywords that are checked behind the grammar. */
const cases: Readonly<Record<string, readonly [given: Schema, held: Schema, loose?: string]>> = {
  "no keyword": [{}, {}],
  remarks: [{ type: "null", title: "t", description: "d", "x-own": 1, $comment: "c", examples: [1] }, { type: "null" }],
  boolean: [{ type: "boolean" }, { type: "boolean" }],
  "a type that is not one": [{ minLength: 2, minimum: 1 }, {}, "minLength minimum"],
  // Numbers: no bound is held.
  number: [{ type: "number" }, { type: "number" }],
  "a number in bounds": [
    { type: "number", minimum: 0, maximum: 1, exclusiveMinimum: 0, exclusiveMaximum: 1, multipleOf: 2 },
    { type: "number" },
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
  ],
  "a number's format": [{ type: "number", format: "double" }, { type: "number" }],
  "a number's unknown format": [{ type: "number", format: "money" }, { type: "number" }, "format"],
  // Integers: bounds are whole and inclusive.
  integer: [{ type: "integer" }, { type: "integer" }],
  "an integer in bounds": [
    { type: "integer", minimum: 0.5, maximum: 9.5, format: "int64" },
    { type: "integer", minimum: 1, maximum: 9 },
  ],
  "an integer in exclusive bounds": [
    { type: "integer", exclusiveMinimum: 1.5, exclusiveMaximum: 9 },
    { type: "integer", minimum: 2, maximum: 8 },
  ],
  "the closer of two bounds": [
    { type: "integer", minimum: 3, exclusiveMinimum: 3, maximum: 4, exclusiveMaximum: 9 },
    { type: "integer", minimum: 4, maximum: 4 },
  ],
  "one bound": [
    { type: "integer", maximum: 7 },
    { type: "integer", maximum: 7 },
  ],
  "a bound that is not safe": [{ type: "integer", minimum: 2 ** 60 }, { type: "integer" }, "minimum"],
  "a bound that is no number": [{ type: "integer", minimum: "1" }, { type: "integer" }],
  // Texts: a pattern, a format or a length.
  string: [{ type: "string" }, { type: "string" }],
  "a text with a pattern": [
    { type: "string", pattern: "^a+$" },
    { type: "string", pattern: "^a+$" },
  ],
  "a pattern and a format": [
    { type: "string", pattern: "^a+$", format: "date", maxLength: 3 },
    { type: "string", pattern: "^a+$" },
    "minLength format",
  ],
  "a pattern that is not plain": [{ type: "string", pattern: "a" }, { type: "string" }, "pattern"],
  "a format": [{ type: "string", format: "uuid", minLength: 3 }, { type: "string", format: "uuid" }, "format"],
  "an unknown format": [{ type: "string", format: "colour" }, { type: "string" }, "format"],
  "a free format": [{ type: "string", format: "password" }, { type: "string" }],
  "a shortest text": [
    { type: "string", minLength: 2 },
    { type: "string", pattern: `^${character}{2,}$` },
  ],
  "a longest text": [
    { type: "string", maxLength: 2000 },
    { type: "string", pattern: `^${character}{0,2000}$` },
  ],
  "a length of none": [{ type: "string", minLength: 0 }, { type: "string" }],
  "a text that is too long to hold": [{ type: "string", minLength: 1, maxLength: 2001 }, { type: "string" }, "maxLength"],
  // Lists.
  array: [{ type: "array" }, { type: "array", items: {} }],
  "items alone": [{ items: { type: "null" } }, { type: "array", items: { type: "null" } }],
  "a list in bounds": [
    { type: "array", items: { type: "null" }, minItems: 1, maxItems: 1000, uniqueItems: false },
    { type: "array", items: { type: "null" }, minItems: 1, maxItems: 1000 },
  ],
  "a list without an end to hold": [{ type: "array", minItems: 0, maxItems: 1001 }, { type: "array", items: {} }, "maxItems"],
  "a list without items": [
    { type: "array", items: false },
    { type: "array", maxItems: 0 },
  ],
  "a list of no items": [
    { type: "array", maxItems: 0, items: { type: "null" } },
    { type: "array", maxItems: 0 },
  ],
  "keywords of lists that no grammar holds": [
    { type: "array", uniqueItems: true, contains: {}, unevaluatedItems: false },
    { type: "array", items: {} },
    "uniqueItems contains unevaluatedItems",
  ],
  "a tuple": [
    { prefixItems: [{ type: "null" }, true], items: { type: "boolean" } },
    { type: "array", prefixItems: [{ type: "null" }, {}], items: { type: "boolean" } },
  ],
  "a tuple of draft 7": [
    { type: "array", items: [{ type: "null" }], additionalItems: { type: "boolean" } },
    { type: "array", prefixItems: [{ type: "null" }], items: { type: "boolean" } },
  ],
  "a closed tuple in bounds": [
    { type: "array", prefixItems: [{}, {}], items: false, minItems: 2, maxItems: 2 },
    { type: "array", prefixItems: [{}, {}], items: false },
  ],
  "a tuple that is shorter or longer than its items": [
    { type: "array", prefixItems: [{}], minItems: 2, maxItems: 3 },
    { type: "array", prefixItems: [{}], items: false },
    "minItems maxItems",
  ],
  "a closed tuple that may end before its items": [
    { type: "array", prefixItems: [{}, {}], items: false, maxItems: 1 },
    { type: "array", prefixItems: [{}, {}], items: false },
    "maxItems",
  ],
  // Objects.
  object: [{ type: "object" }, { type: "object" }],
  "an open object": [{ additionalProperties: true }, { type: "object" }],
  "a closed object": [
    { type: "object", additionalProperties: false },
    { type: "object", properties: {}, ...closed },
  ],
  "an object of texts": [
    { type: "object", additionalProperties: { type: "string" } },
    { type: "object", properties: {}, required: [], additionalProperties: { type: "string" } },
  ],
  "named properties close an object": [
    { properties: { a: { type: "null" } } },
    { type: "object", properties: { a: { type: "null" } }, ...closed },
  ],
  "a required property without a schema": [
    { type: "object", properties: { a: {} }, required: ["b"], additionalProperties: { type: "null" } },
    { type: "object", properties: { a: {}, b: { type: "null" } }, required: ["b"], additionalProperties: { type: "null" } },
    "additionalProperties",
  ],
  "counts of properties": [
    { type: "object", properties: { a: {}, b: {} }, required: ["a"], minProperties: 2, maxProperties: 1 },
    { type: "object", properties: { a: {}, b: {} }, required: ["a"], additionalProperties: false },
    "minProperties maxProperties",
  ],
  "counts of properties that names keep": [
    { type: "object", properties: { a: {}, b: {} }, required: ["a"], minProperties: 1, maxProperties: 2 },
    { type: "object", properties: { a: {}, b: {} }, required: ["a"], additionalProperties: false },
  ],
  "the most properties of an open object": [
    { type: "object", maxProperties: 9, additionalProperties: true },
    { type: "object" },
    "maxProperties",
  ],
  "names that are not free": [{ type: "object", propertyNames: { maxLength: 3 } }, { type: "object" }, "propertyNames"],
  "names that are texts": [{ type: "object", propertyNames: true }, { type: "object" }],
  "no pattern for names": [{ type: "object", patternProperties: {} }, { type: "object" }],
  "keywords of objects that no grammar holds": [
    { type: "object", dependentSchemas: {}, dependencies: {}, unevaluatedProperties: false, dependentRequired: {} },
    { type: "object" },
    "dependentRequired dependentSchemas dependencies unevaluatedProperties",
  ],
  // Several types and choices.
  "several types": [
    { type: ["string", "null"], minLength: 1 },
    { anyOf: [{ type: "string", pattern: `^${character}{1,}$` }, { type: "null" }] },
  ],
  "a number is an integer too": [{ type: ["number", "integer"] }, { type: "number" }],
  nullable: [{ type: "boolean", nullable: true }, { anyOf: [{ type: "boolean" }, { type: "null" }] }],
  "nullable without a type": [{ nullable: true }, {}],
  enum: [{ enum: [1, "a", null], description: "d" }, { enum: [1, "a", null] }],
  "values of a type": [{ type: ["integer", "array", "object"], enum: [1, 1.5, "a", [], {}, null] }, { enum: [1, [], {}] }],
  "values of other types": [{ type: ["null", "boolean"], enum: [null, true, 0] }, { enum: [null, true] }],
  "values beside other keywords": [{ enum: ["a"], minLength: 1, not: {} }, { enum: ["a"] }, "not minLength"],
  const: [{ const: null }, { enum: [null] }],
  "const among values": [{ const: { a: 1 }, enum: [1, { a: 1 }] }, { enum: [{ a: 1 }] }],
  anyOf: [{ anyOf: [{ type: "null" }, false, true] }, { anyOf: [{ type: "null" }, {}] }],
  "one choice": [{ anyOf: [false, { type: "null" }] }, { type: "null" }],
  "choices beside keywords": [
    { type: "object", properties: { a: {} }, oneOf: [{ required: ["a"] }] },
    { type: "object", properties: { a: {} }, required: ["a"], additionalProperties: false },
  ],
  "anyOf beside oneOf": [{ anyOf: [{ type: "null" }], oneOf: [{}] }, { type: "null" }, "oneOf"],
  "oneOf of types": [{ oneOf: [{ type: "null" }, { type: "boolean" }] }, { anyOf: [{ type: "null" }, { type: "boolean" }] }],
  "keywords of no type": [{ type: "null", if: {}, $dynamicRef: "#a" }, { type: "null" }, "if $dynamicRef"],
  // References.
  "a reference": [
    { $ref: "#/$defs/a", $defs: { a: { type: "null" } } },
    { $ref: "#/$defs/d0", $defs: { d0: { type: "null" } } },
  ],
  "a reference twice": [
    {
      prefixItems: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }, { allOf: [{ $ref: "#/$defs/b" }] }],
      $defs: { a: true, b: { type: "null" } },
    },
    {
      type: "array",
      prefixItems: [{ $ref: "#/$defs/d0" }, { $ref: "#/$defs/d0" }, { $ref: "#/$defs/d1" }],
      items: false,
      $defs: { d0: {}, d1: { type: "null" } },
    },
  ],
  "a reference that leads nowhere": [{ $ref: "#/none" }, {}, "$ref"],
  "a reference that leads nowhere, beside a keyword": [{ $ref: "#/none", type: "null" }, { type: "null" }, "$ref"],
  "a reference beside a keyword": [
    { $ref: "#/$defs/a", type: "integer", $defs: { a: { minimum: 3 } } },
    { type: "integer", minimum: 3 },
  ],
  "allOf with true": [{ allOf: [true, { type: "null" }] }, { type: "null" }],
};

test.each(Object.entries(cases))("%s", (_, [given, held, loose = ""]) => {
  expect(heldSchema(given)).toEqual({ schema: held, loose: loose === "" ? [] : loose.split(" ") });
});

test("what is deeper than 32 is left to the check", () => {
  const nested = (levels: number): Schema => (levels === 0 ? { type: "null" } : { items: nested(levels - 1) });
  expect(heldSchema(nested(32)).loose).toEqual([]);
  expect(heldSchema(nested(33)).loose).toEqual(["its depth"]);
});

test.each<[string, Schema, RegExp | string]>([
  ["a schema that is no schema", { items: 5 }, 'schema is "a schema that is 5"; expected one that has a grammar'],
  ["allOf with false", { allOf: [{}, false] }, "allOf with false"],
  [
    "a type that nothing fits",
    { allOf: [{ type: "null" }, { type: "string" }] },
    'schema is "type"; expected a schema that some value fits',
  ],
  ["no choice", { oneOf: [false] }, 'schema is "oneOf"'],
  ["no length", { type: "string", minLength: 3, maxLength: 2 }, 'schema is "minLength"'],
  ["a tuple that is too short", { prefixItems: [{}], items: false, minItems: 2 }, 'schema is "minItems"'],
  ["more items than a grammar holds", { type: "array", minItems: 1001 }, "minItems 1001"],
  ["more values than a grammar holds", { enum: Array.from({ length: 5001 }, (_, i) => i) }, "more than 5000 values"],
  [
    "a reference to its own value",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } },
    '$ref \\"#/$defs/a\\", which refers to itself',
  ],
  [
    "one beside a keyword",
    { $ref: "#/$defs/a", minimum: 1, $defs: { a: { $ref: "#/$defs/a", maximum: 2 } } },
    "which refers to itself",
  ],
])("%s is refused", (_, schema, message) => {
  expect(() => heldSchema(schema)).toThrow(message);
});

/** Two schemas, the one for the values that fit both, and the keywords that could not be merged. */
const merges: readonly (readonly [Schema, Schema, Schema, string?])[] = [
  [{ a: 1 }, { b: 2, title: "t" }, { a: 1, b: 2 }],
  [{ format: "date" }, { format: "date" }, { format: "date" }],
  [{ format: "date" }, { format: "time" }, { format: "date" }, "format"],
  [{ required: ["a", "b"] }, { required: ["b", "c"] }, { required: ["a", "b", "c"] }],
  [{ required: "a" }, { required: ["b"] }, { required: "a" }, "required"],
  [{ enum: [1, { a: 1 }, 2] }, { enum: [{ a: 1 }, 2, 3] }, { enum: [{ a: 1 }, 2] }],
  [
    { minimum: 1, maxLength: 9 },
    { minimum: 3, maxLength: 4 },
    { minimum: 3, maxLength: 4 },
  ],
  [
    { exclusiveMinimum: 5, exclusiveMaximum: 5 },
    { exclusiveMinimum: 3, exclusiveMaximum: 6 },
    { exclusiveMinimum: 5, exclusiveMaximum: 5 },
  ],
  [{ minimum: "1" }, { minimum: 3 }, { minimum: "1" }, "minimum"],
  [{ properties: { a: 1, b: 2 } }, { properties: { b: 3, c: 4 } }, { properties: { a: 1, b: { allOf: [2, 3] }, c: 4 } }],
  [{ items: { a: 1 } }, { items: { b: 1 } }, { items: { allOf: [{ a: 1 }, { b: 1 }] } }],
  [{ items: [{}] }, { items: {} }, { items: [{}] }, "items"],
  [{ additionalProperties: false }, { additionalProperties: {} }, { additionalProperties: false }],
  [{ additionalProperties: {} }, { additionalProperties: false }, { additionalProperties: false }],
  [
    { additionalProperties: { a: 1 } },
    { additionalProperties: { b: 1 } },
    { additionalProperties: { allOf: [{ a: 1 }, { b: 1 }] } },
  ],
  [
    { properties: { a: 1 }, additionalProperties: false },
    { properties: { b: 1 } },
    { properties: { a: 1, b: 1 }, additionalProperties: false },
    "additionalProperties",
  ],
  [
    { properties: { b: 1 } },
    { properties: { a: 1 }, additionalProperties: {} },
    { properties: { b: 1, a: 1 }, additionalProperties: {} },
    "additionalProperties",
  ],
  [
    { properties: { a: 1 }, additionalProperties: false },
    { properties: { a: 1 } },
    { properties: { a: 1 }, additionalProperties: false },
  ],
  [{ type: ["string", "number"] }, { type: ["integer", "string"] }, { type: ["string", "integer"] }],
  [{ type: "integer" }, { type: "number" }, { type: ["integer"] }],
  [{ type: "number" }, { type: ["number", "integer"] }, { type: ["number"] }],
  [{ type: "string" }, { type: "null" }, { type: [] }],
];

test.each(merges.map(([a, b, merged, dropped = ""]) => [a, b, merged, dropped] as const))(
  "%j and %j are %j",
  (a, b, expected, dropped) => {
    const left: string[] = [];
    expect(mergeSchemas(a, b, (keyword) => left.push(keyword))).toEqual(expected);
    expect(left.join(" ")).toBe(dropped);
  },
);

test("remarks, definitions and a package's own keywords decide no value", () => {
  const remarks = ["title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment"];
  const places = ["$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$defs", "definitions"];
  const contents = ["contentMediaType", "contentEncoding", "contentSchema", "x-own"];
  const all = Object.fromEntries([...remarks, ...places, ...contents].map((name) => [name, 1]));
  expect(constraintsOf({ ...all, type: "null", xyz: 2 })).toEqual({ type: "null", xyz: 2 });
});

test("a schema may have 5,000 values and 500 schemas, and no more", () => {
  const values = (count: number) => ({ enum: Array.from({ length: count }, (_, i) => i) });
  expect(heldSchema(values(5000)).schema).toEqual(values(5000));
  expect(() => heldSchema(values(5001))).toThrow(
    'schema is "a schema of more than 5000 values"; expected one that has a grammar.',
  );
  const halves = (count: number) => ({ prefixItems: [values(2500), values(count)], items: false });
  expect(heldSchema(halves(2500)).loose).toEqual([]);
  expect(() => heldSchema(halves(2501))).toThrow("more than 5000 values");
  const items = (count: number) => ({ prefixItems: Array.from({ length: count }, () => ({ type: "null" })), items: false });
  expect(heldSchema(items(499)).loose).toEqual([]);
  expect(() => heldSchema(items(500))).toThrow('schema is "a schema of more than 500 schemas"');
  expect(() => heldSchema({ type: "array", minItems: 1001 })).toThrow(
    'schema is "minItems 1001"; expected one that has a grammar.',
  );
  expect(heldSchema({ type: "array", minItems: 1000 }).schema).toEqual({ type: "array", items: {}, minItems: 1000 });
});

test("a schema is held up to 32 levels below the first, and what is deeper is free", () => {
  const deep = (levels: number): Schema => (levels === 0 ? { type: "null" } : { type: "array", items: deep(levels - 1) });
  expect(heldSchema(deep(32))).toEqual({ schema: deep(32), loose: [] });
  const { schema, loose } = heldSchema(deep(33));
  expect(loose).toEqual(["its depth"]);
  expect(JSON.stringify(schema)).toBe(JSON.stringify(deep(33)).replace('{"type":"null"}', "{}"));
});
