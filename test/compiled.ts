import { execFileSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** Returns the program as users install it, compiled again if a source is newer, as `npm test` does before all tests. */
export function compiledProgram(): string {
  execFileSync(process.execPath, [join(root, "scripts/setup.mjs")], { stdio: "ignore" });
  return join(root, "dist/entries/main.js");
}
