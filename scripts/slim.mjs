#!/usr/bin/env node
// Removes what ONNX Runtime brings for other operating systems and processors: 245 of its 290 MB. In a project that uses the package:
// node node_modules/retrograde-rl/scripts/slim.mjs
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** @param {string} project the folder that has node_modules */
export function removeOtherPlatforms(project) {
  const binaries = join(project, "node_modules/onnxruntime-node/bin");
  if (!existsSync(binaries)) return;
  for (const version of readdirSync(binaries)) {
    const here = join(binaries, version, process.platform, process.arch);
    if (!existsSync(here)) continue; // nothing for this machine: what is there may be meant for another
    for (const platform of readdirSync(join(binaries, version)))
      if (platform !== process.platform) rmSync(join(binaries, version, platform), { recursive: true });
    for (const arch of readdirSync(join(binaries, version, process.platform)))
      if (arch !== process.arch) rmSync(join(binaries, version, process.platform, arch), { recursive: true });
  }
}

/**
 * Removes the packages that only compiling and testing need. npm's own list of what is installed follows, so that the next set-up sees what
 * is missing.
 * @param {string} project the folder that has node_modules
 */
export function removeDevelopmentPackages(project) {
  const list = join(project, "node_modules/.package-lock.json");
  const installed = JSON.parse(readFileSync(list, "utf8"));
  for (const [path, { dev }] of Object.entries(installed.packages)) {
    if (dev !== true) continue;
    rmSync(join(project, path), { recursive: true, force: true });
    delete installed.packages[path];
  }
  writeFileSync(list, JSON.stringify(installed, null, 2));
  const commands = join(project, "node_modules/.bin");
  if (existsSync(commands))
    for (const name of readdirSync(commands))
      if (!existsSync(join(commands, name))) rmSync(join(commands, name), { force: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) removeOtherPlatforms(process.cwd());
