import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../../../src/core/errors.ts";
import type { Logprobs } from "../../../src/core/policy.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { CallOrder } from "../../../src/engines/call-order.ts";
import type {
  EngineInfo,
  ForwardOptions,
  FrozenPolicy,
  SampledAction,
  SampleRequest,
  SamplerStats,
} from "../../../src/engines/engine.ts";
import { count } from "../machine/native/tensor.ts";
import type { Arrays } from "../model/arrays.ts";
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

/** A copy of the parameters that learn, with a sampler of its own, made when it is first asked. */
export class LocalFrozenPolicy implements FrozenPolicy {
  readonly info: EngineInfo;
  readonly weightVersion: number;
  readonly #parameters: Arrays;
  readonly #learner: Learner;
  readonly #order: CallOrder;
  readonly #sampler: LocalSampler;

  /** @param parameters of its own: nobody else changes them */
  constructor({ info, config, samplerOptions, learner, order, base }: FrozenParts, parameters: Arrays, weightVersion: number) {
    this.info = info;
    this.weightVersion = weightVersion;
    this.#parameters = parameters;
    this.#learner = learner;
    this.#order = order;
    const placed = async () => new Map([...(await base.placed()), ...parameters]);
    const arrays = new Map([...base.arrays, ...parameters]);
    this.#sampler = new LocalSampler(config, arrays, weightVersion, { ...samplerOptions, placed });
  }

  async sample(request: SampleRequest): Promise<SampledAction> {
    return this.#sampler.sample(request);
  }

  release(cacheKey: string): void {
    this.#sampler.release(cacheKey);
  }

  async logprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    return this.#order.run(() => this.#learner.forward(samples, { temperature, parameters: this.#parameters }));
  }

  takeStats(): SamplerStats {
    return this.#sampler.takeStats();
  }

  async saveState(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    const tensors = new Map<string, Tensor>([[versionName, { shape: [1], data: Float32Array.of(this.weightVersion) }]]);
    for (const [name, data] of this.#parameters) tensors.set(name, { shape: [data.length], data });
    await writeSafetensors(fileIn(folder), tensors, { dtype: "float32" });
  }

  async dispose(): Promise<void> {
    await this.#sampler.close();
  }
}

/**
 * Reads what `saveState` wrote.
 * @param shapes of the parameters that learn
 * @throws ModelError if the folder holds none, or those of another model
 */
export async function readFrozen(folder: string, shapes: Shapes): Promise<{ parameters: Arrays; weightVersion: number }> {
  const file = fileIn(folder);
  const tensors = await readSafetensors(file);
  const take = (name: string, length: number): Float32Array => {
    const data = tensors.get(name)?.data;
    if (data?.length === length) return data;
    throw new ModelError(`size of ${name} in ${file}`, data?.length, {
      expected: [length],
      hint: "It was saved from another model: load the model that it belongs to.",
    });
  };
  return {
    parameters: new Map([...shapes].map(([name, shape]) => [name, take(name, count(shape))])),
    weightVersion: take(versionName, 1)[0],
  };
}

const versionName = "weightVersion";

function fileIn(folder: string): string {
  return join(folder, "frozen.safetensors");
}
