import type { TokenId } from "../../../src/core/trajectory.ts";
import { GrowableFloats } from "../machine/growable.ts";
import type { LayerType } from "../model/architectures.ts";
import { emptySegment, type Segment } from "./prefix-cache.ts";

export interface CacheShape {
  readonly layers: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly hiddenSize?: number;
  readonly layerTypes?: readonly LayerType[];
}

/** Numbers that a head has of a token in each layer. */
export interface EntrySizes {
  readonly keys: readonly number[];
  readonly values: readonly number[];
}

/** A convolution has values that it adds up instead of keys, cut into as many heads, and nothing else. */
export function entrySizes({ layers, kvHeads, headDim, hiddenSize = 0, layerTypes }: CacheShape): EntrySizes {
  const of = (attention: number, convolution: number) =>
    Array.from({ length: layers }, (_, layer) => (layerTypes?.[layer] === "conv" ? convolution : attention));
  return { keys: of(headDim, hiddenSize / kvHeads), values: of(headDim, 0) };
}

/** Bytes of the keys and values of a token, in all layers. */
export function cacheBytesOfToken(shape: CacheShape): number {
  const { keys, values } = entrySizes(shape);
  return Float32Array.BYTES_PER_ELEMENT * shape.kvHeads * [...keys, ...values].reduce((sum, size) => sum + size, 0);
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
 * many as there may be: with long contexts an unused one would take hundreds of megabytes. They grow and shrink in place, so that nothing is
 * held twice meanwhile.
 */
export class SlotCache {
  readonly #heads: number;
  readonly #sizes: EntrySizes;
  #slots = 0;
  #capacity = 0;
  readonly #growing: { readonly keys: readonly GrowableFloats[]; readonly values: readonly GrowableFloats[] };
  #arrays: Entries;

  constructor(shape: CacheShape) {
    this.#heads = shape.kvHeads;
    this.#sizes = entrySizes(shape);
    const made = (sizes: readonly number[]) => sizes.map(() => new GrowableFloats());
    this.#growing = { keys: made(this.#sizes.keys), values: made(this.#sizes.values) };
    this.#arrays = this.#found();
  }

  /** Tokens that every slot has room for. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Bytes of all keys and values. */
  get bytes(): number {
    return [...this.keys, ...this.values].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Makes room for this many tokens in each of this many slots, keeping what is there; in steps, so that it is rare. */
  reserve(slots: number, tokens: number): void {
    if (slots <= this.#slots && tokens <= this.#capacity) return;
    const wider = Math.max(this.#capacity, capacityFor(tokens));
    this.#resize(slots <= this.#slots ? this.#slots : slotsFor(slots), wider);
  }

  /** Gives slots back where a quarter of them would do for the rows that are left. */
  shrink(slots: number): void {
    if (slots > 0 && 4 * slots <= this.#slots) this.#resize(slotsFor(slots), this.#capacity);
  }

  /** Gives back all slots but those of this many rows. */
  fit(rows: number): void {
    if (rows === 0) this.clear();
    else if (rows < this.#slots) this.#resize(rows, this.#capacity);
  }

  /** @param capacity not less than it is, unless there are no slots left */
  #resize(slots: number, capacity: number): void {
    const heads = this.#heads;
    const lines = Math.min(slots, this.#slots) * heads;
    for (const name of ["keys", "values"] as const)
      this.#growing[name].forEach((floats, layer) => {
        const size = this.#sizes[name][layer];
        const [from, to] = [this.#capacity * size, capacity * size];
        if (to > from) floats.resize(Math.max(slots, this.#slots) * heads * to);
        // The last line first: each moves behind where it was.
        for (let line = lines - 1; line > 0 && to > from; line--)
          floats.array.copyWithin(line * to, line * from, (line + 1) * from);
        floats.resize(slots * heads * to);
      });
    this.#slots = slots;
    this.#capacity = capacity;
    this.#arrays = this.#found();
  }

  #found(): Entries {
    const found = (all: readonly GrowableFloats[]) => all.map(({ array }) => array);
    return { keys: found(this.#growing.keys), values: found(this.#growing.values) };
  }

  /** Gives all memory back. */
  clear(): void {
    this.#resize(0, 0);
  }

  /** Slots side by side, as the decoding step takes them. @param first of them */
  view(rows: number, first = 0): { keys: Float32Array[]; values: Float32Array[] } {
    const width = this.#heads * this.#capacity;
    const some = (arrays: readonly Float32Array[], sizes: readonly number[]) =>
      arrays.map((array, layer) => array.subarray(first * width * sizes[layer], (first + rows) * width * sizes[layer]));
    return { keys: some(this.keys, this.#sizes.keys), values: some(this.values, this.#sizes.values) };
  }

  /** Copies a slot's first tokens into row `row` of tensors [rows, Hk, width, size], one a layer. */
  gather(slot: number, tokens: number, width: number, row: number, into: Entries): void {
    this.#eachHead((head) => {
      copyEntries(this, this.#offset(slot, head, 0), into, (row * this.#heads + head) * width, tokens, this.#sizes);
    });
  }

  /** Appends new tokens to a slot that holds `length`. */
  append(slot: number, length: number, from: NewEntries): void {
    this.#eachHead((head) => {
      const source = (from.row * this.#heads + head) * from.chunk;
      copyEntries(from, source, this, this.#offset(slot, head, length), from.count, this.#sizes);
    });
  }

  /** Copies the first tokens of one slot to another. */
  copy(from: number, to: number, tokens: number): void {
    this.copyFrom(this, from, to, tokens);
  }

  /** Copies the first tokens of a slot of another cache, or of this one. */
  copyFrom(other: SlotCache, from: number, to: number, tokens: number): void {
    this.#eachHead((head) => {
      copyEntries(other, other.#offset(from, head, 0), this, this.#offset(to, head, 0), tokens, this.#sizes);
    });
  }

  /** A copy of a slot's tokens from the given one on. @param tokens all that the slot holds */
  take(slot: number, tokens: readonly TokenId[], from: number): Segment {
    const count = tokens.length - from;
    const segment = emptySegment(tokens.slice(from), this.#heads, this.#sizes);
    this.#eachHead((head) => {
      copyEntries(this, this.#offset(slot, head, from), segment, head * count, count, this.#sizes);
    });
    return segment;
  }

  /** Puts the first `count` tokens of a segment into a slot, behind `length` others. */
  put(slot: number, length: number, segment: Segment, count: number): void {
    this.#eachHead((head) => {
      copyEntries(segment, head * segment.tokens.length, this, this.#offset(slot, head, length), count, this.#sizes);
    });
  }

  /** Per layer [slots, Hk, capacity, size]. */
  get keys(): readonly Float32Array[] {
    return this.#arrays.keys;
  }

  get values(): readonly Float32Array[] {
    return this.#arrays.values;
  }

  /** Tokens of a head of a slot before a token. */
  #offset(slot: number, head: number, token: number): number {
    return (slot * this.#heads + head) * this.#capacity + token;
  }

  #eachHead(visit: (head: number) => void): void {
    for (let head = 0; head < this.#heads; head++) visit(head);
  }
}

/** Keys and values, one array a layer. */
interface Entries {
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
}

/** Copies `count` entries that lie side by side, in all layers. */
function copyEntries(from: Entries, source: number, to: Entries, target: number, count: number, sizes: EntrySizes): void {
  for (const name of ["keys", "values"] as const)
    from[name].forEach((array, layer) => {
      const size = sizes[name][layer];
      to[name][layer].set(array.subarray(source * size, (source + count) * size), target * size);
    });
}

/** Tokens that a slot has room for where it holds this many: in steps, so that growing is rare. */
export function capacityFor(tokens: number): number {
  const step = tokens <= 1024 ? 64 : 256;
  return Math.ceil(tokens / step) * step;
}

/** Slots for a number of rows: in steps of at most a quarter, so that growing is rare and little is unused. */
function slotsFor(rows: number): number {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(rows)) - 2));
  return Math.ceil(rows / step) * step;
}
