import type { TokenId } from "../../../core/trajectory.ts";
import type { Segment } from "./prefix-cache.ts";

export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/**
 * Keys and values of the rows that are being sampled. Per layer one array [slots, Hk, capacity, size]: the first R slots are a
 * tensor of R rows as they stand, so that a decoding step takes them without a copy.
 */
export class SlotCache {
  readonly #shape: CacheShape;
  readonly #slots: number;
  #capacity = 0;
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];

  constructor(shape: CacheShape, slots: number) {
    this.#shape = shape;
    this.#slots = slots;
  }

  /** Tokens that every slot has room for. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Makes room for this many tokens a slot, keeping what is there; in steps, so that it is rare. */
  reserve(tokens: number): void {
    if (tokens <= this.#capacity) return;
    const { layers, kvHeads, headDim } = this.#shape;
    const capacity = Math.ceil(tokens / 64) * 64;
    const grow = (old: Float32Array | undefined): Float32Array => {
      const grown = new Float32Array(this.#slots * kvHeads * capacity * headDim);
      const width = this.#capacity * headDim;
      for (let line = 0; old && line < this.#slots * kvHeads; line++) {
        grown.set(old.subarray(line * width, (line + 1) * width), line * capacity * headDim);
      }
      return grown;
    };
    this.#keys = Array.from({ length: layers }, (_, layer) => grow(this.#keys[layer]));
    this.#values = Array.from({ length: layers }, (_, layer) => grow(this.#values[layer]));
    this.#capacity = capacity;
  }

  /** Gives all memory back. */
  clear(): void {
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
