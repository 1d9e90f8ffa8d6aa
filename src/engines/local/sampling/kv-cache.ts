import type { TokenId } from "../../../core/trajectory.ts";
import type { Segment } from "./prefix-cache.ts";

export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** Bytes of the keys and values of a token, in all layers. */
export function cacheBytesOfToken({ layers, kvHeads, headDim }: CacheShape): number {
  return 2 * Float32Array.BYTES_PER_ELEMENT * layers * kvHeads * headDim;
}

/** The first `count` of the new tokens of a row of a step. Per layer [R, Hk, chunk, size]. */
export interface NewEntries {
  readonly row: number;
  readonly chunk: number;
  readonly count: number;
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
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
    this.#resize(slots <= this.#slots ? this.#slots : slotsFor(slots), wider);
  }

  /** Gives slots back where a quarter of them would do for the rows that are left. */
  shrink(slots: number): void {
    if (slots > 0 && 4 * slots <= this.#slots) this.#resize(slotsFor(slots), this.#capacity);
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

  /** Copies a slot's first tokens into row `row` of tensors [rows, Hk, width, size], one a layer. */
  gather(
    slot: number,
    tokens: number,
    width: number,
    row: number,
    into: { readonly keys: readonly Float32Array[]; readonly values: readonly Float32Array[] },
  ): void {
    const { kvHeads, headDim } = this.#shape;
    this.#eachHead((head) => {
      const start = this.#at(slot, head, 0);
      const target = (row * kvHeads + head) * width * headDim;
      for (let layer = 0; layer < this.#keys.length; layer++) {
        into.keys[layer].set(this.#keys[layer].subarray(start, start + tokens * headDim), target);
        into.values[layer].set(this.#values[layer].subarray(start, start + tokens * headDim), target);
      }
    });
  }

  /** Appends new tokens to a slot that holds `length`. */
  append(slot: number, length: number, { row, chunk, count, keys, values }: NewEntries): void {
    const { kvHeads, headDim } = this.#shape;
    this.#eachHead((head) => {
      const source = (row * kvHeads + head) * chunk * headDim;
      const target = this.#at(slot, head, length);
      for (let layer = 0; layer < keys.length; layer++) {
        this.#keys[layer].set(keys[layer].subarray(source, source + count * headDim), target);
        this.#values[layer].set(values[layer].subarray(source, source + count * headDim), target);
      }
    });
  }

  /** Copies the first tokens of one slot to another. */
  copy(from: number, to: number, tokens: number): void {
    this.copyFrom(this, from, to, tokens);
  }

  /** Copies the first tokens of a slot of another cache, or of this one. */
  copyFrom(other: SlotCache, from: number, to: number, tokens: number): void {
    const length = tokens * this.#shape.headDim;
    this.#eachHead((head) => {
      const [source, target] = [other.#at(from, head, 0), this.#at(to, head, 0)];
      for (let layer = 0; layer < this.#keys.length; layer++) {
        this.#keys[layer].set(other.#keys[layer].subarray(source, source + length), target);
        this.#values[layer].set(other.#values[layer].subarray(source, source + length), target);
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

/** In steps of at most a quarter, so that growing is rare and little is unused. */
function slotsFor(rows: number): number {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(rows)) - 2));
  return Math.ceil(rows / step) * step;
}
