import { join } from "node:path";
import { createInterface } from "node:readline";
import { createLocalEngine, type LocalEngine } from "../../../extensions/local/engine.ts";
import { availableMemory } from "../../../extensions/local/machine/memory-available.ts";
import type { MemoryUse } from "../../../extensions/local/memory.ts";
import { planMemory } from "../../../extensions/local/memory-plan.ts";
import { readModelConfig } from "../../../extensions/local/model/model-folder.ts";
import type { LocalEngineOptions } from "../../../extensions/local/options.ts";
import type { Quantities } from "../side.ts";

/** The same on all sides. */
export const adamw = { learningRate: 1e-5, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 } as const;

/** An engine that is planned as a run's is, from the memory that is free. */
export async function plannedEngine(
  options: Pick<LocalEngineOptions, "model" | "threads" | "lora">,
  use: Pick<MemoryUse, "training" | "length" | "concurrency" | "trajectories">,
): Promise<LocalEngine> {
  const config = await readModelConfig(join(options.model, "config.json"));
  const plan = planMemory(config, { ...use, lora: options.lora }, { available: availableMemory() });
  const { passBytes, restBytes, weightsAsInputs } = plan;
  return createLocalEngine({ ...options, passBytes, restBytes, sampling: { weightsAsInputs } });
}

/**
 * How a side talks to the benchmark: one line of JSON when it is ready, then one measured round for every line it reads.
 * `work` has run once before, untimed, where there is something to warm up.
 */
export async function answerRounds(name: string, work: (request: string) => Promise<Quantities>): Promise<void> {
  console.log(JSON.stringify({ name }));
  for await (const request of createInterface({ input: process.stdin })) console.log(JSON.stringify(await work(request)));
}

/** Repeats work for at least a second. @returns seconds per call */
export async function secondsPerCall(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let calls = 1; ; calls++) {
    await work();
    const seconds = (performance.now() - start) / 1000;
    if (seconds >= 1) return seconds / calls;
  }
}

/** The most memory that this process has held so far, in MB: what the operating system counts as resident. */
export function peakMegabytes(): number {
  return process.resourceUsage().maxRSS / 1024;
}
