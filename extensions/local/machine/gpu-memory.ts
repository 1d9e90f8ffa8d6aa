import { execFileSync } from "node:child_process";
import { isGpu, type Provider } from "./device.ts";

/** The share of a GPU's free memory that a pass of training may take by its estimate: ONNX Runtime takes memory in powers of two, and keeps it. */
const share = 0.4;

/**
 * Bytes that a pass of training may hold: as planned on the processor, by what is free on CUDA. Undefined, for the default, on another GPU: its memory is
 * not known.
 */
export function passBytesOn(provider: Provider, planned: number | undefined): number | undefined {
  if (!isGpu(provider)) return planned;
  return provider === "cuda" ? gpuPassBytes() : undefined;
}

/** Bytes that a pass of training may hold on the first NVIDIA GPU; undefined where its driver does not tell. */
export function gpuPassBytes(): number | undefined {
  const free = freeMebibytes();
  return free === undefined ? undefined : share * free * 2 ** 20;
}

function freeMebibytes(): number | undefined {
  const [first] = (process.env.CUDA_VISIBLE_DEVICES ?? "").split(",");
  const query = ["--query-gpu=memory.free", "--format=csv,noheader,nounits", ...(first === "" ? [] : [`--id=${first}`])];
  try {
    const told = execFileSync("nvidia-smi", query, { encoding: "utf8", timeout: 10_000, stdio: ["ignore", "pipe", "ignore"] });
    const free = Number.parseInt(told, 10);
    return free > 0 ? free : undefined;
  } catch {
    return undefined;
  }
}
