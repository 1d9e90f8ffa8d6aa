import { type Capability, capabilities } from "../../core/policy.ts";

/** What the local engine can do on a device: all, but on WebGPU it is either sampled or trained. */
export function localCapabilities(device: "cpu" | "webgpu" | "cuda"): readonly Capability[] {
  return capabilities.filter((each) => each !== "frozen-policies" || device !== "webgpu");
}
