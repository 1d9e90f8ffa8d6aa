import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CallOrder } from "../../../src/engines/call-order.ts";
import type { EngineInfo, FrozenPolicy } from "../../../src/engines/engine.ts";
import { count } from "../machine/native/tensor.ts";
import { type Arrays, arraysIn } from "../model/arrays.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { readSafetensors, type Tensor, writeSafetensors } from "../model/safetensors.ts";
import type { Learner } from "../training/learner.ts";
import type { ParameterStore, Shapes } from "../training/parameter-store.ts";
import { LocalSampler, type SamplerOptions } from "./sampler.ts";

/** The parts that frozen policies of an engine have in common with it. */
export interface FrozenParts {
  readonly info: EngineInfo;
  readonly config: ModelConfig;
  readonly samplerOptions: SamplerOptions;
  /** Scores under any parameters. */
  readonly learner: Learner;
  /** The order of the engine's calls: the learner makes one at a time. */
  readonly order: CallOrder;
  /** Parameters that do not learn: with an adapter, those of the base. */
  readonly base: ParameterStore;
}

/**
 * A copy of the parameters that learn, with a sampler of its own, made when it is first asked.
 * @param parameters of its own: nobody else changes them
 */
export function frozenPolicy(
  { info, config, samplerOptions, learner, order, base }: FrozenParts,
  parameters: Arrays,
  weightVersion: number,
): FrozenPolicy {
  const placed = async () => new Map([...(await base.placed()), ...parameters]);
  const arrays = new Map([...base.arrays, ...parameters]);
  const sampler = new LocalSampler(config, arrays, weightVersion, { ...samplerOptions, placed });
  return {
    info,
    weightVersion,
    sample: async (request) => sampler.sample(request),
    release: (cacheKey) => sampler.release(cacheKey),
    logprobs: (samples, { temperature }) => order.run(() => learner.forward(samples, { temperature, parameters })),
    takeStats: () => sampler.takeStats(),
    async saveState(folder) {
      await mkdir(folder, { recursive: true });
      const tensors = new Map<string, Tensor>([[versionName, { shape: [1], data: Float32Array.of(weightVersion) }]]);
      for (const [name, data] of parameters) tensors.set(name, { shape: [data.length], data });
      await writeSafetensors(fileIn(folder), tensors, { dtype: "float32" });
    },
    dispose: () => sampler.close(),
  };
}

/**
 * Reads what `saveState` wrote.
 * @param shapes of the parameters that learn
 * @throws ModelError if the folder holds none, or those of another model
 */
export async function readFrozen(folder: string, shapes: Shapes): Promise<{ parameters: Arrays; weightVersion: number }> {
  const file = fileIn(folder);
  const hint = "It was saved from another model: load the model that it belongs to.";
  const take = arraysIn(await readSafetensors(file), file, hint);
  return {
    parameters: new Map([...shapes].map(([name, shape]) => [name, take(name, count(shape))])),
    weightVersion: take(versionName, 1)[0],
  };
}

const versionName = "weightVersion";

function fileIn(folder: string): string {
  return join(folder, "frozen.safetensors");
}
