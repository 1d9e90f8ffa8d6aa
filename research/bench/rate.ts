import { readFileSync } from "node:fs";
import { Graph } from "../../extensions/local/graph/graph.ts";
import { Session } from "../../extensions/local/graph/session.ts";
import type { Provider } from "../../extensions/local/machine/device.ts";

/** The rates of this machine at one moment. */
export interface Rates {
  /** Products of float32 matrices of 1,024 × 1,024. */
  readonly gflops: number;
  /** Bytes of a matrix of 256 MB that a product with one row reads. */
  readonly gigabytes: number;
}

const [side, products, wide] = [1024, 4, 8192];

/**
 * Measures the rates of matrix products and of memory, a few tenths of a second each. A host gives a virtual machine now more and now less, so
 * rates are measured beside every round.
 */
export class RateMeter {
  readonly #square: Session;
  readonly #row: Session;

  private constructor(square: Session, row: Session) {
    this.#square = square;
    this.#row = row;
  }

  static async open(threads: number, provider: Provider): Promise<RateMeter> {
    const options = { threads, provider };
    const square = new Graph();
    const weights = square.constant(new Float32Array(side * side).fill(1 / side), [side, side]);
    let value = square.input("x", [side, side]);
    for (let i = 0; i < products; i++) value = square.matmul(value, weights);
    square.output("y", value);
    const row = new Graph();
    const matrix = row.constant(new Float32Array(wide * wide).fill(1 / wide), [wide, wide]);
    row.output("y", row.matmul(row.input("x", [1, wide]), matrix));
    return new RateMeter(await Session.open(square, options), await Session.open(row, options));
  }

  /** The best of three runs each. */
  async measure(): Promise<Rates> {
    const seconds = async (session: Session, shape: readonly [number, number]) => {
      const x = { data: new Float32Array(shape[0] * shape[1]).fill(1), shape: [...shape] };
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 3; i++) {
        const started = performance.now();
        await session.run({ x }, ["y"]);
        best = Math.min(best, (performance.now() - started) / 1000);
      }
      return best;
    };
    return {
      gflops: (2 * side ** 3 * products) / (await seconds(this.#square, [side, side])) / 1e9,
      gigabytes: (4 * wide * wide) / (await seconds(this.#row, [1, wide])) / 1e9,
    };
  }

  async close(): Promise<void> {
    await this.#square.close();
    await this.#row.close();
  }
}

/** True if the processor multiplies in bfloat16: peers are then measured in it too. */
export function hasBfloat16(): boolean {
  try {
    return /\bflags\b.*\b(avx512_bf16|amx_bf16)\b/.test(readFileSync("/proc/cpuinfo", "utf8"));
  } catch {
    return false; // no Linux: nothing here says so
  }
}
