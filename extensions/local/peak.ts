import { availableParallelism, loadavg } from "node:os";
import { Graph } from "./graph/graph.ts";
import { Session } from "./graph/session.ts";
import type { SessionOptions } from "./machine/device.ts";

/** A chain of products of square matrices: only its ends cross the bus. */
interface Chain {
  readonly size: number;
  readonly products: number;
  readonly runs: number;
}

const long: Chain = { size: 1024, products: 8, runs: 4 };
const short: Chain = { size: 256, products: 1, runs: 2 };
/** Drivers in software make 0.1 GFLOP/s; the slowest GPU makes ten even if a run waits for some milliseconds. */
const hardwareGflops = 1;

/** Whether a GPU computes, and no driver in software. @throws EngineError if there is no such provider here */
export async function isHardware(options: SessionOptions, timed = measure): Promise<boolean> {
  return (await timed(short, options)) >= hardwareGflops;
}

/**
 * Matrix products of float32, in GFLOP/s, as fast as this machine makes them from here: the best of a few runs, a second in all.
 * A device that a first small product shows to be slower than any hardware is measured by that alone.
 * @throws EngineError if there is no such provider here
 */
export async function measurePeak({ threads, provider = "cpu" }: SessionOptions, timed = measure): Promise<number> {
  const first = provider === "cpu" ? Number.POSITIVE_INFINITY : await timed(short, { threads, provider });
  return first < hardwareGflops ? first : timed(long, { threads, provider });
}

/** @param now milliseconds */
export async function measure(
  { size, products, runs }: Chain,
  options: SessionOptions,
  now: () => number = () => performance.now(),
): Promise<number> {
  const graph = new Graph();
  const weights = graph.constant(new Float32Array(size * size).fill(1 / size), [size, size]);
  let value = graph.input("x", [size, size]);
  for (let i = 0; i < products; i++) value = graph.matmul(value, weights);
  graph.output("y", value);

  const session = await Session.open(graph, options);
  try {
    const x = { data: new Float32Array(size * size).fill(1), shape: [size, size] };
    let best = Number.POSITIVE_INFINITY;
    for (let i = 0; i < runs; i++) {
      const started = now();
      await session.run({ x }, ["y"]);
      best = Math.min(best, (now() - started) / 1000);
    }
    return (2 * size ** 3 * products) / best / 1e9;
  } finally {
    await session.close();
  }
}

/** How busy other programs keep this machine, where they leave no core free: a peak that is measured then is too low. Windows knows no load. */
export function otherLoad([load] = loadavg(), cores = availableParallelism()): string | undefined {
  return load !== undefined && load > cores
    ? `a load of ${load.toFixed(1)} on ${cores} ${cores === 1 ? "core" : "cores"}`
    : undefined;
}
