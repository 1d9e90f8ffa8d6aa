import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { byLength, largest, needs } from "./what-fits.ts";

test("docs/models.md has the estimates that runs are checked with", async () => {
  const page = await readFile(new URL("../../docs/models.md", import.meta.url), "utf8");
  for (const row of [...needs(), ...byLength(), ...largest()]) expect(page).toContain(row);
});
