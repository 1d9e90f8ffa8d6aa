#!/usr/bin/env node
// Removes what ONNX Runtime brings for other operating systems and processors: 245 of its 290 MB. In a project that uses the package:
// node node_modules/retrograde-rl/scripts/slim.mjs
import { existsSync, readdirSync, rmSync } from "node:fs";
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

if (process.argv[1] === fileURLToPath(import.meta.url)) removeOtherPlatforms(process.cwd());
