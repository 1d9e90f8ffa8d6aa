#!/usr/bin/env node
// Checks with TypeScript's noUncheckedIndexedAccess that an element that may be absent is handled. The option is the whole program's:
// the errors of parts that compute with arrays are left out here.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const numeric = ["src/algorithms", "extensions/local", "src/statistics"];
const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = join(root, "node_modules/typescript/bin/tsc");
const { stdout, stderr } = spawnSync(
  process.execPath,
  [tsc, "-p", "tsconfig.build.json", "--noEmit", "--noUncheckedIndexedAccess"],
  {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  },
);
const errors = stdout.split("\n").filter((line) => /^\S/.test(line) && !numeric.some((part) => line.startsWith(part)));
for (const line of errors) console.error(line);
if (stderr !== "") console.error(stderr);
process.exitCode = errors.length > 0 || stderr !== "" ? 1 : 0;
