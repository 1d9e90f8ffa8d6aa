import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kindTables, tableIn } from "../test/algorithms/kind-tables.ts";
import { root } from "../test/house.ts";

/** Writes the tables of kinds into docs/algorithms/custom.md. */
const page = join(root, "docs/algorithms/custom.md");
let text = readFileSync(page, "utf8");
for (const [name, table] of Object.entries(kindTables())) {
  const opening = `<!-- ${name} -->\n`;
  text = text.replace(`${opening}${tableIn(text, name)}`, () => opening + table);
}
writeFileSync(page, text);
