import { host } from "../../../src/core/host.ts";
import type { TokenId } from "../../../src/core/trajectory.ts";
import { GrowableFloats } from "../machine/growable.ts";
import { Turns } from "../machine/turns.ts";
import {
  type Appended,
  type CacheShape,
  capacityFor,
  type EntryMemory,
  entrySizes,
  type HostEntries,
  type NewEntries,
  type SlotEntries,
} from "./entries.ts";
import { type EntrySizes, emptySegment, entriesIn, type Segment } from "./prefix-cache.ts";

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

  async reserve(slots: number, tokens: number): Promise<void> {
    if (slots <= this.#slots && tokens <= this.#capacity) return;
    const wider = Math.max(this.#capacity, capacityFor(tokens));
    await this.#resize(slots <= this.#slots ? this.#slots : slotsFor(slots), wider);
  }

  async shrink(slots: number): Promise<void> {
    if (slots > 0 && 4 * slots <= this.#slots) await this.#resize(slotsFor(slots), this.#capacity);
  }

  async fit(rows: number): Promise<void> {
    if (rows < this.#slots) await this.#resize(rows, rows === 0 ? 0 : this.#capacity);
  }

  /** @param capacity not less than it is, unless there are no slots left */
  async #resize(slots: number, capacity: number): Promise<void> {
    const [heads, turns] = [this.#heads, Turns.ofCopies()];
    const lines = Math.min(slots, this.#slots) * heads;
    for (const name of ["keys", "values"] as const)
      for (const [layer, floats] of this.#growing[name].entries()) {
        const size = this.#sizes[name][layer];
        const [from, to] = [this.#capacity * size, capacity * size];
        if (to > from) floats.resize(Math.max(slots, this.#slots) * heads * to);
        // The last line first: each moves behind where it was.
        for (let line = lines - 1; line > 0 && to > from; line--)
          floats.array.copyWithin(line * to, line * from, (line + 1) * from);
        floats.resize(slots * heads * to);
        const passed = (to > from ? lines * from : 0) + Math.max(0, (this.#slots - slots) * heads * from);
        if (turns.isOver(passed)) await host.nextTurn();
      }
    this.#became(slots, capacity);
  }

  #became(slots: number, capacity: number): void {
    this.#slots = slots;
    this.#capacity = capacity;
    this.#arrays = this.#found();
  }

  #found(): HostEntries {
    const found = (all: readonly GrowableFloats[]) => all.map(({ array }) => array);
    return { keys: found(this.#growing.keys), values: found(this.#growing.values) };
  }

  clear(): void {
    for (const floats of [...this.#growing.keys, ...this.#growing.values]) floats.resize(0);
    this.#became(0, 0);
  }

  /** Slots side by side, as the decoding step takes them. @param first of them */
  view(rows: number, first = 0): { keys: Float32Array[]; values: Float32Array[] } {
    const width = this.#heads * this.#capacity;
    const some = (arrays: readonly Float32Array[], sizes: readonly number[]) =>
      arrays.map((array, layer) => array.subarray(first * width * sizes[layer], (first + rows) * width * sizes[layer]));
    return { keys: some(this.keys, this.#sizes.keys), values: some(this.values, this.#sizes.values) };
  }

  /** Copies a slot's first tokens into row `row` of tensors [rows, Hk, width, size], one a layer. */
  gather(slot: number, tokens: number, width: number, row: number, into: HostEntries): Promise<void> {
    return this.#copyLines(this, into, [{ from: this.#lines(slot, 0), to: this.#linesOf(row, width), tokens }]);
  }

  append(rows: readonly Appended[], { chunk, ...entries }: NewEntries): Promise<void> {
    const copies = rows.map(({ slot, length, row, count }) => {
      return { from: this.#linesOf(row, chunk), to: this.#lines(slot, length), tokens: count };
    });
    return this.#copyLines(onHost(entries), this, copies);
  }

  copy(from: number, to: number, tokens: number): Promise<void> {
    return this.copyFrom(this, from, to, tokens);
  }

  async copyFrom(other: SlotEntries, from: number, to: number, tokens: number): Promise<void> {
    if (!(other instanceof SlotCache)) throw new RangeError("slots that are on a device");
    await this.#copyLines(other, this, [{ from: other.#lines(from, 0), to: this.#lines(to, 0), tokens }]);
  }

  take(slot: number, tokens: readonly TokenId[], from: number): Segment {
    const count = tokens.length - from;
    const segment = emptySegment(tokens.slice(from), this.#heads, this.#sizes);
    const copies = [{ from: this.#lines(slot, from), to: this.#linesOf(0, count), tokens: count }];
    for (const copy of this.#layers(this, segment)) copyLayer(copy, copies, this.#heads);
    return segment;
  }

  put(slot: number, length: number, segment: Segment, count: number): Promise<void> {
    const from = this.#linesOf(0, segment.tokens.length);
    return this.#copyLines(segment, this, [{ from, to: this.#lines(slot, length), tokens: count }]);
  }

  /** Per layer [slots, Hk, capacity, size]. */
  get keys(): readonly Float32Array[] {
    return this.#arrays.keys;
  }

  get values(): readonly Float32Array[] {
    return this.#arrays.values;
  }

  /** Where a slot's entries from a token on are. */
  #lines(slot: number, token: number): Lines {
    return { first: slot * this.#heads * this.#capacity + token, width: this.#capacity };
  }

  /** The same of a row of tensors [rows, Hk, width, size]. */
  #linesOf(row: number, width: number): Lines {
    return { first: row * this.#heads * width, width };
  }

  *#layers(from: HostEntries, to: HostEntries): Generator<LayerCopy> {
    for (const name of ["keys", "values"] as const)
      for (const [layer, size] of this.#sizes[name].entries()) yield { from: from[name][layer], to: to[name][layer], size };
  }

  async #copyLines(from: HostEntries, to: HostEntries, copies: readonly LinesCopy[]): Promise<void> {
    const numbers = this.#heads * copies.reduce((sum, { tokens }) => sum + tokens, 0);
    const turns = Turns.ofCopies();
    for (const layer of this.#layers(from, to)) {
      copyLayer(layer, copies, this.#heads);
      if (turns.isOver(numbers * layer.size)) await host.nextTurn();
    }
  }
}

/** Entries of a token in each head: in tokens, where that of the first head is, and how far that of the next is from it. */
interface Lines {
  readonly first: number;
  readonly width: number;
}

/** Entries of tokens that lie side by side in each head. */
interface LinesCopy {
  readonly from: Lines;
  readonly to: Lines;
  readonly tokens: number;
}

/** One layer's keys or values. @property size numbers of an entry */
interface LayerCopy {
  readonly from: Float32Array;
  readonly to: Float32Array;
  readonly size: number;
}

function copyLayer({ from, to, size }: LayerCopy, copies: readonly LinesCopy[], heads: number): void {
  for (const { from: source, to: target, tokens } of copies)
    for (let head = 0; head < heads; head++) {
      const start = source.first + head * source.width;
      to.set(from.subarray(start * size, (start + tokens) * size), (target.first + head * target.width) * size);
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
    gather: async (slots, tokens, floats) => {
      const into = entriesIn(slots.length * shape.kvHeads * tokens, entrySizes(shape), (count) => floats.first(count));
      for (const [r, { cache, slot }] of slots.entries())
        await here(cache).gather(slot, Math.min(tokens, cache.capacity), tokens, r, into);
      return into;
    },
    view: ({ cache, slot }, rows) => here(cache).view(rows, slot),
  };
}

/** Slots for a number of rows: in steps of at most a quarter, so that growing is rare and little is unused. */
function slotsFor(rows: number): number {
  const step = Math.max(1, 2 ** (Math.floor(Math.log2(rows)) - 2));
  return Math.ceil(rows / step) * step;
}
