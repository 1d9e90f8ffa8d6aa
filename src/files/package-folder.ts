import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of this package. Its compiled modules are one level deeper than its sources, so it is looked for. */
export const packageFolder = folderAround(dirname(fileURLToPath(import.meta.url)));

function folderAround(folder: string): string {
  if (existsSync(join(folder, "package.json"))) return folder;
  if (folder === dirname(folder)) throw new Error("package.json of retrograde-rl is missing: install the package again.");
  return folderAround(dirname(folder));
}
