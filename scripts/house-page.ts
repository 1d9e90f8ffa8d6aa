import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { houseTable, root } from "../test/house.ts";

/** Writes the table of parts into docs/architecture.md. */
const page = join(root, "docs/architecture.md");
writeFileSync(
  page,
  readFileSync(page, "utf8").replace(/(<!-- test\/house.ts -->\n)[\s\S]*?(\n<!-- end -->)/, `$1${houseTable()}$2`),
);
