import { expect, test } from "vitest";
import { randomStream } from "../core/random.ts";
import { checkJson } from "../tools/check-json.ts";
import { Grammars } from "./grammar.ts";
import { heldSchema, isPlainPattern } from "./grammar-schema.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** One token a byte, and an end. */
const end = 256;
const hex = (byte: number) => byte.toString(16).toUpperCase().padStart(2, "0");
const tokens = new Map(Array.from({ length: end + 1 }, (_, id) => [id, id === end ? "</s>" : `<0x${hex(id)}>`]));
const grammars = new Grammars(
  {
    size: end + 1,
    stopTokens: [end],
    addedTokens: [{ text: "</s>", special: true }],
    vocabulary: { tokens, bytes: "byte_fallback" },
  } as Partial<Tokenizer> as Tokenizer,
  undefined,
);

type Schema = Readonly<Record<string, unknown>>;
const o = (properties: Schema, rest: Schema = {}) => ({
  ...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
  ...rest,
});
const maskOf = async (schema: Schema) => {
  const mask = await grammars.mask({ form: { schema } });
  if (mask === undefined) throw new Error("no mask");
  return mask;
};

/** Whether a text passes the grammar, and the check where the grammar does not hold all of the schema. */
async function passes(schema: Schema, text: string): Promise<boolean> {
  const mask = await maskOf(schema);
  try {
    for (const token of [...Buffer.from(text), end]) {
      if (!(((mask.next()[token >> 5] ?? 0) >>> (token & 31)) & 1)) return false;
      mask.accept(token);
    }
    return mask.loose.length === 0 || checkJson(schema, JSON.parse(text))?.success === true;
  } finally {
    mask.close();
  }
}

/** Schema, keywords that are checked behind the grammar, texts that fit, texts that do not. */
const cases: Record<string, [Schema, string, string[], string[]]> = {
  // mlc-ai/xgrammar#104, #774; vllm-project/vllm#16880; ggml-org/llama.cpp#8073
  "required alone": [{ type: "object", required: ["a"] }, "", ['{"a": 1}'], ["{}"]],
  "required beside others": [
    { type: "object", properties: { b: { type: "string" } }, required: ["a"] },
    "",
    ['{"b": "x", "a": 1}', '{"a": 1}'],
    ['{"b": "x"}', "{}"],
  ],
  "a reference with a sibling": [
    o({ a: { $ref: "#/$defs/n", enum: ["x"] } }, { $defs: { n: { type: "string" } } }),
    "",
    ['{"a": "x"}'],
    ['{"a": "y"}'],
  ],
  allOf: [o({ a: { allOf: [{ type: "integer", minimum: 3 }, { maximum: 5 }] } }), "", ['{"a": 4}'], ['{"a": 9}', '{"a": "x"}']],
  "allOf of objects": [
    {
      allOf: [
        { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        { properties: { b: { type: "integer" } }, required: ["b"] },
      ],
    },
    "",
    ['{"a": "x", "b": 1}'],
    ['{"a": "x"}', '{"a": "x", "b": "y"}'],
  ],
  "a number's exclusive bound": [
    o({ a: { type: "number", exclusiveMinimum: 0 } }),
    "exclusiveMinimum",
    ['{"a": 0.5}'],
    ['{"a": 0}', '{"a": -1}'],
  ],
  "an integer's exclusive bounds": [
    o({ a: { type: "integer", exclusiveMinimum: 0, exclusiveMaximum: 12 } }),
    "",
    ['{"a": 1}', '{"a": 11}'],
    ['{"a": 0}', '{"a": 12}', '{"a": -3}'],
  ],
  multipleOf: [o({ a: { type: "integer", multipleOf: 5 } }), "multipleOf", ['{"a": 10}'], ['{"a": 7}']],
  "a pattern that is not anchored": [
    o({ a: { type: "string", pattern: "[0-9]" } }),
    "pattern",
    ['{"a": "x5"}', '{"a": "5"}'],
    ['{"a": "x"}'],
  ],
  "a pattern and a length": [
    o({ a: { type: "string", pattern: "^[a-z]+$", minLength: 3 } }),
    "minLength",
    ['{"a": "xyz"}'],
    ['{"a": "x"}', '{"a": "XYZ"}'],
  ],
  uniqueItems: [
    o({ a: { type: "array", uniqueItems: true, items: { enum: [1, 2] } } }),
    "uniqueItems",
    ['{"a": [1, 2]}'],
    ['{"a": [1, 1]}'],
  ],
  "anyOf beside a type": [
    o({ a: { type: "string", anyOf: [{ minLength: 3 }] } }),
    "",
    ['{"a": "xyz"}'],
    ['{"a": "x"}', '{"a": 5}'],
  ],
  "anyOf of required": [
    {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      anyOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    "",
    ['{"a": "x"}', '{"b": "x"}'],
    ["{}"],
  ],
  "oneOf that overlaps": [
    o({
      a: {
        oneOf: [
          { type: "integer", minimum: 0, maximum: 10 },
          { type: "integer", minimum: 5, maximum: 20 },
        ],
      },
    }),
    "oneOf",
    ['{"a": 3}', '{"a": 15}'],
    ['{"a": 7}'],
  ],
  "oneOf by a kind": [
    { oneOf: [o({ kind: { const: "a" }, n: { type: "integer" } }), o({ kind: { const: "b" } })] },
    "",
    ['{"kind": "a", "n": 1}', '{"kind": "b"}'],
    ['{"kind": "b", "n": 1}', '{"kind": "a"}'],
  ],
  not: [o({ a: { type: "string", not: { const: "x" } } }), "not", ['{"a": "y"}'], ['{"a": "x"}']],
  dependentRequired: [
    { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, dependentRequired: { a: ["b"] } },
    "dependentRequired",
    ['{"a": 1, "b": 2}', '{"b": 2}'],
    ['{"a": 1}'],
  ],
  if: [
    {
      type: "object",
      properties: { k: { enum: ["x", "y"] }, z: { type: "integer" } },
      required: ["k"],
      if: { properties: { k: { const: "x" } } },
      // biome-ignore lint/suspicious/noThenProperty: the keyword
      then: { required: ["z"] },
    },
    "if",
    ['{"k": "x", "z": 1}', '{"k": "y"}'],
    ['{"k": "x"}'],
  ],
  "a name with a quote": [o({ 'a"b': { type: "integer" } }), "properties", ['{"a\\"b": 1}'], ["{}", '{"a\\"b": "x"}']],
  patternProperties: [
    { type: "object", patternProperties: { "^s_": { type: "integer" } }, additionalProperties: false },
    "patternProperties",
    ['{"s_a": 1}', "{}"],
    ['{"t": 1}', '{"s_a": "x"}'],
  ],
  // further ones: formats with days that are none, names that come twice, unions with null, tuples of both drafts
  "a format": [
    o({ a: { type: "string", format: "date" } }),
    "format",
    ['{"a": "2026-02-28"}'],
    ['{"a": "2026-02-30"}', '{"a": "soon"}'],
  ],
  "a name that comes twice": [
    { type: "object", properties: { a: { type: "integer" } }, additionalProperties: { type: "string" } },
    "additionalProperties",
    ['{"a": 1, "b": "x"}'],
    ['{"a": 1, "a": "x"}', '{"b": 1}'],
  ],
  "null by OpenAPI": [o({ a: { type: "string", nullable: true } }), "", ['{"a": "x"}', '{"a": null}'], ['{"a": 1}']],
  "an enum of which some have the type": [o({ a: { type: "string", enum: ["x", 1] } }), "", ['{"a": "x"}'], ['{"a": 1}']],
  "const and enum of objects": [
    o({ a: { const: { k: [1, "a\n"] } } }),
    "",
    ['{"a": {"k":[1,"a\\n"]}}'],
    ['{"a": {"k":[2,"a\\n"]}}'],
  ],
  "a tuple of draft 7": [
    o({ a: { type: "array", items: [{ type: "integer" }, { type: "string" }], additionalItems: false } }),
    "",
    ['{"a": [1, "x"]}'],
    ['{"a": ["x", 1]}', '{"a": [1, "x", 2]}'],
  ],
  "a property that may not be there": [
    { type: "object", properties: { a: false, b: { type: "integer" } } },
    "",
    ['{"b": 1}', "{}"],
    ['{"a": 1}'],
  ],
  "pydantic's references with a default": [
    o({ a: { allOf: [{ $ref: "#/$defs/e" }], default: "x" } }, { $defs: { e: { enum: ["x", "y"] } } }),
    "",
    ['{"a": "y"}'],
    ['{"a": "z"}'],
  ],
  "zod's record": [
    { type: "object", propertyNames: { type: "string" }, additionalProperties: { type: "number" } },
    "",
    ['{"k": 1.5}', "{}"],
    ['{"k": "x"}'],
  ],
  "a tree": [
    { $ref: "#/$defs/t", $defs: { t: o({ v: { type: "integer" }, kids: { type: "array", items: { $ref: "#/$defs/t" } } }) } },
    "",
    ['{"v": 1, "kids": [{"v": 2, "kids": []}]}'],
    ['{"v": 1, "kids": [5]}'],
  ],
};

test.each(Object.entries(cases))("%s: what is said has the schema", async (_, [schema, loose, good, bad]) => {
  expect(heldSchema(schema).loose.join(" ")).toBe(loose);
  for (const text of good) expect(await passes(schema, text), text).toBe(true);
  for (const text of bad) expect(await passes(schema, text), text).toBe(false);
});

test("every text of a grammar that is enough fits its schema", async () => {
  const random = randomStream(1, "texts");
  let whole = 0;
  for (const [schema, loose] of Object.values(cases)) {
    if (loose !== "") continue;
    const mask = await maskOf(schema);
    for (let i = 0; i < 8; i++) {
      mask.restart();
      const bytes: number[] = [];
      while (bytes.length < 200) {
        const bits = mask.next();
        const open = Array.from({ length: end + 1 }, (_, token) => token).filter(
          (token) => ((bits[token >> 5] ?? 0) >>> (token & 31)) & 1,
        );
        // Bytes behind 127 are halves of letters, which may not be cut.
        const plain = open.filter((token) => token < 128 || token === end);
        const token = open.includes(end) ? end : random.pick(plain.length > 0 ? plain : open);
        mask.accept(token);
        if (token === end) break;
        bytes.push(token);
      }
      if (bytes.length === 200) continue;
      const text = Buffer.from(bytes).toString();
      expect(checkJson(schema, JSON.parse(text)), text).toEqual({ success: true });
      whole++;
    }
    mask.close();
  }
  expect(whole).toBeGreaterThan(60);
});

const nested = (levels: number): Schema => (levels === 0 ? { type: "string" } : o({ a: nested(levels - 1) }));

test.each<[string, Schema, RegExp]>([
  ["a schema 400 levels deep", nested(400), /nested more than 64 levels/],
  ["no schema", { type: "nonsense" }, /nonsense.*no JSON schema/],
  ["a reference that leads nowhere", o({ a: { $ref: "#/$defs/none" } }), /can't resolve reference/],
  ["a reference to another file", o({ a: { $ref: "https://example.org/a.json" } }), /can't resolve reference/],
  ["a reference to itself", { $ref: "#" }, /refers to itself|Maximum call stack/],
  ["bounds without a value", o({ a: { type: "integer", minimum: 3, maximum: 2 } }), /minimum.*some value fits/],
  ["lengths without a value", o({ a: { type: "array", items: {}, minItems: 3, maxItems: 2 } }), /minItems.*some value fits/],
  ["an enum without a value", o({ a: { type: "string", enum: [1] } }), /enum.*some value fits/],
  [
    "a required property that may not be there",
    { type: "object", properties: { a: false }, required: ["a"] },
    /required.*some value fits/,
  ],
  ["a draft that is not known", { $schema: "http://json-schema.org/draft-03/schema#", type: "object" }, /draft-03/],
  [
    "2,000 properties",
    o(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`p${i}`, { type: "string" }]))),
    /more than 500 schemas/,
  ],
])("%s: refused by name, and the next form has its grammar", async (_, schema, message) => {
  await expect(grammars.mask({ form: { schema } })).rejects.toThrow(message);
  expect(await passes(o({ a: { type: "integer" } }), '{"a": 1}')).toBe(true);
});

test.each([
  ["^[a-z]+$", true],
  ["^(?:foo|ba[rz]{2,3})?-\\d+$", true],
  ["[a-z]+", false],
  ["^a|b$", false],
  ["^.*$", false],
  ['^[^"]+$', false],
  ["^(a+)+$", false],
  ["^(?=a)b$", false],
  ["^a\\w$", false],
])("the pattern %s is read as JavaScript does: %s", (pattern, isPlain) => expect(isPlainPattern(pattern)).toBe(isPlain));
