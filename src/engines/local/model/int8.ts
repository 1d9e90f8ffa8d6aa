import type { Arrays } from "./arrays.ts";
import { linearModules } from "./lora.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import type { TakeTensor } from "./safetensors.ts";
import { parametersOf } from "./transformer.ts";

/**
 * A matrix W [outputs, inputs] in 8 bits: W[o, i] ≈ integers[i, o] · scales[o]. Each output has a scale of its own, the largest of its
 * magnitudes over 127. Transposed, as integer products take it.
 */
export interface Int8Matrix {
  readonly outputs: number;
  readonly inputs: number;
  /** [inputs, outputs], −127 to 127. */
  readonly integers: Int8Array;
  /** [outputs] */
  readonly scales: Float32Array;
}

export type Int8Matrices = ReadonlyMap<string, Int8Matrix>;

/**
 * Largest |sampler − trainer| log-prob in nats where the sampler computes in 8 bits, unless a run sets `limits.logprobGap`. Measured maxima over some
 * hundred tokens are 0.14 to 0.4; 4 bits are beyond it (docs/engine.md).
 */
export const int8LogprobTolerance = 1;

/** Rows and columns that are transposed at a time: both sides stay in the processor's cache. */
const tile = 64;

/**
 * Rounds a matrix [outputs, inputs] to the nearest of 255 values an output.
 * @param levels largest integer. Default 127; fewer is coarser
 */
export function quantise(matrix: Float32Array, outputs: number, inputs: number, levels = 127): Int8Matrix {
  const integers = new Int8Array(matrix.length);
  const scales = new Float32Array(outputs);
  for (let o = 0; o < outputs; o++) {
    let largest = 0;
    for (let i = o * inputs; i < (o + 1) * inputs; i++) largest = Math.max(largest, Math.abs(matrix[i]));
    scales[o] = Math.max(largest, 1e-30) / levels;
  }
  eachTile(outputs, inputs, (o, from, to) => {
    for (let i = from; i < to; i++) integers[i * outputs + o] = Math.round(matrix[o * inputs + i] / scales[o]);
  });
  return { outputs, inputs, integers, scales };
}

/** Writes the matrix [outputs, inputs] as float32 again. */
export function dequantise({ outputs, inputs, integers, scales }: Int8Matrix, into: Float32Array): Float32Array {
  eachTile(outputs, inputs, (o, from, to) => {
    for (let i = from; i < to; i++) into[o * inputs + i] = integers[i * outputs + o] * scales[o];
  });
  return into;
}

/** Names of the matrices that are held in 8 bits: those of the layers; of a sampler also the output's. */
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
    into.set(name, quantise(data, outputs, inputs));
    return true;
  };
}

/** All matrices of products in 8 bits: those of the layers, and the output's. */
export function int8Of(config: ModelConfig, parameters: Arrays, known: Int8Matrices = new Map()): Map<string, Int8Matrix> {
  const shapes = parameterShapes(config);
  const arrayOf = parametersOf(parameters);
  return new Map(
    [...layerMatrices(config), outputMatrix(config)].map((name) => {
      const [outputs, inputs] = shapes.get(name) ?? [0, 0];
      return [name, known.get(name) ?? quantise(arrayOf(name), outputs, inputs)];
    }),
  );
}

function eachTile(outputs: number, inputs: number, visit: (output: number, from: number, to: number) => void): void {
  for (let o = 0; o < outputs; o += tile)
    for (let i = 0; i < inputs; i += tile)
      for (let each = o; each < Math.min(o + tile, outputs); each++) visit(each, i, Math.min(i + tile, inputs));
}
