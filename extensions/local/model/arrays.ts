import type { Tensor } from "./safetensors.ts";

/** Arrays by Hugging Face parameter name. */
export type Arrays = ReadonlyMap<string, Float32Array>;

export function copyOf(arrays: Arrays): Map<string, Float32Array> {
  return new Map([...arrays].map(([name, data]) => [name, data.slice()]));
}

export function dataOf(tensors: ReadonlyMap<string, Tensor>): Map<string, Float32Array> {
  return new Map([...tensors].map(([name, { data }]) => [name, data]));
}
