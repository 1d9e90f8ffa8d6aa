import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";

/**
 * Requires that a page has the rows that a test found, between the comments `<!-- WRITTEN -->` and `<!-- Until here -->`. With
 * RETROGRADE_PLAY=all they are written.
 */
export function pageTable(
  page: string,
  written: string,
  rows: readonly (readonly (string | number)[])[],
  numbers: readonly number[] = [],
) {
  const file = fileURLToPath(new URL(`../${page}`, import.meta.url));
  const text = readFileSync(file, "utf8");
  const start = text.indexOf(`<!-- ${written} -->`) + `<!-- ${written} -->`.length;
  const end = text.indexOf("<!-- Until here -->", start);
  expect(start).toBeLessThan(end);
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  const [head, ...body] = rows;
  const table = [line(head), line(head.map((_, i) => (numbers.includes(i) ? "---:" : "---"))), ...body.map(line)].join("\n");
  const right = `${text.slice(0, start)}\n\n${table}\n\n${text.slice(end)}`;
  if (process.env.RETROGRADE_PLAY === "all") writeFileSync(file, right);
  expect(readFileSync(file, "utf8")).toBe(right);
}
