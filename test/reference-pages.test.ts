import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { pages, required, settingsOf, withReference } from "../scripts/reference-pages.ts";

test.each(pages.map((page) => [basename(page), page]))(
  "docs/%s has the tables that the code writes (npx jiti scripts/reference-pages.ts)",
  (_, page) => {
    const text = readFileSync(page, "utf8");
    expect(withReference(text)).toBe(text);
  },
);

test("the pages have a table for every group of settings, every reward and the commands", () => {
  const text = pages.map((page) => readFileSync(page, "utf8")).join("");
  expect(required.filter((name) => !text.includes(`<!-- generated: ${name} -->`))).toEqual([]);
});

test("settings are listed by their paths, with defaults and descriptions from within or around", () => {
  const schema = z.strictObject({
    kind: z.literal("a"),
    plain: z.int().default(3).describe("a number"),
    outside: z.string().describe("a text").optional(),
    nested: z.strictObject({ inner: z.boolean().default(true).describe("a switch") }).prefault({}),
    whole: z.strictObject({ low: z.number(), high: z.number() }).default({ low: 0, high: 1 }).describe("a range"),
  });
  expect(settingsOf(schema)).toEqual([
    { path: "plain", fallback: 3, meaning: "a number" },
    { path: "outside", fallback: undefined, meaning: "a text" },
    { path: "nested.inner", fallback: true, meaning: "a switch" },
    { path: "whole", fallback: { low: 0, high: 1 }, meaning: "a range" },
  ]);
});

test("a table that is changed by hand is noticed", () => {
  const text = readFileSync(pages[0], "utf8");
  expect(text).toContain("| `steps` | `40` |");
  const changed = text.replace("| `steps` | `40` |", "| `steps` | `50` |");
  expect(withReference(changed)).toBe(text);
});
