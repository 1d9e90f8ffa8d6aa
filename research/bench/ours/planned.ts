import { join } from "node:path";
import { createLocalEngine, type LocalEngine } from "../../../extensions/local/engine.ts";
import { isGpu } from "../../../extensions/local/machine/device.ts";
import { availableMemory } from "../../../extensions/local/machine/memory-available.ts";
import type { MemoryUse } from "../../../extensions/local/memory.ts";
import { planMemory } from "../../../extensions/local/memory-plan.ts";
import { readModelConfig } from "../../../extensions/local/model/model-folder.ts";
import type { LocalEngineOptions } from "../../../extensions/local/options.ts";
import { chosenDevice } from "../device.ts";

/** An engine that is planned as a run's is, from the memory that is free. */
export async function plannedEngine(
  options: Pick<LocalEngineOptions, "model" | "threads" | "lora" | "precision">,
  use: Pick<MemoryUse, "training" | "length" | "concurrency" | "trajectories">,
): Promise<LocalEngine> {
  const config = await readModelConfig(join(options.model, "config.json"));
  const { lora } = options;
  const provider = chosenDevice();
  const planned = { ...use, lora };
  const { passBytes, restBytes, weightsAsInputs } = planMemory(config, planned, { available: availableMemory() });
  return createLocalEngine({
    ...{ ...options, provider, restBytes, passBytes: isGpu(provider) ? undefined : passBytes },
    sampling: { weightsAsInputs: isGpu(provider) ? undefined : weightsAsInputs },
  });
}
