import type { Arrays } from "./arrays.ts";
import { type Int8Matrix, quantise8 } from "./int8.ts";
import { linearModules } from "./lora.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import type { TakeTensor } from "./safetensors.ts";
import { parametersOf } from "./transformer.ts";

export type RoundedMatrices = ReadonlyMap<string, Int8Matrix>;

/** The precision that the matrices of a frozen base are held in. */
export type BasePrecision = "float32" | "int8";

/**
 * Largest |sampler − trainer| log-prob in nats where the sampler computes with integers, or one of them in bfloat16, unless a run sets `limits.logprobGap`. Measured maxima over some
 * hundred tokens are 0.14 to 0.4; a whole model in 4 bits with a scale an output is beyond it (research/notes/engine.md).
 */
export const roundedLogprobTolerance = 1;

/** Names of the matrices that a base in fewer bits is rounded in: those of the layers. */
export function layerMatrices(config: ModelConfig): string[] {
  return linearModules(config).map(({ name }) => `${name}.weight`);
}

function outputMatrix({ tieWordEmbeddings }: ModelConfig): string {
  return tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight";
}

/** Rounds the matrices of the layers one by one while a model is read: they are never float32 all at once. */
export function roundLayers(into: Map<string, Int8Matrix>): TakeTensor {
  return (name, { shape: [outputs, inputs, ...more], data }) => {
    if (!name.startsWith("model.layers.") || inputs === undefined || more.length > 0) return false;
    into.set(name, quantise8(data, outputs, inputs));
    return true;
  };
}

/** Rounds all matrices of products that are not known: those of the layers, and the output's. */
export function roundedOf(config: ModelConfig, parameters: Arrays, known: RoundedMatrices = new Map()): Map<string, Int8Matrix> {
  const shapes = parameterShapes(config);
  const arrayOf = parametersOf(parameters);
  return new Map(
    [...layerMatrices(config), outputMatrix(config)].map((name) => {
      const [outputs, inputs] = shapes.get(name) ?? [0, 0];
      return [name, known.get(name) ?? quantise8(arrayOf(name), outputs, inputs)];
    }),
  );
}
