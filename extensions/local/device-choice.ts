import { EngineError } from "../../src/core/errors.ts";
import { Graph } from "./graph/graph.ts";
import { Session } from "./graph/session.ts";
import type { Provider } from "./machine/device.ts";
import { measurePeak } from "./peak.ts";

/** The device that a user asks for: a provider, or whichever works here and is fastest. */
export type Device = Provider | "auto";

export interface Choice {
  readonly provider: Provider;
  /** For people: what was taken, and for "auto" what else was tried. */
  readonly description: string;
}

/**
 * Tries what was asked for.
 * @param threads of the CPU
 * @throws EngineError if a provider that was asked for by name does not work here, with what to install
 */
export async function chooseProvider(device: Device, threads: number): Promise<Choice> {
  if (device === "auto") return fastest(threads);
  await tryProvider(device);
  return { provider: device, description: device };
}

async function fastest(threads: number): Promise<Choice> {
  const tried: { provider: Provider; gflops: number; text: string }[] = [];
  for (const provider of ["cuda", "webgpu", "cpu"] as const) {
    try {
      const gflops = await measurePeak({ threads, provider });
      tried.push({ provider, gflops, text: `${provider} ${gflops < 10 ? gflops.toFixed(1) : Math.round(gflops)} GFLOP/s` });
    } catch (error) {
      if (provider === "cpu" || !(error instanceof EngineError)) throw error;
      tried.push({ provider, gflops: 0, text: `${provider} not available` });
    }
  }
  const taken = tried.reduce((best, each) => (each.gflops > best.gflops ? each : best));
  const others = tried.filter((each) => each !== taken).map(({ text }) => text);
  return { provider: taken.provider, description: `${taken.text}, the fastest here (${others.join(", ")})` };
}

/** Runs the smallest graph there. */
async function tryProvider(provider: Provider): Promise<void> {
  if (provider === "cpu") return;
  const graph = new Graph();
  graph.output("y", graph.neg(graph.input("x", [1])));
  const session = await Session.open(graph, { threads: 1, provider });
  try {
    await session.run({ x: { data: Float32Array.of(1), shape: [1] } }, ["y"]);
  } finally {
    await session.close();
  }
}
