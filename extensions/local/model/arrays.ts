import { ModelError } from "../../../src/core/errors.ts";
import { Turns } from "../machine/turns.ts";
import type { Tensor } from "./safetensors.ts";

/** Arrays by Hugging Face parameter name. */
export type Arrays = ReadonlyMap<string, Float32Array>;

export async function copyOf(arrays: Arrays): Promise<Map<string, Float32Array>> {
  const [copies, turns] = [new Map<string, Float32Array>(), new Turns()];
  for (const [name, data] of arrays) {
    const copy = new Float32Array(data.length);
    copies.set(name, copy);
    await turns.over(data.length, (from, to) => copy.set(data.subarray(from, to), from));
  }
  return copies;
}

/** Zeros. V8 collects all garbage for every 64 MB or so of arrays that are allocated: the event loop turns between them. */
export async function zerosOf(lengths: Iterable<readonly [name: string, length: number]>): Promise<Map<string, Float32Array>> {
  const [zeros, turns] = [new Map<string, Float32Array>(), new Turns()];
  for (const [name, length] of lengths) {
    zeros.set(name, new Float32Array(length));
    await turns.passed(length);
  }
  return zeros;
}

/**
 * Looks arrays of a file up, which are to have the lengths of a model's.
 * @param hint what to do where they have not
 */
export function arraysIn(tensors: ReadonlyMap<string, Tensor>, file: string, hint: string) {
  return (name: string, length: number): Float32Array => {
    const data = tensors.get(name)?.data;
    if (data?.length === length) return data;
    throw new ModelError(`size of ${name} in ${file}`, data?.length, { expected: [length], hint });
  };
}

export function dataOf(tensors: ReadonlyMap<string, Tensor>): Map<string, Float32Array> {
  return new Map([...tensors].map(([name, { data }]) => [name, data]));
}
