#!/usr/bin/env node
// Compiles src/, extensions/ and entries/ to dist/, and the dashboard's page to dist/dashboard/.
import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { run } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const program = join(dist, "entries/main.js");

const sources = ["src", "extensions", "entries", "dashboard", "package.json", "tsconfig.json", "tsconfig.build.json"];

/** True if dist/ is younger than all that it is made from. */
export function isBuilt() {
  return existsSync(program) && newest(sources) < statSync(program).mtimeMs;
}

/** Into a folder of its own that then takes dist's place: a failed build leaves the old one, and nobody sees half of a new one. */
export function build() {
  console.error("Compiling …");
  const started = new Date();
  const fresh = join(root, `.dist-${process.pid}`);
  const old = `${fresh}-old`;
  try {
    run([process.execPath, "node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--outDir", fresh], {
      cwd: root,
      hint: "The messages above say where it does not compile.",
    });
    run([process.execPath, "node_modules/vite/bin/vite.js", "build", "dashboard", "--outDir", join(fresh, "dashboard")], {
      cwd: root,
      hint: "The messages above say where dashboard/ does not compile.",
    });
    // What changes while the compiler runs is newer than this, and compiled next time.
    utimesSync(join(fresh, "entries/main.js"), started, started);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}

/** The latest change below the given paths, in milliseconds. A folder's own time shows files that were added or removed. */
function newest(paths) {
  return Math.max(
    ...paths.map((path) => {
      const full = join(root, path);
      const { mtimeMs } = statSync(full);
      if (!statSync(full).isDirectory()) return mtimeMs;
      return Math.max(
        mtimeMs,
        newest(
          readdirSync(full)
            .filter(isSource)
            .map((name) => join(path, name)),
        ),
      );
    }),
  );
}

function isSource(name) {
  return !name.endsWith(".test.ts");
}

if (argv[1] === fileURLToPath(import.meta.url)) build();
