import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
/** Where SwiftShader may be, a Vulkan driver in software: as Debian's chromium package has it, and as `.ci/swiftshader` unpacks it. */
const folders = ["/usr/lib/chromium", join(cache, "retrograde/swiftshader")];

/** Nodes of GPUs that can compute: render nodes, NVIDIA's own, and the one of Windows' Linux. */
function hasGpu(): boolean {
  const renderNodes = existsSync("/dev/dri") && readdirSync("/dev/dri").some((name) => name.startsWith("renderD"));
  return renderNodes || existsSync("/dev/nvidia0") || existsSync("/dev/dxg");
}

/**
 * Environment variables that lead WebGPU to SwiftShader where the machine has no GPU; none where it has one, or where
 * SwiftShader is not there either. To be set before a process starts: that is when the library path is read.
 */
export function softwareVulkan(): Record<string, string> {
  const { VK_DRIVER_FILES: chosen, LD_LIBRARY_PATH: libraries } = process.env;
  const folder = folders.find((candidate) => existsSync(join(candidate, "vk_swiftshader_icd.json")));
  if (process.platform !== "linux" || chosen !== undefined || hasGpu() || folder === undefined) return {};
  return {
    VK_DRIVER_FILES: join(folder, "vk_swiftshader_icd.json"),
    LD_LIBRARY_PATH: libraries === undefined ? folder : `${libraries}:${folder}`,
  };
}
