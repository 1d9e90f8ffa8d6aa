import { join } from "node:path";
import { createInterface } from "node:readline";
import { createLocalEngine, type LocalEngine } from "../../../extensions/local/engine.ts";
import { availableMemory } from "../../../extensions/local/machine/memory-available.ts";
import type { MemoryUse } from "../../../extensions/local/memory.ts";
import { planMemory } from "../../../extensions/local/memory-plan.ts";
import { readModelConfig } from "../../../extensions/local/model/model-folder.ts";
import type { LocalEngineOptions } from "../../../extensions/local/options.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { Quantities } from "../side.ts";

/** What is measured of an engine. */
export type Measured = Pick<LocalEngine, "info" | "forwardBackward" | "step" | "sample" | "release">;

/** One measured round. */
export type Round = (request: string) => Promise<Quantities>;

/** The same on all sides. */
const adamw = { learningRate: 1e-5, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 } as const;

/** Forward, backward, clipping and AdamW. @param weights of the tokens of an action; the default ones are not all alike, so that nothing cancels */
export async function update<Sample extends ActionInContext>(
  engine: Pick<Measured, "forwardBackward" | "step">,
  samples: readonly Sample[],
  weights: (sample: Sample) => number[] = ({ action }) => action.map((_, i) => Math.sin(i)),
) {
  const logprobs = await engine.forwardBackward(samples, samples.map(weights), { temperature: 1 });
  return { logprobs, ...(await engine.step(adamw)) };
}

/** An engine that is planned as a run's is, from the memory that is free. */
export async function plannedEngine(
  options: Pick<LocalEngineOptions, "model" | "threads" | "lora">,
  use: Pick<MemoryUse, "training" | "length" | "concurrency" | "trajectories">,
): Promise<Measured> {
  const config = await readModelConfig(join(options.model, "config.json"));
  const plan = planMemory(config, { ...use, lora: options.lora }, availableMemory());
  const { passBytes, restBytes, weightsAsInputs } = plan;
  return createLocalEngine({ ...options, passBytes, restBytes, sampling: { weightsAsInputs } });
}

/** How a side talks to the benchmark: one line of JSON when it is ready, then one measured round for every line it reads. */
export async function answerRounds(
  round: Round,
  name = "retrograde",
  input: AsyncIterable<string> = createInterface({ input: process.stdin }),
  say: (line: string) => void = console.log,
): Promise<void> {
  say(JSON.stringify({ name }));
  for await (const request of input) say(JSON.stringify(await round(request)));
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
