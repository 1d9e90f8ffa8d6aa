import { GrowableFloats } from "../machine/growable.ts";

/** The uses of arrays in a pass layer by layer: some of them in each layer, or in every second one. */
export type PassUse =
  | ("q" | "k" | "v" | "mask" | "read" | "read input" | "scored" | "scored adjoint")
  | `${"hidden" | "attended" | "convolved" | "adjoint"}/${number}`
  | `adjoint/${"read" | "attended" | "x" | "q" | "k" | "v"}`
  | `block ${"k" | "v" | "dk" | "dv"}`
  | `${"gradient" | "dequantised"}/${string}`;

/** Arrays by use, kept from run to run: new ones of this size would wait for the garbage collector. */
export class ScratchArrays<Use extends string = PassUse> {
  readonly #arrays = new Map<Use, Float32Array>();
  readonly #kept = new Map<Use, GrowableFloats>();
  #indices = new Int32Array(0);

  /** The array of a use, whose numbers are what was last written for that use, or any. */
  get(use: Use, length: number): Float32Array {
    const known = this.#arrays.get(use);
    if (known !== undefined && known.length >= length) return known.subarray(0, length);
    const array = new Float32Array(length);
    this.#arrays.set(use, array);
    return array;
  }

  /**
   * The same for what is kept of every layer, most of a pass's memory: `clear` gives it back to the system, where freed arrays of up to 32 MiB stay
   * with the process. Not for loops over numbers.
   */
  kept(use: Use, length: number): Float32Array {
    const known = this.#kept.get(use) ?? new GrowableFloats();
    this.#kept.set(use, known);
    return known.first(length);
  }

  /** 0, 1, … up to, not including, a count. */
  indices(count: number): Int32Array {
    if (this.#indices.length < count) this.#indices = Int32Array.from({ length: count }, (_, i) => i);
    return this.#indices.subarray(0, count);
  }

  clear(): void {
    this.#arrays.clear();
    for (const floats of this.#kept.values()) floats.resize(0);
    this.#kept.clear();
    this.#indices = new Int32Array(0);
  }
}
