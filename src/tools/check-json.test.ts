import { expect, test } from "vitest";
import { checkJson, uncheckable } from "./check-json.ts";

type Schema = Readonly<Record<string, unknown>>;
const o = (properties: Schema, rest: Schema = {}) => ({ type: "object", properties, ...rest });

/** Schema, values that fit, values that do not. colinhacks/zod#6198, #6323; orval-labs/orval#3780; dylanneve1/talon#366. */
const cases: Record<string, [Schema, unknown[], unknown[]]> = {
  "required alone": [{ type: "object", required: ["a"] }, [{ a: null }], [{}]],
  "oneOf of required": [
    o({ a: {}, b: {} }, { oneOf: [{ required: ["a"] }, { required: ["b"] }] }),
    [{ a: 1 }],
    [{ a: 1, b: 2 }, {}],
  ],
  "anyOf beside properties": [
    o({ a: { type: "string" } }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
    [{ a: "x" }, { b: 1 }],
    [{}],
  ],
  "integers beyond 2^53": [o({ a: { type: "integer" } }), [{ a: 2 ** 60 }, { a: 1e20 }], [{ a: 5.5 }]],
  "const and enum of objects": [
    o({ a: { const: { k: 1 } }, b: { enum: [[1, 2]] } }),
    [{ a: { k: 1 }, b: [1, 2] }],
    [{ a: { k: 2 } }, { b: [2] }],
  ],
  "values beside a type": [o({ a: { type: "string", enum: ["x", 1] } }), [{ a: "x" }], [{ a: 1 }]],
  "a reference with a sibling": [
    o({ a: { $ref: "#/$defs/n", maximum: 5 } }, { $defs: { n: { type: "integer" } } }),
    [{ a: 1 }],
    [{ a: 9 }],
  ],
  "keywords without a type": [o({ a: { minimum: 5, minLength: 2 } }), [{ a: 5 }, { a: "xx" }], [{ a: 4 }, { a: "x" }]],
  "not, if and dependentRequired": [
    // biome-ignore lint/suspicious/noThenProperty: the keyword
    { not: { required: ["c"] }, if: { required: ["a"] }, then: { required: ["z"] }, dependentRequired: { b: ["z"] } },
    [{ z: 1, a: 1, b: 1 }, {}],
    [{ c: 1 }, { a: 1 }, { b: 1 }],
  ],
  // further ones: names of Object's own, tuples of draft 7, OpenAPI's null, steps of 0.01, anchors, several tools with one $id
  "names that every object has": [{ type: "object", required: ["toString"] }, [{ toString: 1 }], [{}]],
  "a tuple of draft 7": [
    o({ a: { type: "array", items: [{ type: "integer" }], additionalItems: false } }),
    [{ a: [1] }],
    [{ a: ["x"] }, { a: [1, 2] }],
  ],
  "siblings of a reference in draft 7": [
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      definitions: { n: { type: "integer" } },
      properties: { a: { $ref: "#/definitions/n" } },
    },
    [{ a: 1 }],
    [{ a: "x" }],
  ],
  "null by OpenAPI": [o({ a: { type: "string", nullable: true } }), [{ a: null }], [{ a: 1 }]],
  "steps of 0.01": [o({ a: { type: "number", multipleOf: 0.01 } }), [{ a: 19.99 }, { a: 4.35 }], [{ a: 0.005 }]],
  "an anchor": [o({ a: { $ref: "#n" } }, { $defs: { n: { $anchor: "n", type: "integer" } } }), [{ a: 1 }], [{ a: "x" }]],
  "an $id": [{ $id: "https://example.org/tool", type: "object", required: ["a"] }, [{ a: 1 }], [{}]],
  "the same $id once more": [{ $id: "https://example.org/tool", type: "object", required: ["b"] }, [{ b: 1 }], [{ a: 1 }]],
  "a format that is none": [o({ a: { type: "string", format: "enum" } }), [{ a: "x" }], [{ a: 1 }]],
};

test.each(Object.entries(cases))("%s", (_, [schema, good, bad]) => {
  for (const value of good) expect(checkJson(schema, value), JSON.stringify(value)).toEqual({ success: true });
  for (const value of bad) expect(checkJson(schema, value), JSON.stringify(value)).toMatchObject({ success: false });
});

test("what is wrong is named by its place", () => {
  const schema = o({ a: o({ b: { enum: ["x", "y"] } }, { required: ["c"], additionalProperties: false }) });
  expect(checkJson(schema, { a: { b: "z", d: 1 } })).toEqual({
    success: false,
    problems: [
      "a.c: is required",
      'a: must NOT have additional properties ("d")',
      'a.b: must be equal to one of the allowed values (["x","y"])',
    ],
  });
});

const nested = (levels: number): Schema => (levels === 0 ? {} : o({ a: nested(levels - 1) }));

test.each<[string, Schema, RegExp]>([
  ["a reference to another file", o({ a: { $ref: "https://example.org/other.json" } }), /can't resolve reference/],
  ["no schema", { type: "nonsense" }, /no JSON schema: type/],
  ["draft 4, whose bounds are another", { $schema: "http://json-schema.org/draft-04/schema#" }, /draft-04/],
  ["400 levels", nested(400), /nested more than 64 levels/],
  ["100,000 values", { enum: Array.from({ length: 100_000 }, (_, i) => i) }, /more than 50000 values/],
])("%s: is not checked, and says why", (_, schema, why) => {
  expect(checkJson(schema, {})).toBeUndefined();
  expect(uncheckable(schema)).toMatch(why);
});

test.each([
  ["pattern", o({ a: { type: "string", pattern: "^(a+)+$" } }), { a: `${"a".repeat(60)}b` }],
  ["patternProperties", { type: "object", patternProperties: { "^(a|aa)+$": {} } }, { [`${"a".repeat(60)}b`]: 1 }],
  ["propertyNames", { type: "object", propertyNames: { pattern: "^([a-z]+)*$" } }, { [`${"a".repeat(60)}!`]: 1 }],
])("a %s that backtracks without end is stopped", (_, schema, value) => {
  expect(() => checkJson(schema, value)).toThrow(/no end within 1000 ms/);
});

test("each draft is checked by its own rules", () => {
  const [newer, older] = [
    { prefixItems: [{ type: "integer" }], items: false },
    { items: [{ type: "integer" }], additionalItems: false },
  ];
  const problems = ($schema: string | undefined, schema: Schema, value: unknown) => {
    const checked = checkJson($schema === undefined ? schema : { $schema, ...schema }, value);
    return checked === undefined ? "unchecked" : checked.success ? "none" : checked.problems.join();
  };
  const last = ["0: must be integer", "unchecked"];
  const before = ["0: boolean schema is false", "must NOT have more than 1 items"];
  const drafts: readonly (readonly [string, readonly string[]])[] = [
    ["https://json-schema.org/draft/2020-12/schema", last],
    ["http://json-schema.org/draft/2020-12/schema#", last],
    ["https://json-schema.org/draft/2019-09/schema", before],
    ["http://json-schema.org/draft-07/schema#", before],
    ["https://json-schema.org/draft-06/schema", before],
  ];
  for (const [draft, expected] of drafts)
    expect([draft, problems(draft, newer, ["x"]), problems(draft, older, [1, 2])]).toEqual([draft, ...expected]);
  // Without a draft it is the newest that has the schema.
  expect([problems(undefined, newer, ["x"]), problems(undefined, older, [1, 2])]).toEqual([last[0], before[1]]);
});

test("why a schema is not checked is said for each draft that was tried, with its first problem", () => {
  const wrong = { minLength: "x", maxLength: "y" };
  expect(uncheckable(wrong)).toBe(
    "it is no JSON schema: maxLength: must be integer (2020-12); it is no JSON schema: maxLength: must be integer (draft 7)",
  );
  expect(uncheckable({ $schema: "https://json-schema.org/draft/2019-09/schema", ...wrong })).toBe(
    "it is no JSON schema: maxLength: must be integer (2019-09)",
  );
  for (const $schema of ["http://json-schema.org/draft-04/schema#", "constructor", "", 5])
    expect(uncheckable({ $schema } as never)).toBe(`its $schema is ${JSON.stringify($schema)}, of which no draft is known here`);
  expect([uncheckable({}), uncheckable({ type: "string" })]).toEqual([undefined, undefined]);
});

test("problems have their place, what was expected, and at most eight of them are reported", () => {
  const problems = (schema: Schema, value: unknown) => {
    const checked = checkJson(schema, value);
    return checked === undefined || checked.success ? [] : checked.problems;
  };
  const inner = { required: ["q"], properties: { "~c": { const: 5 } } };
  expect(problems({ required: ["q"], properties: { "a/b": inner } }, { "a/b": { "~c": 6 } })).toEqual([
    ...["q: is required", "a/b.q: is required", "a/b.~c: must be equal to constant (5)"],
  ]);
  expect(problems({ type: "string" }, 5)).toEqual(["must be string"]);
  const long = "x".repeat(300);
  expect(problems({ enum: [long] }, 1)).toEqual([`must be equal to one of the allowed values (["${long.slice(0, 198)})`]);
  const all = (count: number) =>
    problems(
      { items: { type: "string" } },
      Array.from({ length: count }, (_, i) => i),
    );
  expect([all(8).length, all(9).length]).toEqual([8, 8]);
  expect(all(9).at(-1)).toBe("7: must be string");
  // The same problem by two branches is one.
  expect(problems({ anyOf: [{ type: "string" }, { type: "string", minLength: 1 }] }, 5)).toEqual([
    ...["must be string", "must match a schema in anyOf"],
  ]);
});
