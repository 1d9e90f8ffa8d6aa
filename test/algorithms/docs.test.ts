import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { algorithmConfigSchema } from "../../src/algorithms/algorithms.ts";
import { updateMetrics } from "../../src/algorithms/glossary.ts";
import { kindTables, tableIn } from "./kind-tables.ts";

/** All forms of SeeUPO have one page. */
const pageNameOf = (kind: string) => (kind.startsWith("seeupo") ? "seeupo" : kind);

function pageOf(algorithm: string): string {
  return readFileSync(join(import.meta.dirname, "../../docs/algorithms", `${algorithm}.md`), "utf8");
}

/** Every setting of a schema by its path. A clip range is one setting; a part whose kind is open has its own tables, below. */
function settingsOf(schema: z.core.$ZodType): string[] {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return settingsOf(schema.def.innerType);
  if (schema instanceof z.ZodLiteral || schema instanceof z.ZodDiscriminatedUnion) return [];
  if (!(schema instanceof z.ZodObject) || "low" in schema.shape) return [""];
  return Object.entries(schema.shape).flatMap(([key, inner]) =>
    settingsOf(inner).map((rest) => (rest === "" ? key : `${key}.${rest}`)),
  );
}

function sectionOf(page: string, title: string): string {
  return new RegExp(`## ${title}\\n([\\s\\S]*?)(\\n## |$)`).exec(pageOf(page))?.[1] ?? "";
}

const rowsOf = (section: string) => [...section.matchAll(/^\| `([\w.]+)` \|/gm)].map((match) => match[1]);

const algorithms = algorithmConfigSchema.options.map((option) => ({
  kind: option.shape.kind.value,
  settings: settingsOf(option),
}));
const shared = rowsOf(sectionOf("README", "Shared settings"));

test.each(algorithms)("the page of $kind has every setting and no other, but for those that all share", ({ kind, settings }) => {
  const documented = rowsOf(sectionOf(pageNameOf(kind), "Settings"));
  const own = settings.filter((name) => pageNameOf(kind) === "seeupo" || !shared.includes(name) || documented.includes(name));
  expect(documented.toSorted()).toEqual(own.toSorted());
});

/** The default at a path of a schema, as pages write it: "none" where there is none. */
function defaultOf(schema: z.core.$ZodType, path: readonly string[], given?: unknown): string {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return defaultOf(schema.def.innerType, path, given ?? schema.def.defaultValue);
  if (schema instanceof z.ZodOptional) return defaultOf(schema.def.innerType, path, given);
  const [key, ...rest] = path;
  if (key !== undefined && schema instanceof z.ZodObject)
    return defaultOf(schema.shape[key], rest, (given as Record<string, unknown> | undefined)?.[key]);
  if (schema instanceof z.ZodObject && "low" in schema.shape && given !== "off")
    return written({ low: Number(defaultOf(schema, ["low"], given)), high: Number(defaultOf(schema, ["high"], given)) });
  return written(given);
}

function written(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${key}: ${JSON.stringify(each)}`)
    .join(", ")} }`;
}

test.each(algorithmConfigSchema.options.map((option) => [option.shape.kind.value, option] as const))(
  "the page of %s has the default of every setting",
  (kind, option) => {
    const rows = `${sectionOf(pageNameOf(kind), "Settings")}\n${sectionOf("README", "Shared settings")}`;
    for (const name of settingsOf(option)) {
      const cell = rows
        .split("\n")
        .find((row) => row.startsWith(`| \`${name}\` |`))
        ?.split("|")[2]
        .trim();
      expect(cell || "none", name).toContain(defaultOf(option, name.split(".")));
    }
  },
);

test("settings that all share are on the index, and no other", () => {
  const common = algorithms.filter(({ kind }) => pageNameOf(kind) !== "seeupo" && kind !== "sft").map(({ settings }) => settings);
  expect(shared).toEqual(
    common[0].filter((name) => name !== "aggregation" && common.every((settings) => settings.includes(name))),
  );
});

test.each(Object.entries(kindTables()).flatMap(([page, tables]) => Object.entries(tables).map((one) => [page, ...one] as const)))(
  "%s has the %s as their tables say (npx jiti scripts/kind-tables.ts)",
  (page, name, table) => {
    expect(tableIn(pageOf(page), name)).toBe(table);
  },
);

test("every method has a source, and a credit or a bound", () => {
  const [, , ...rows] = kindTables().README.methods?.split("\n") ?? [];
  expect(rows.length).toBeGreaterThan(40);
  for (const row of rows) {
    const [, , credit, bound, , , , source, ...rest] = row.split("|").map((cell) => cell.trim());
    expect([rest, source !== "", `${credit}${bound}` !== ""], row).toEqual([[""], true, true]);
  }
});

test("the index has every algorithm", () => {
  for (const { kind } of algorithms) expect(pageOf("README")).toContain(`| [\`${kind}\`](${pageNameOf(kind)}.md) |`);
});

test("every metric is on a page, and pages name no other", () => {
  const sections = ["README", ...new Set(algorithms.map(({ kind }) => pageNameOf(kind)))].map((page) =>
    sectionOf(page, "Metrics"),
  );
  const documented = sections.flatMap((section) =>
    [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap((row) => [...row[1].matchAll(/`(\w+)`/g)].map((match) => match[1])),
  );
  expect([...new Set(documented)].sort()).toEqual(Object.keys(updateMetrics).sort());
});

test.each(algorithms)("the page of $kind lists what differs from its source", ({ kind }) => {
  expect(sectionOf(pageNameOf(kind), "Differs from its source in")).toMatch(/^\n- \S/);
});
