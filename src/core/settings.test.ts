import { expect, test } from "vitest";
import { z } from "zod";
import { ConfigError, RunError } from "./errors.ts";
import { closest, didYouMean, parseSettings, requireAll } from "./settings.ts";

const schema = z.strictObject({
  steps: z.int().min(1).default(3),
  rollout: z.strictObject({ groupSize: z.int().min(2).default(8), temperature: z.number().positive().default(1) }).prefault({}),
  rule: z
    .discriminatedUnion("kind", [
      z.strictObject({ kind: z.literal("seeupo"), order: z.enum(["reverse", "sequential"]).default("reverse") }),
      z.strictObject({ kind: z.literal("grpo"), divideByStd: z.boolean().default(true) }),
    ])
    .prefault({ kind: "seeupo" }),
});

function errorOf(value: unknown, at?: string): ConfigError {
  try {
    parseSettings(schema, value, at);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("no error was thrown");
}

test("a misspelt setting is named by its path, with the name that was probably meant", () => {
  expect(errorOf({ rollout: { grupSize: 4 } }).message).toBe(
    'rollout.grupSize is 4; expected no setting of this name. Did you mean "groupSize"?',
  );
});

test("a misspelt setting inside of one kind of a union is compared with the settings of that kind", () => {
  expect(errorOf({ rule: { kind: "grpo", divideBystd: true } }).hint).toBe('Did you mean "divideByStd"?');
  expect(errorOf({ rule: { kind: "grpo", order: "reverse" } }).hint).toBe("The settings here are kind, divideByStd.");
});

test("a misspelt value is answered with the values that there are", () => {
  expect(errorOf({ rule: { kind: "seeupo", order: "revers" } }).message).toBe(
    'rule.order is "revers"; expected "reverse" or "sequential". Did you mean "reverse"?',
  );
  expect(errorOf({ rule: { kind: "seupo" } }).message).toBe(
    'rule.kind is "seupo"; expected "seeupo" or "grpo". Did you mean "seeupo"?',
  );
});

test("numbers out of range and of the wrong type say what was expected", () => {
  expect(errorOf({ steps: 0 }).message).toBe("steps is 0; expected at least 1.");
  expect(errorOf({ steps: 1.5 }).message).toBe("steps is 1.5; expected a whole number.");
  expect(errorOf({ rollout: { temperature: 0 } }).message).toBe("rollout.temperature is 0; expected more than 0.");
  expect(errorOf({ steps: "many" }).message).toBe('steps is "many"; expected a number.');
});

test("a value that fits none of several forms is answered with all of them", () => {
  const order = z.strictObject({ order: z.union([z.enum(["reverse", "random"]), z.array(z.int())]) });
  expect(() => parseSettings(order, { order: "revers" })).toThrow(
    'order is "revers"; expected "reverse", "random", or an array. Did you mean "reverse"?',
  );
});

test("paths start where the settings stand", () => {
  expect(errorOf({ step: 3 }, "environment.settings").subject).toBe("environment.settings.step");
});

test("defaults are filled in at every depth", () => {
  expect(parseSettings(schema, { rollout: { groupSize: 4 } })).toEqual({
    steps: 3,
    rollout: { groupSize: 4, temperature: 1 },
    rule: { kind: "seeupo", order: "reverse" },
  });
});

test("only near words are suggested", () => {
  expect(closest("offise", ["office", "bfcl"])).toBe("office");
  expect(closest("weather", ["office", "bfcl"])).toBeUndefined();
});

test("what each kind of issue expects, in words", () => {
  const forms = z.strictObject({
    list: z.array(z.strictObject({ a: z.int(), b: z.boolean() })).optional(),
    below: z.number().lt(1).optional(),
    most: z.number().max(2).optional(),
    word: z.string().min(3).optional(),
    letters: z
      .string()
      .regex(/^[a-z]+$/, "small letters")
      .optional(),
    either: z.union([z.literal("off"), z.strictObject({ rate: z.number() })]).optional(),
    lazy: z.lazy(() => z.strictObject({ deep: z.int() })).optional(),
    tag: z.union([z.literal(1), z.literal("two")]).optional(),
    shape: z.union([z.strictObject({ side: z.number() }), z.strictObject({ radius: z.number() })]).optional(),
  });
  const message = (value: unknown) => {
    try {
      return parseSettings(forms, value);
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect([
    message({
      list: [
        { a: 1, b: true },
        { a: 1, b: true, aa: 2 },
      ],
    }),
    message({ list: [{ a: 1, b: "x" }] }),
    message({ list: {} }),
    message({ below: 1 }),
    message({ most: 3 }),
    message({ word: "ab" }),
    message({ letters: "A" }),
    message({ either: { rat: 1 } }),
    message({ either: { rate: "x" } }),
    message({ either: "of" }),
    message({ either: 5 }),
    message({ lazy: { dep: 1 } }),
    message({ tag: "tow" }),
    message({ shape: { radius: "x" } }),
    message({ entirely: 1, most: 3 }),
    message(5),
  ]).toEqual([
    'list.1.aa is 2; expected no setting of this name. Did you mean "a"?',
    'list.0.b is "x"; expected a boolean.',
    "list is {}; expected an array.",
    "below is 1; expected less than 1.",
    "most is 3; expected at most 2.",
    'word is "ab"; expected at least 3.',
    'letters is "A"; expected small letters.',
    'either.rat is 1; expected no setting of this name. Did you mean "rate"?',
    'either.rate is "x"; expected a number.',
    'either is "of"; expected "off", or an object. Did you mean "off"?',
    'either is 5; expected "off", or an object.',
    'lazy.dep is 1; expected no setting of this name. Did you mean "deep"?',
    'tag is "tow"; expected 1, or "two". Did you mean "two"?',
    'shape.radius is "x"; expected a number.',
    "entirely is 1; expected no setting of this name. The settings here are list, below, most, word, letters, either, lazy, tag, shape.",
    "configuration is 5; expected an object.",
  ]);
});

test("a third of a word's letters may differ, one at least: insertions, deletions, substitutions and swaps of neighbours", () => {
  const near = (word: string, candidate: string) => closest(word, [candidate]) === candidate;
  const cases = [
    ["ab", "ba"],
    ["ab", "cd"],
    ["a", "b"],
    ["a", "bc"],
    ["steps", "step"],
    ["stp", "step"],
    ["spet", "step"],
  ] as const;
  expect(cases.map(([word, candidate]) => near(word, candidate))).toEqual([true, false, true, false, true, true, false]);
  expect([near("abcdef", "abcdxy"), near("abcdef", "abcxyz"), near("OFFICE", "office")]).toEqual([true, false, true]);
  expect(closest("grup", ["group", "grp", "grap"])).toBe("group");
  expect(closest("a", [])).toBeUndefined();
  expect([didYouMean("offise", ["office"]), didYouMean("weather", ["office"])]).toEqual(['Did you mean "office"?', undefined]);
});

test("the first condition that does not hold is the error, with its setting's value", () => {
  const checks = [
    { holds: () => true, setting: "never", expected: "" },
    { holds: ({ a }: { a: { b: number } }) => a.b > 1, setting: "a.b", expected: "more than 1", hint: "Raise it." },
    { holds: () => false, setting: "a.c.d", expected: "something" },
  ];
  expect(() => requireAll(checks, { a: { b: 1 } })).toThrow(
    new ConfigError("a.b", 1, { expected: "more than 1", hint: "Raise it." }),
  );
  expect(() => requireAll(checks, { a: { b: 2 } }, RunError)).toThrow(
    new RunError("a.c.d", undefined, { expected: "something" }),
  );
  requireAll(checks.slice(0, 2), { a: { b: 2 } });
});
