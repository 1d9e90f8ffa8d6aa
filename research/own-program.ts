import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Arguments of Node that start this folder's program again, for work in a process of its own. */
export const ownProgram: readonly string[] = [
  join(dirname(createRequire(import.meta.url).resolve("jiti")), "jiti-cli.mjs"),
  join(import.meta.dirname, "main.ts"),
];
