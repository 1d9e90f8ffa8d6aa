import type { RoundedMatrix } from "../graph/rounded.ts";
import type { Arrays } from "./arrays.ts";
import { dequantise4, quantise4 } from "./int4.ts";
import { dequantise8, quantise8 } from "./int8.ts";
import { linearModules } from "./lora.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import type { TakeTensor } from "./safetensors.ts";
import { parametersOf } from "./transformer.ts";

export type { RoundedMatrix };
export type RoundedMatrices = ReadonlyMap<string, RoundedMatrix>;

/** The precision that the matrices of a frozen base are held in. */
export type BasePrecision = "float32" | "int8" | "int4";
export type RoundedPrecision = Exclude<BasePrecision, "float32">;

/**
 * Largest |sampler − trainer| log-prob in nats where the sampler computes with integers, or one of them in bfloat16, unless a run sets `limits.logprobGap`. Measured maxima over some
 * hundred tokens are 0.14 to 0.4; a whole model in 4 bits with a scale an output is beyond it (research/notes/engine.md).
 */
export const roundedLogprobTolerance = 1;

export function quantise(matrix: Float32Array, outputs: number, inputs: number, precision: RoundedPrecision): RoundedMatrix {
  return precision === "int8" ? quantise8(matrix, outputs, inputs) : quantise4(matrix, outputs, inputs);
}

/** Writes the matrix [outputs, inputs] as float32 again. Default: into a new array. */
export function dequantise(
  matrix: RoundedMatrix,
  into: Float32Array = new Float32Array(matrix.outputs * matrix.inputs),
): Float32Array {
  return matrix.bits === 8 ? dequantise8(matrix, into) : dequantise4(matrix, into);
}

/** Names of the matrices that a base in fewer bits is rounded in: those of the layers. */
export function layerMatrices(config: ModelConfig): string[] {
  return linearModules(config).map(({ name }) => `${name}.weight`);
}

function outputMatrix({ tieWordEmbeddings }: ModelConfig): string {
  return tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight";
}

/** Rounds the matrices of the layers one by one while a model is read: they are never float32 all at once. */
export function roundLayers(into: Map<string, RoundedMatrix>, precision: RoundedPrecision): TakeTensor {
  return (name, { shape: [outputs, inputs, ...more], data }) => {
    if (!name.startsWith("model.layers.") || inputs === undefined || more.length > 0) return false;
    into.set(name, quantise(data, outputs, inputs, precision));
    return true;
  };
}

/**
 * Rounds all matrices of products that are not known: those of the layers, and the output's, which has 8 bits always.
 * @param precision of the layers. Default "int8"
 */
export function roundedOf(
  config: ModelConfig,
  parameters: Arrays,
  known: RoundedMatrices = new Map(),
  precision: RoundedPrecision = "int8",
): Map<string, RoundedMatrix> {
  const shapes = parameterShapes(config);
  const arrayOf = parametersOf(parameters);
  const round = (name: string, to: RoundedPrecision) => {
    const [outputs, inputs] = shapes.get(name) ?? [0, 0];
    return [name, known.get(name) ?? quantise(arrayOf(name), outputs, inputs, to)] as const;
  };
  return new Map([...layerMatrices(config).map((name) => round(name, precision)), round(outputMatrix(config), "int8")]);
}
