import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { PackagedRuntime } from "../native/packaged.ts";
import { type CudaWheel, cudaRuntime, cudaWheels } from "./packages.ts";

/** The library of ONNX Runtime that stands beside its providers: it looks for them in its own folder. */
export const runtimeFile = "libonnxruntime.so.1";

/** Where CUDA's libraries are installed. */
export function cudaFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "retrograde", `cuda-${cudaRuntime}`);
}

export function holds(folder: string, { libraries }: Pick<CudaWheel, "libraries">): boolean {
  return Object.entries(libraries).every(([name, bytes]) => sizeOf(join(folder, name)) === bytes);
}

/**
 * The folder of CUDA's libraries, if they are there whole: each was verified before it was unpacked, and the folder appeared at once, so that sizes
 * suffice.
 * @param runtime the library of the runtime that is installed, and its version
 */
export function installedCuda(
  runtime: PackagedRuntime,
  { folder = cudaFolder(), wheels = cudaWheels }: { readonly folder?: string; readonly wheels?: readonly CudaWheel[] } = {},
): string | undefined {
  if (runtime.version !== cudaRuntime || sizeOf(join(folder, runtimeFile)) !== sizeOf(runtime.file)) return undefined;
  return wheels.every((wheel) => holds(folder, wheel)) ? folder : undefined;
}

function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size;
}
