#!/usr/bin/env node
// Makes a clone ready to run: installs the packages if they are missing or not those of package-lock.json, then compiles
// src/ if it has changed. Uses nothing that must be installed first. Says nothing when there is nothing to do.
// With --run only what running needs: on a fresh clone the tools of the build are removed after it, and installed again by the
// first command that needs them.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, isBuilt } from "./build.mjs";
import { oneAtATime } from "./lock.mjs";
import { run } from "./run.mjs";
import { removeDevelopmentPackages, removeOtherPlatforms } from "./slim.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const runs = process.argv.includes("--run");

try {
  requireNode();
  if (!isReady()) {
    await oneAtATime(join(root, ".setup-lock"), () => {
      // Looked at again: another process may have done the work while this one waited.
      if (isReady()) return;
      const fresh = !existsSync(join(root, "node_modules"));
      if (!isInstalled()) install();
      if (!isBuilt()) build();
      if (runs && fresh) removeDevelopmentPackages(root);
    });
  }
} catch (error) {
  console.error(`\nSet-up failed: ${error.message}`);
  process.exit(1);
}

/** True if nothing is left to do. A compiled program runs without the packages that compile and test it. */
function isReady() {
  return isBuilt() && (isInstalled() || (runs && isInstalled(({ dev }) => dev !== true)));
}

function requireNode() {
  const { engines } = readJson("package.json");
  const wanted = engines.node.replace(">=", "");
  const [major, minor] = wanted.split(".").map(Number);
  const [ownMajor, ownMinor] = process.versions.node.split(".").map(Number);
  if (ownMajor < major || (ownMajor === major && ownMinor < minor))
    throw new Error(`this is Node ${process.versions.node}; ${wanted} or newer is needed (https://nodejs.org).`);
}

/** True if node_modules holds what package-lock.json asks for. npm writes the list of what it installed last, so half an install is none. */
function isInstalled(needed = () => true) {
  if (!existsSync(join(root, "node_modules/.package-lock.json"))) return false;
  const wanted = readJson("package-lock.json").packages;
  const installed = readJson("node_modules/.package-lock.json").packages;
  return Object.entries(wanted)
    .filter(([path, entry]) => path !== "" && needed(entry))
    .every(([path, { optional, integrity }]) =>
      installed[path] === undefined ? optional === true : installed[path].integrity === integrity,
    );
}

/** Without post-install scripts: onnxruntime-node's would download GPU libraries, which nothing here needs. */
function install() {
  console.error("Installing packages (npm ci) …");
  const npm = process.env.npm_execpath?.endsWith("npm-cli.js")
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === "win32" ? "npm.cmd" : "npm"];
  run([...npm, "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    hint: "Is the npm registry reachable? Try `npm ci --ignore-scripts` to see more.",
  });
  removeOtherPlatforms(root);
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
