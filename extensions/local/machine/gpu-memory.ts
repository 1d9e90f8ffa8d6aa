import { execFileSync } from "node:child_process";

/** The share of a GPU's memory beside what stays there that a pass of training may take by its estimate: scoring, sampling and AdamW have sessions too. */
const share = 0.5;

/** The NVIDIA card that is used, as its driver describes it. */
export interface NvidiaCard {
  readonly name: string;
  readonly driver: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/**
 * Bytes that a pass of training may hold on the first NVIDIA GPU; undefined where its driver does not say, or there is another GPU.
 * @param held bytes that training will hold there for good
 */
export function gpuPassBytes(held: number, card = nvidiaCard()): number | undefined {
  return card && share * Math.max(0, card.freeBytes - held);
}

/** The share of the same memory that keys and values of waiting rollouts may take. */
const cacheShare = 0.2;

/** Bytes of keys and values on the first NVIDIA GPU, as `gpuPassBytes`. */
export function gpuCacheBytes(held: number, card = nvidiaCard()): number | undefined {
  return card && cacheShare * Math.max(0, card.freeBytes - held);
}

const mebibyte = 2 ** 20;

/** Undefined where there is no driver, or it does not say. */
export function nvidiaCard(): NvidiaCard | undefined {
  const [first] = (process.env.CUDA_VISIBLE_DEVICES ?? "").split(",");
  const fields = "--query-gpu=memory.free,memory.total,driver_version,name";
  const query = [fields, "--format=csv,noheader,nounits", ...(first === "" ? [] : [`--id=${first}`])];
  try {
    const said = execFileSync("nvidia-smi", query, { encoding: "utf8", timeout: 10_000, stdio: ["ignore", "pipe", "ignore"] });
    const [free = "", total = "", driver = "", ...name] = (said.split("\n")[0] ?? "").split(", ");
    const [freeBytes, totalBytes] = [Number.parseInt(free, 10) * mebibyte, Number.parseInt(total, 10) * mebibyte];
    return freeBytes >= 0 && totalBytes > 0 ? { name: name.join(", "), driver, totalBytes, freeBytes } : undefined;
  } catch {
    return undefined;
  }
}
