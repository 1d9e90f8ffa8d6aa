import type { Native } from "./native/session.ts";
import { nodeBinding, type Runtime } from "./runtime.ts";

/** The library of `onnxruntime-node` through its C API. @throws EngineError where that cannot be called */
export async function nativeRuntime(): Promise<Native> {
  return (await import("./native/open.ts")).openNative();
}

/**
 * The runtime of sessions that are given no other: the C API, or, where that cannot be called, the package's own binding. It computes the same
 * on the CPU, and the event loop waits for each run.
 */
export function defaultRuntime(): Promise<Runtime> {
  return nativeRuntime().catch(() => nodeBinding());
}
