import { execFileSync } from "node:child_process";

/**
 * Shares of a GPU's memory beside what stays there: of a pass of training by its estimate (scoring, sampling and AdamW have sessions too), and of keys
 * and values of rollouts that wait.
 */
const shares = { pass: 0.5, cache: 0.2 };

/** The NVIDIA card that is used, as its driver describes it. */
export interface NvidiaCard {
  readonly name: string;
  readonly driver: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/**
 * Bytes that one use may take on the first NVIDIA GPU; undefined where its driver does not say, or there is another GPU.
 * @param held bytes that training will hold there for good
 */
export function gpuBytes(use: keyof typeof shares, held: number, card = nvidiaCard()): number | undefined {
  return card && shareOf(card, use, held);
}

/** The same on a card. */
export function shareOf({ freeBytes }: NvidiaCard, use: keyof typeof shares, held: number): number {
  return shares[use] * Math.max(0, freeBytes - held);
}

const mebibyte = 2 ** 20;

/** Runs NVIDIA's program. @throws Error where there is none */
const askDriver = (query: readonly string[]) =>
  execFileSync("nvidia-smi", query, { encoding: "utf8", timeout: 10_000, stdio: ["ignore", "pipe", "ignore"] });

/** The first card that CUDA sees. Undefined where there is no driver, or it does not say. */
export function nvidiaCard(ask = askDriver, visible = process.env.CUDA_VISIBLE_DEVICES ?? ""): NvidiaCard | undefined {
  const [first] = visible.split(",");
  const fields = "--query-gpu=memory.free,memory.total,driver_version,name";
  const query = [fields, "--format=csv,noheader,nounits", ...(first === "" ? [] : [`--id=${first}`])];
  try {
    const [free = "", total = "", driver = "", ...name] = (ask(query).split("\n")[0] ?? "").split(", ");
    const [freeBytes, totalBytes] = [Number.parseInt(free, 10) * mebibyte, Number.parseInt(total, 10) * mebibyte];
    return freeBytes >= 0 && totalBytes > 0 ? { name: name.join(", "), driver, totalBytes, freeBytes } : undefined;
  } catch {
    return undefined;
  }
}
