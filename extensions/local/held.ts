import { type Arrays, dataOf } from "./model/arrays.ts";
import { initialiseAdapter, type LoraSettings, resolveLora } from "./model/lora.ts";
import type { ModelConfig } from "./model/model-config.ts";
import type { Model } from "./model/model-folder.ts";
import { type BasePrecision, layerMatrices, type RoundedMatrices, roundedOf } from "./model/rounded.ts";
import { type LocalEngineOptions, roundedBase, samplerWeights } from "./options.ts";

/** A model as an engine holds it: parameters that learn, and those that stay. */
export interface HeldModel {
  /** Its folder. */
  readonly name: string;
  /** With the adapter, if there is one. */
  readonly config: ModelConfig;
  /** Without an adapter the whole of it; with one its tokenizer and settings, since an adapter is saved without the base's arrays. */
  readonly model: Model;
  /** The adapter's if there is one, else the model's. */
  readonly learned: Map<string, Float32Array>;
  /** The others. */
  readonly frozen: Map<string, Float32Array>;
  /** The precision that the frozen layers are held in. */
  readonly precision: BasePrecision;
  /** Frozen layers in fewer bits, which the sampler computes with. */
  readonly sampled: RoundedMatrices | undefined;
}

/** Returns all arrays of a model, which the sampler computes with. */
export function arraysOf({ frozen, learned }: HeldModel): Arrays {
  return new Map([...frozen, ...learned]);
}

/**
 * Divides a model into what learns and what stays.
 * @param adapter to continue. Default: a new one
 * @param rounded layers that were rounded while the folder was read
 * @throws ConfigError where the adapter's settings do not fit the model
 */
export function holdModel(
  model: Model,
  options: Pick<LocalEngineOptions, "model" | "lora" | "sampling">,
  adapter?: Map<string, Float32Array>,
  rounded?: RoundedMatrices,
): HeldModel {
  const { model: name, lora } = options;
  const config = adaptedConfig(model.config, lora);
  const base = dataOf(model.parameters);
  if (lora === undefined)
    return { name, config, model, learned: base, frozen: new Map(), precision: "float32", sampled: undefined };
  const precision = roundedBase(lora);
  const sampled = samplerWeights(options) === "int8" ? roundedOf(model.config, base, rounded, precision) : undefined;
  if (precision !== undefined) for (const key of layerMatrices(model.config)) base.delete(key);
  const learned = adapter ?? initialiseAdapter(config, lora.seed);
  // The model's own arrays would be held beside its 8 bits.
  const companions = { ...model, parameters: new Map() };
  return { name, config, model: companions, learned, frozen: base, precision: precision ?? "float32", sampled };
}

/** @throws ConfigError where the settings do not fit the model */
export function adaptedConfig(config: ModelConfig, lora: LoraSettings | undefined): ModelConfig {
  return lora === undefined ? config : { ...config, lora: resolveLora(config, lora) };
}
