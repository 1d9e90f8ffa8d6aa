import { DeviceTensor } from "../machine/native/tensor.ts";
import type { Runtime, RuntimeTensor } from "../machine/runtime.ts";
import { typeOfArray } from "./graph.ts";

/** Numbers in the processor's memory. */
export interface Value {
  readonly data: Float32Array | Int32Array | BigInt64Array | Int8Array;
  readonly shape: readonly number[];
  /** Keeps its numbers until `DeviceMemory.forget`, so that a device may keep a copy. */
  readonly constant?: boolean;
}

export interface FloatValue extends Value {
  readonly data: Float32Array;
}

export function tensorsOf(
  { Tensor }: Runtime,
  values: Readonly<Record<string, Value | DeviceTensor>>,
): Record<string, RuntimeTensor> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value instanceof DeviceTensor ? value : new Tensor(typeOfArray(value.data), value.data, value.shape),
    ]),
  );
}
