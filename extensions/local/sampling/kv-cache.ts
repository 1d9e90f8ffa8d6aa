import type { TokenId } from "../../../src/core/trajectory.ts";
import { GrowableFloats } from "../machine/growable.ts";
import {
  type Appended,
  type CacheShape,
  capacityFor,
  type EntryMemory,
  type EntrySizes,
  entrySizes,
  type HostEntries,
  type NewEntries,
  type SlotEntries,
} from "./entries.ts";
import { emptySegment, entriesIn, type Segment } from "./prefix-cache.ts";

/**
 * Keys and values of the rows that are being sampled. Per layer one array [slots, Hk, capacity, size]: the first R slots are a
 * tensor of R rows as they stand, so that a decoding step takes them without a copy. There are as many slots as rows need, and not as
 * many as there may be: with long contexts an unused one would take hundreds of megabytes. They grow and shrink in place, so that nothing is
 * held twice meanwhile.
 */
export class SlotCache implements SlotEntries {
  readonly #heads: number;
  readonly #sizes: EntrySizes;
  #slots = 0;
  #capacity = 0;
  readonly #growing: { readonly keys: readonly GrowableFloats[]; readonly values: readonly GrowableFloats[] };
  #arrays: HostEntries;

  constructor(shape: CacheShape) {
    this.#heads = shape.kvHeads;
    this.#sizes = entrySizes(shape);
    const made = (sizes: readonly number[]) => sizes.map(() => new GrowableFloats());
    this.#growing = { keys: made(this.#sizes.keys), values: made(this.#sizes.values) };
    this.#arrays = this.#found();
  }

  get capacity(): number {
    return this.#capacity;
  }

  get bytes(): number {
    return [...this.keys, ...this.values].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  reserve(slots: number, tokens: number): void {
    if (slots <= this.#slots && tokens <= this.#capacity) return;
    const wider = Math.max(this.#capacity, capacityFor(tokens));
    this.#resize(slots <= this.#slots ? this.#slots : slotsFor(slots), wider);
  }

  shrink(slots: number): void {
    if (slots > 0 && 4 * slots <= this.#slots) this.#resize(slotsFor(slots), this.#capacity);
  }

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

  #found(): HostEntries {
    const found = (all: readonly GrowableFloats[]) => all.map(({ array }) => array);
    return { keys: found(this.#growing.keys), values: found(this.#growing.values) };
  }

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
  gather(slot: number, tokens: number, width: number, row: number, into: HostEntries): void {
    this.#eachHead((head) => {
      copyEntries(this, this.#offset(slot, head, 0), into, (row * this.#heads + head) * width, tokens, this.#sizes);
    });
  }

  append(rows: readonly Appended[], { chunk, ...entries }: NewEntries): void {
    const from = onHost(entries);
    for (const { slot, length, row, count } of rows)
      this.#eachHead((head) => {
        const source = (row * this.#heads + head) * chunk;
        copyEntries(from, source, this, this.#offset(slot, head, length), count, this.#sizes);
      });
  }

  copy(from: number, to: number, tokens: number): void {
    this.copyFrom(this, from, to, tokens);
  }

  copyFrom(other: SlotEntries, from: number, to: number, tokens: number): void {
    if (!(other instanceof SlotCache)) throw new RangeError("slots that are on a device");
    this.#eachHead((head) => {
      copyEntries(other, other.#offset(from, head, 0), this, this.#offset(to, head, 0), tokens, this.#sizes);
    });
  }

  take(slot: number, tokens: readonly TokenId[], from: number): Segment {
    const count = tokens.length - from;
    const segment = emptySegment(tokens.slice(from), this.#heads, this.#sizes);
    this.#eachHead((head) => {
      copyEntries(this, this.#offset(slot, head, from), segment, head * count, count, this.#sizes);
    });
    return segment;
  }

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

/** @throws RangeError for entries on a device */
function onHost({ keys, values }: Pick<NewEntries, "keys" | "values">): HostEntries {
  const arrays = (all: NewEntries["keys"]) =>
    all.map((entries) => {
      if (entries instanceof Float32Array) return entries;
      throw new RangeError("entries that are on a device");
    });
  return { keys: arrays(keys), values: arrays(values) };
}

/** Keys and values in the processor's memory. */
export function hostMemory(shape: CacheShape): EntryMemory {
  const here = (cache: SlotEntries) => {
    if (cache instanceof SlotCache) return cache;
    throw new RangeError("slots that are on a device");
  };
  return {
    newSlots: () => new SlotCache(shape),
    gather: (slots, tokens, floats) => {
      const into = entriesIn(slots.length * shape.kvHeads * tokens, entrySizes(shape), (count) => floats.first(count));
      slots.forEach(({ cache, slot }, r) => {
        here(cache).gather(slot, Math.min(tokens, cache.capacity), tokens, r, into);
      });
      return into;
    },
    view: ({ cache, slot }, rows) => here(cache).view(rows, slot),
  };
}

/** Copies `count` entries that lie side by side, in all layers. */
function copyEntries(from: HostEntries, source: number, to: HostEntries, target: number, count: number, sizes: EntrySizes): void {
  for (const name of ["keys", "values"] as const)
    from[name].forEach((array, layer) => {
      const size = sizes[name][layer];
      to[name][layer].set(array.subarray(source * size, (source + count) * size), target * size);
    });
}

/** Slots for a number of rows: in steps of at most a quarter, so that growing is rare and little is unused. */
function slotsFor(rows: number): number {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(rows)) - 2));
  return Math.ceil(rows / step) * step;
}
