import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kindTables, tableIn } from "../test/algorithms/kind-tables.ts";
import { root } from "../test/house.ts";

/** Writes the tables of methods and kinds into the pages of docs/algorithms. */
for (const [name, tables] of Object.entries(kindTables())) {
  const page = join(root, `docs/algorithms/${name}.md`);
  let text = readFileSync(page, "utf8");
  for (const [section, table] of Object.entries(tables)) {
    const opening = `<!-- ${section} -->\n`;
    text = text.replace(`${opening}${tableIn(text, section)}`, () => opening + table);
  }
  writeFileSync(page, text);
}
