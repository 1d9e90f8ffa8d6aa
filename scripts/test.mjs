#!/usr/bin/env node
// `npm test`: types, lint and unit tests, all three whichever of them fails. Arguments go to vitest. The end says how to run more.
import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const parts = {
  types: ["npm", "run", "-s", "typecheck"],
  lint: ["npm", "run", "-s", "lint"],
  "unit tests": ["npx", "--no-install", "vitest", "run", "--project", "unit*", ...process.argv.slice(2)],
};

const began = performance.now();
const failed = [];
for (const [name, [command, ...args]] of Object.entries(parts)) {
  console.log(`── ${name}`);
  const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
  if (status !== 0) failed.push(name);
}
const outcome = failed.length === 0 ? "Types, lint and unit tests pass" : `${failed.join(", ")}: FAILED`;
console.log(`
${outcome} (${Math.round((performance.now() - began) / 1000)} s). To run more:
  npx vitest run src/tools           every test of a folder
  npx vitest run --project contract  what speaks to other programs: packages, servers, browsers, sandboxes
  npx vitest run --project slow      fuzzing, killed runs, searches, every precision
  npm run test:all                   all of it, as CI does`);
process.exitCode = failed.length === 0 ? 0 : 1;
