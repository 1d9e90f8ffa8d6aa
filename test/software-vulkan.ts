import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
/** Where SwiftShader may be, a Vulkan driver in software: as Debian's chromium package has it, and as `.ci/swiftshader` unpacks it. */
const folders = ["/usr/lib/chromium", join(cache, "retrograde/swiftshader")];

/** Where the Vulkan loader looks for drivers of its own accord. */
const driverFolders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];

/**
 * Environment variables that lead WebGPU to SwiftShader where the machine has no driver of its own; none where it has one, or where
 * SwiftShader is not there either. To be set before a process starts: that is when the library path is read.
 */
export function softwareVulkan(): Record<string, string> {
  const { VK_DRIVER_FILES: chosen, LD_LIBRARY_PATH: libraries } = process.env;
  const hasDriver = driverFolders.some((folder) => existsSync(folder) && readdirSync(folder).length > 0);
  const folder = folders.find((candidate) => existsSync(join(candidate, "vk_swiftshader_icd.json")));
  if (process.platform !== "linux" || chosen !== undefined || hasDriver || folder === undefined) return {};
  return {
    VK_DRIVER_FILES: join(folder, "vk_swiftshader_icd.json"),
    LD_LIBRARY_PATH: libraries === undefined ? folder : `${libraries}:${folder}`,
  };
}
