import { Graph } from "./graph.ts";
import { Session } from "./onnx.ts";

const size = 1024;
const products = 8;
const runs = 4;

/** Matrix products of float32, in GFLOP/s, as fast as this machine makes them from here: the best of a few runs, a second in all. */
export async function measurePeak(threads: number): Promise<number> {
  const graph = new Graph();
  const weights = graph.constant(new Float32Array(size * size).fill(1 / size), [size, size]);
  let value = graph.input("x", [size, size]);
  for (let i = 0; i < products; i++) value = graph.matmul(value, weights);
  graph.output("y", value);

  const session = await Session.open(graph, { threads });
  try {
    const x = { data: new Float32Array(size * size).fill(1), shape: [size, size] };
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < runs; i++) {
      const started = performance.now();
      await session.run({ x }, ["y"]);
      best = Math.min(best, (performance.now() - started) / 1000);
    }
    return (2 * size ** 3 * products) / best / 1e9;
  } finally {
    await session.close();
  }
}
