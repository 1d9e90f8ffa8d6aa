import type { SessionOptions } from "./machine/device.ts";
import { type Arrays, dataOf } from "./model/arrays.ts";
import { logprobHead } from "./model/heads.ts";
import { initialiseAdapter, type LoraSettings, resolveLora } from "./model/lora.ts";
import type { ModelConfig } from "./model/model-config.ts";
import type { Model } from "./model/model-folder.ts";
import { type BasePrecision, layerMatrices, type RoundedMatrices, roundedOf } from "./model/rounded.ts";
import { type LocalEngineOptions, roundedBase, samplerWeights } from "./options.ts";
import { ParameterStore, type Placed } from "./training/parameter-store.ts";

/** A model as an engine holds it: parameters that learn, and those that stay. */
export interface HeldModel {
  /** Its folder. */
  readonly name: string;
  /** With the adapter, if there is one. */
  readonly config: ModelConfig;
  /** Its tokenizer and settings, without parameters. */
  readonly model: Model;
  /** The adapter's if there is one, else the model's. */
  readonly learned: ParameterStore;
  /** The others. */
  readonly frozen: ParameterStore;
  readonly precision: BasePrecision;
  /** Frozen layers in fewer bits, which the sampler computes with. */
  readonly sampled: RoundedMatrices | undefined;
}

/** Returns all arrays of a model, as they are now. */
export async function arraysOf({ frozen, learned }: HeldModel): Promise<Arrays> {
  return new Map([...(await frozen.host()), ...(await learned.host())]);
}

/** Returns all parameters where the engine computes: on a GPU the tensors that passes and samples have in common, which steps change in place. */
export async function deviceParameters({ frozen, learned }: HeldModel): Promise<Placed> {
  return new Map([...(await frozen.placed()), ...(await learned.placed())]);
}

/**
 * Divides a model into what learns and what stays.
 * @param adapter to continue. Default: a new one
 * @param rounded layers that were rounded while the folder was read
 * @throws ConfigError where the adapter's settings do not fit the model
 */
export function holdModel(
  model: Model,
  options: Pick<LocalEngineOptions, "model" | "lora" | "sampling"> & Pick<SessionOptions, "provider" | "runtime">,
  adapter?: Map<string, Float32Array>,
  rounded?: RoundedMatrices,
): HeldModel {
  const { model: name, lora } = options;
  const config = adaptedConfig(model.config, lora);
  const base = dataOf(model.parameters);
  const shapes = logprobHead.parameterShapes(config);
  const store = (arrays: Arrays) => ParameterStore.of(arrays, shapes, options);
  const companions = { ...model, parameters: new Map() };
  if (lora === undefined)
    return {
      ...{ name, config, model: companions, learned: store(base), frozen: store(new Map()) },
      ...{ precision: "float32", sampled: undefined },
    };
  const precision = roundedBase(lora);
  const sampled = samplerWeights(options) === "int8" ? roundedOf(model.config, base, rounded, precision) : undefined;
  if (precision !== undefined) for (const key of layerMatrices(model.config)) base.delete(key);
  const learned = store(adapter ?? initialiseAdapter(config, lora.seed));
  return { name, config, model: companions, learned, frozen: store(base), precision: precision ?? "float32", sampled };
}

/** @throws ConfigError where the settings do not fit the model */
export function adaptedConfig(config: ModelConfig, lora: LoraSettings | undefined): ModelConfig {
  return lora === undefined ? config : { ...config, lora: resolveLora(config, lora) };
}
