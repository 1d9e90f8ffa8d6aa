import { type Capability, capabilities } from "../../src/core/policy.ts";
import type { Provider } from "./machine/device.ts";

/** Returns what the local engine can do on a device: all, but on WebGPU it is either sampled or trained. */
export function localCapabilities(device: Provider): readonly Capability[] {
  return capabilities.filter((each) => each !== "frozen-policies" || device !== "webgpu");
}
