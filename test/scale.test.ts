import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { page, withGenerated } from "../scripts/scale-page.ts";

test("docs/scale.md has the tables that the code writes (npx jiti scripts/scale-page.ts)", async () => {
  const text = readFileSync(page, "utf8");
  expect(await withGenerated(text)).toBe(text);
});

test("a part that is changed by hand is noticed, and a part that is missing is an error", async () => {
  const text = readFileSync(page, "utf8");
  expect(text).toContain("| cispo clipped to 1");
  const changed = text.replace("| cispo clipped to 1", "| cross_entropy");
  expect(await withGenerated(changed)).not.toBe(changed);
  await expect(withGenerated(text.replace("<!-- generated: plan -->", ""))).rejects.toThrow(/no part "plan"/);
});
