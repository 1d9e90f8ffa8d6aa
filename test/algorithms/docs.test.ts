import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { algorithmConfigSchema } from "../../src/algorithms/config.ts";
import { updateMetrics } from "../../src/algorithms/metrics.ts";

function pageOf(algorithm: string): string {
  return readFileSync(join(import.meta.dirname, "../../docs/algorithms", `${algorithm}.md`), "utf8");
}

const algorithms = algorithmConfigSchema.options.map(({ shape }) => ({ kind: shape.kind.value, settings: Object.keys(shape) }));

test.each(algorithms)("the page of $kind has every setting and no other", ({ kind, settings }) => {
  const [, section = ""] = /## Settings\n([\s\S]*?)\n## /.exec(pageOf(kind)) ?? [];
  const documented = [...section.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]);
  expect(documented.sort()).toEqual(settings.filter((name) => name !== "kind").sort());
});

test("every metric is on a page, and pages name no other", () => {
  const sections = algorithms.map(({ kind }) => /## Metrics\n([\s\S]*?)\n## /.exec(pageOf(kind))?.[1] ?? "");
  const documented = sections.flatMap((section) =>
    [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap((row) => [...row[1].matchAll(/`(\w+)`/g)].map((match) => match[1])),
  );
  expect([...new Set(documented)].sort()).toEqual(Object.keys(updateMetrics).sort());
});
