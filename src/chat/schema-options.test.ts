import { expect, test } from "vitest";
import { atPointer } from "../core/json-pointer.ts";
import { areDisjoint } from "./schema-options.ts";

const tagged = (...kinds: readonly unknown[]) =>
  kinds.map((kind) => ({ properties: { kind: { const: kind }, n: {} }, required: ["kind"] }));

test.each<[string, Parameters<typeof areDisjoint>[0], boolean]>([
  ["types", [{ type: "string" }, { type: "null" }], true],
  ["a type twice", [{ type: "string" }, { type: "null" }, { type: "string" }], false],
  ["a number and an integer", [{ type: "number" }, { type: "integer" }], false],
  ["lists of types", [{ type: ["string"] }, { type: ["null"] }], false],
  ["values", [{ enum: [1, 2] }, { const: 3 }, { enum: ["1"] }], true],
  ["a value twice", [{ enum: [1, 2] }, { const: 2 }], false],
  ["a value twice in one schema", [{ enum: [1, 1] }, { const: 2 }], true],
  ["a schema without values", [{ enum: [1] }, {}], false],
  ["values of a required property", tagged("a", "b", "c"), true],
  ["a value of it twice", tagged("a", "b", "a"), false],
  ["a property that is not required", [...tagged("a"), { properties: { kind: { const: "b" } } }], false],
  ["a property without values", [...tagged("a"), { properties: { kind: {} }, required: ["kind"] }], false],
  ["a property whose schema is true", [...tagged("a"), { properties: { kind: true }, required: ["kind"] }], false],
  ["another property", [...tagged("a"), { properties: { type: { const: "b" } }, required: ["type"] }], false],
  [
    "the second of two properties",
    [
      { properties: { a: { const: 1 }, b: { const: 1 } }, required: ["a", "b"] },
      { properties: { a: { const: 1 }, b: { const: 2 } }, required: ["a", "b"] },
    ],
    true,
  ],
  ["nothing", [], true],
])("no value fits two by %s", (_, options, expected) => {
  expect(areDisjoint(options)).toBe(expected);
});

test.each<[string, unknown]>([
  ["#", { "a/b": { "~": [5, null] }, "é 1": 7 }],
  ["#/a~1b/~0/0", 5],
  ["#/a~1b/~0/1", null],
  ["#/%C3%A9%201", 7],
  ["#/a~1b/~0/1/x", undefined],
  ["#/a~1b/~0/2", undefined],
  ["#/toString", undefined],
  ["#/%zz", undefined],
  ["#name", undefined],
  ["other.json#/a~1b", undefined],
])("the value at %s", (reference, expected) => {
  expect(atPointer({ "a/b": { "~": [5, null] }, "é 1": 7 }, reference)).toEqual(expected);
});
