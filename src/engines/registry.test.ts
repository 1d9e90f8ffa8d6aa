import { expect, test } from "vitest";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { addEngines, type EngineKind, engineKind } from "./registry.ts";

const settings = z.strictObject({ rooms: z.int().default(2), colour: z.string().optional() });
const abacus: EngineKind<typeof settings> = {
  settings,
  check({ rooms, colour }) {
    if (rooms > 9 && colour !== undefined) throw new ConfigError("engine.rooms", rooms, { expected: "at most 9 coloured" });
  },
  implies: ({ rooms }) => (rooms === 7 ? { engine: { colour: "red" }, correction: {} } : undefined),
  capabilities: () => ({ certain: [], possible: ["reference"] }),
  open: () => expect.unreachable("nothing is opened"),
};
addEngines({ abacus });
const resolved = (engine: object) => resolveConfig({ environment: "any", engine } as UserConfig);

test("a kind that is added is one that a configuration chooses, with its own settings", () => {
  expect(resolved({ kind: "abacus" }).engine).toEqual({ kind: "abacus", rooms: 2 });
  expect(engineKind(resolved({ kind: "abacus" }).engine)).toBe(abacus);
  expect(resolveConfig({ environment: "any", engine: "abacus" } as unknown as UserConfig).engine).toMatchObject({ rooms: 2 });
  expect(() => resolved({ kind: "abacus", threads: 1 })).toThrow(
    /engine.threads is 1.*The settings here are kind, rooms, colour/,
  );
  expect(() => resolved({ kind: "abacus", rooms: "two" })).toThrow(/engine.rooms is "two"/);
});

test("its checks hold, and what its settings imply stands below what the user wrote", () => {
  expect(() => resolved({ kind: "abacus", rooms: 10, colour: "red" })).toThrow(/engine.rooms is 10; expected at most 9/);
  const implied = resolved({ kind: "abacus", rooms: 7 });
  expect(implied.engine).toEqual({ kind: "abacus", rooms: 7, colour: "red" });
  expect(implied.correction).not.toBe("off");
  expect(resolved({ kind: "abacus", rooms: 7, colour: "blue" }).engine).toMatchObject({ colour: "blue" });
});

test("an unknown kind is refused with those that there are; the first is the default", () => {
  expect(() => resolved({ kind: "openai" })).toThrow(/engine.kind is "openai"; expected "local", "tinker" or "abacus"/);
  expect(() => resolved({ kind: "abacs" })).toThrow('Did you mean "abacus"?');
  expect(resolveConfig({ environment: "any" }).engine.kind).toBe("local");
});
