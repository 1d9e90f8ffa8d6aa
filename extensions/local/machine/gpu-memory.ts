import { execFileSync } from "node:child_process";

/** The share of a GPU's memory beside what stays there that a pass of training may take by its estimate: scoring, sampling and AdamW have sessions too. */
const share = 0.5;

/**
 * Bytes that a pass of training may hold on the first NVIDIA GPU; undefined where its driver does not tell, or there is another GPU.
 * @param held bytes that training will hold there for good
 */
export function gpuPassBytes(held: number): number | undefined {
  const free = freeMebibytes();
  return free === undefined ? undefined : share * Math.max(0, free * 2 ** 20 - held);
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
