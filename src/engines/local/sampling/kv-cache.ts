import type { TokenId } from "../../../core/trajectory.ts";
import type { Segment } from "./prefix-cache.ts";

export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/**
 * Keys and values of the rows that are being sampled. Per layer one array [slots, Hk, capacity, size]: the first R slots are a
 * tensor of R rows as they stand, so that a decoding step takes them without a copy. There are as many slots as rows need, and not as
 * many as there may be: with long contexts an unused one would take hundreds of megabytes.
 */
export class SlotCache {
  readonly #shape: CacheShape;
  #slots = 0;
  #capacity = 0;
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];

  constructor(shape: CacheShape) {
    this.#shape = shape;
  }

  /** Tokens that every slot has room for. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Bytes of all keys and values. */
  get bytes(): number {
    return [...this.#keys, ...this.#values].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Makes room for this many tokens in each of this many slots, keeping what is there; in steps, so that it is rare. */
  reserve(slots: number, tokens: number): void {
    if (slots <= this.#slots && tokens <= this.#capacity) return;
    const step = tokens <= 1024 ? 64 : 256;
    const wider = Math.max(this.#capacity, Math.ceil(tokens / step) * step);
    this.#resize(slots <= this.#slots ? this.#slots : 2 ** Math.ceil(Math.log2(slots)), wider);
  }

  /** Gives slots back where a quarter of them would do for the rows that are left. */
  shrink(slots: number): void {
    if (slots > 0 && 4 * slots <= this.#slots) this.#resize(2 ** Math.ceil(Math.log2(slots)), this.#capacity);
  }

  #resize(slots: number, capacity: number): void {
    const { layers, kvHeads, headDim } = this.#shape;
    const width = this.#capacity * headDim;
    const resized = (old: Float32Array | undefined): Float32Array => {
      const array = new Float32Array(slots * kvHeads * capacity * headDim);
      for (let line = 0; old && line < Math.min(slots, this.#slots) * kvHeads; line++) {
        array.set(old.subarray(line * width, (line + 1) * width), line * capacity * headDim);
      }
      return array;
    };
    // Layer by layer, so that only one layer is held twice.
    for (let layer = 0; layer < layers; layer++) {
      this.#keys[layer] = resized(this.#keys[layer]);
      this.#values[layer] = resized(this.#values[layer]);
    }
    this.#slots = slots;
    this.#capacity = capacity;
  }

  /** Gives all memory back. */
  clear(): void {
    this.#slots = 0;
    this.#capacity = 0;
    this.#keys = [];
    this.#values = [];
  }

  /** The first slots, as the decoding step takes them. */
  view(rows: number): { keys: Float32Array[]; values: Float32Array[] } {
    const size = rows * this.#shape.kvHeads * this.#capacity * this.#shape.headDim;
    return { keys: this.#keys.map((k) => k.subarray(0, size)), values: this.#values.map((v) => v.subarray(0, size)) };
  }

  /** A copy of some slots' first tokens, as rows [slots, Hk, tokens, size]. */
  gather(slots: readonly number[], tokens: number): { keys: Float32Array[]; values: Float32Array[] } {
    const { kvHeads, headDim } = this.#shape;
    const pick = (from: Float32Array): Float32Array => {
      const rows = new Float32Array(slots.length * kvHeads * tokens * headDim);
      slots.forEach((slot, row) => {
        this.#eachHead((head) => {
          const start = this.#at(slot, head, 0);
          rows.set(from.subarray(start, start + tokens * headDim), (row * kvHeads + head) * tokens * headDim);
        });
      });
      return rows;
    };
    return { keys: this.#keys.map(pick), values: this.#values.map(pick) };
  }

  /** Appends the first `count` of a row's new tokens to a slot that holds `length`. @param keys per layer [R, Hk, chunk, size] */
  append(
    slot: number,
    length: number,
    from: { row: number; chunk: number; count: number },
    keys: readonly Float32Array[],
    values: readonly Float32Array[],
  ): void {
    const { kvHeads, headDim } = this.#shape;
    this.#eachHead((head) => {
      const source = (from.row * kvHeads + head) * from.chunk * headDim;
      const target = this.#at(slot, head, length);
      for (let layer = 0; layer < keys.length; layer++) {
        this.#keys[layer].set(keys[layer].subarray(source, source + from.count * headDim), target);
        this.#values[layer].set(values[layer].subarray(source, source + from.count * headDim), target);
      }
    });
  }

  /** Copies the first tokens of one slot to another. */
  copy(from: number, to: number, tokens: number): void {
    this.#eachHead((head) => {
      const source = this.#at(from, head, 0);
      for (const array of [...this.#keys, ...this.#values]) {
        array.copyWithin(this.#at(to, head, 0), source, source + tokens * this.#shape.headDim);
      }
    });
  }

  /** A copy of a slot's tokens from the given one on. @param tokens all that the slot holds */
  take(slot: number, tokens: readonly TokenId[], from: number): Segment {
    const { kvHeads, headDim } = this.#shape;
    const line = (tokens.length - from) * headDim;
    const copy = (array: Float32Array): Float32Array => {
      const out = new Float32Array(kvHeads * line);
      this.#eachHead((head) => {
        const start = this.#at(slot, head, from);
        out.set(array.subarray(start, start + line), head * line);
      });
      return out;
    };
    return { tokens: tokens.slice(from), keys: this.#keys.map(copy), values: this.#values.map(copy) };
  }

  /** Puts the first `count` tokens of a segment into a slot, behind `length` others. */
  put(slot: number, length: number, { tokens, keys, values }: Segment, count: number): void {
    const { headDim } = this.#shape;
    this.#eachHead((head) => {
      const source = head * tokens.length * headDim;
      const target = this.#at(slot, head, length);
      for (let layer = 0; layer < keys.length; layer++) {
        this.#keys[layer].set(keys[layer].subarray(source, source + count * headDim), target);
        this.#values[layer].set(values[layer].subarray(source, source + count * headDim), target);
      }
    });
  }

  #at(slot: number, head: number, token: number): number {
    return ((slot * this.#shape.kvHeads + head) * this.#capacity + token) * this.#shape.headDim;
  }

  #eachHead(visit: (head: number) => void): void {
    for (let head = 0; head < this.#shape.kvHeads; head++) visit(head);
  }
}
