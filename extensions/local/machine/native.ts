import { reasonOf } from "../../../src/core/errors.ts";
import { host } from "../../../src/core/host.ts";
import type { Native } from "./native/session.ts";
import { nodeBinding, type Runtime } from "./runtime.ts";

let native: Promise<Native> | undefined;
let binding: Promise<Runtime> | undefined;

/** The library of `onnxruntime-node` through its C API. @throws EngineError where that cannot be called */
export function nativeRuntime(): Promise<Native> {
  // Imported once: of two imports at a time, the second finds modules half loaded where they are compiled on the way.
  native ??= import("./native/open.ts").then(({ openNative }) => openNative());
  return native;
}

/**
 * The runtime of sessions that are given no other: the C API, or, where that cannot be called, the package's own binding. It computes the same
 * on the CPU, and the event loop waits for each run, which a warning says.
 */
export function defaultRuntime(): Promise<Runtime> {
  return nativeRuntime().catch((error) => (binding ??= bindingInstead(error)));
}

function bindingInstead(error: unknown): Promise<Runtime> {
  host.warn(`Nothing else runs while the model computes, and no GPU can be used: ${reasonOf(error)}`);
  return nodeBinding();
}
