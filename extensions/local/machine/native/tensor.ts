import type { RuntimeTensor } from "../runtime.ts";
import type { Library, Pointer } from "./library.ts";

/** Numbers of the element types in onnxruntime_c_api.h, and their bytes. */
export const elements = {
  float32: { number: 1, bytes: 4, array: Float32Array },
  uint8: { number: 2, bytes: 1, array: Uint8Array },
  int8: { number: 3, bytes: 1, array: Int8Array },
  int32: { number: 6, bytes: 4, array: Int32Array },
  int64: { number: 7, bytes: 8, array: BigInt64Array },
} as const;
export type ElementType = keyof typeof elements;
export type NumberArray = Float32Array | Uint8Array | Int8Array | Int32Array | BigInt64Array;

/** Numbers of the caller's, which a run reads or writes where they are. */
export class HostTensor implements RuntimeTensor {
  readonly type: ElementType;
  readonly data: NumberArray;
  readonly dims: readonly number[];

  constructor(type: ElementType, data: NumberArray, dims: readonly number[]) {
    this.type = type;
    this.data = data;
    this.dims = dims;
  }
}

/** Numbers in a device's memory. To be disposed of; sessions and bindings may still hold it then. */
export class DeviceTensor implements RuntimeTensor {
  readonly type: ElementType;
  readonly dims: readonly number[];
  readonly #library: Library;
  readonly #memory: Pointer;
  #value: Pointer;

  /** @param memory the kind of memory that the value is in */
  constructor(library: Library, value: Pointer, memory: Pointer, type: ElementType, dims: readonly number[]) {
    this.type = type;
    this.dims = dims;
    this.#library = library;
    this.#memory = memory;
    this.#value = value;
  }

  /** The same numbers in another shape, or the first of them. To be disposed of too, and not to be used once this tensor is. */
  view(dims: readonly number[]): DeviceTensor {
    const [{ number, bytes }, size] = [elements[this.type], count(dims)];
    if (size > count(this.dims)) throw new RangeError(`a view of ${size} numbers of ${count(this.dims)}`);
    const at = this.#library.make("GetTensorMutableData", this.value);
    const shape = BigInt64Array.from(dims, BigInt);
    const made = ["CreateTensorWithDataAsOrtValue", this.#memory, at, bytes * size, shape, dims.length, number] as const;
    return new DeviceTensor(this.#library, this.#library.make(...made), this.#memory, this.type, dims);
  }

  /** @throws RangeError for one that was disposed of */
  get value(): Pointer {
    if (this.#value === 0n) throw new RangeError("a device tensor that was disposed of");
    return this.#value;
  }

  /** @throws RangeError: its numbers are not in the processor's memory */
  get data(): never {
    throw new RangeError("numbers of a device tensor, which are to be downloaded first");
  }

  get bytes(): number {
    return elements[this.type].bytes * count(this.dims);
  }

  dispose(): void {
    if (this.#value === 0n) return;
    this.#library.call("ReleaseValue", this.#value);
    this.#value = 0n;
  }
}

export function count(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}
