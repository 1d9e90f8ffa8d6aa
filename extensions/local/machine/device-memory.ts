import type { RuntimeTensor } from "./runtime.ts";

/**
 * Copies on a WebGPU device of arrays that keep their numbers, such as the frozen base of an adapter: fed from the CPU, they would cross
 * the bus in every run.
 */
const copies = new WeakMap<object, Promise<RuntimeTensor>>();

/** @param upload makes the copy, where there is none yet */
export function onDevice(data: object, upload: () => Promise<RuntimeTensor>): Promise<RuntimeTensor> {
  const copy = copies.get(data) ?? upload();
  copies.set(data, copy);
  return copy;
}

/** Before an array changes, or when it is no longer fed. */
export async function forgetOnDevice(data: object): Promise<void> {
  const copy = copies.get(data);
  copies.delete(data);
  (await copy)?.dispose?.();
}
