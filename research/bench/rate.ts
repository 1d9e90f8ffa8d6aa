import { readFileSync } from "node:fs";
import { Graph } from "../../extensions/local/graph/graph.ts";
import { Session } from "../../extensions/local/graph/session.ts";

const [side, products] = [1024, 4];

/**
 * Measures GFLOP/s of float32 matrix products of 1,024 × 1,024. A host gives a virtual machine now more and now less, so this is measured beside
 * every round.
 */
export class RateMeter {
  readonly #session: Session;

  private constructor(session: Session) {
    this.#session = session;
  }

  static async open(threads: number): Promise<RateMeter> {
    const graph = new Graph();
    const weights = graph.constant(new Float32Array(side * side).fill(1 / side), [side, side]);
    let value = graph.input("x", [side, side]);
    for (let i = 0; i < products; i++) value = graph.matmul(value, weights);
    graph.output("y", value);
    return new RateMeter(await Session.open(graph, { threads }));
  }

  /** The best of three runs. */
  async measure(): Promise<number> {
    const x = { data: new Float32Array(side * side).fill(1), shape: [side, side] };
    let best = 0;
    for (let i = 0; i < 3; i++) {
      const started = performance.now();
      await this.#session.run({ x }, ["y"]);
      best = Math.max(best, (2 * side ** 3 * products) / (performance.now() - started) / 1e6);
    }
    return best;
  }

  async close(): Promise<void> {
    await this.#session.close();
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
