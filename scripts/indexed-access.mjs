#!/usr/bin/env node
// Checks with TypeScript's noUncheckedIndexedAccess the parts that do not compute with arrays: there an element that may be absent is
// handled. The option is the whole program's, so that the errors of other parts are left out here.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const parts = [
  ...[
    "actions",
    "agents",
    "chat",
    "cli",
    "completions",
    "core",
    "environments",
    "files",
    "findings",
    "guard",
    "http",
    "hub",
    "inference",
  ],
  ...["rewards", "rollouts", "runs", "sdk", "terminal", "training", "tools"],
];
const extensions = [
  ...[
    "appworld",
    "arpo-protocol",
    "benchmarks",
    "bfcl",
    "check",
    "dashboard",
    "demo",
    "evals",
    "plan",
    "python",
    "harbor",
    "knowledge",
    "remote",
    "serve",
    "study",
    "tinker/client",
    "tinker/engine",
  ],
];
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
const errors = stdout
  .split("\n")
  .filter((line) => new RegExp(`^(?:src/(?:${parts.join("|")})|extensions/(?:${extensions.join("|")}))[/(]`).test(line));
for (const line of errors) console.error(line);
if (stderr !== "") console.error(stderr);
process.exitCode = errors.length > 0 || stderr !== "" ? 1 : 0;
