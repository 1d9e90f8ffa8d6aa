/** Arrays by use, kept from run to run: new ones of this size would wait for the garbage collector. */
export class ScratchArrays {
  readonly #arrays = new Map<string, Float32Array>();
  #indices = new Int32Array(0);

  /** The array of a use, whose numbers are what was last written for that use, or any. */
  get(use: string, length: number): Float32Array {
    const known = this.#arrays.get(use);
    if (known !== undefined && known.length >= length) return known.subarray(0, length);
    const array = new Float32Array(length);
    this.#arrays.set(use, array);
    return array;
  }

  /** 0, 1, … up to, not including, a count. */
  indices(count: number): Int32Array {
    if (this.#indices.length < count) this.#indices = Int32Array.from({ length: count }, (_, i) => i);
    return this.#indices.subarray(0, count);
  }

  clear(): void {
    this.#arrays.clear();
    this.#indices = new Int32Array(0);
  }
}
