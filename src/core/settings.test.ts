import { expect, test } from "vitest";
import { z } from "zod";
import { ConfigError } from "./errors.ts";
import { closest, parseSettings } from "./settings.ts";

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
