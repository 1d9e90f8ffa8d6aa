/** Bytes that an array may grow to: the most that V8 reserves. Addresses alone are reserved, no memory. */
const maxBytes = 2 ** 32;

/**
 * Numbers that grow and shrink in place. Memory follows the length at once, where an array that nothing refers to any more waits for the garbage
 * collector. Loops over single numbers are slow here, calls such as `set` and `copyWithin` are not.
 */
export class GrowableFloats {
  readonly #buffer = new ArrayBuffer(0, { maxByteLength: maxBytes });
  #array = new Float32Array(this.#buffer, 0, 0);

  /** Valid until the next `resize` to fewer numbers. */
  get array(): Float32Array {
    return this.#array;
  }

  /** Keeps the numbers that still have a place. Further ones are 0, and take memory when they are first written. */
  resize(length: number): void {
    this.#buffer.resize(length * Float32Array.BYTES_PER_ELEMENT);
    this.#array = new Float32Array(this.#buffer, 0, length);
  }

  /** The first numbers, whatever they are, of an array that grows where it has fewer. */
  first(length: number): Float32Array {
    if (this.#array.length < length) this.resize(length);
    return this.#array.subarray(0, length);
  }
}
