import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { page, withGenerated } from "../scripts/server-page.ts";

test("docs/tinker.md has the table that the code writes (npx jiti scripts/server-page.ts)", () => {
  const text = readFileSync(page, "utf8");
  expect(withGenerated(text)).toBe(text);
});

test("a table that is changed by hand is noticed, and a missing one is an error", () => {
  const text = readFileSync(page, "utf8");
  expect(text).toContain("| cispo clipped to 1");
  const changed = text.replace("| cispo clipped to 1", "| cross_entropy");
  expect(withGenerated(changed)).not.toBe(changed);
  expect(() => withGenerated(text.replace("<!-- generated: servers -->", ""))).toThrow(/no part "servers"/);
});
