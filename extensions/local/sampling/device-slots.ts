import type { TokenId } from "../../../src/core/trajectory.ts";
import { type DeviceEntries, EntryCopies, type Layout, type Move } from "../graph/device-entries.ts";
import type { Provider } from "../machine/device.ts";
import {
  type Appended,
  type CacheShape,
  cacheBytesOfToken,
  type Entries,
  type EntryMemory,
  type Located,
  type NewEntries,
  type SlotEntries,
} from "./entries.ts";
import type { Places, Segment } from "./prefix-cache.ts";

/** Keys and values on a device: of the slots, of sequences that wait for their next turn, and of the runs over prompts. */
export class DeviceSlotMemory implements EntryMemory {
  readonly shape: CacheShape;
  readonly copies: EntryCopies;
  readonly store: DeviceStore;
  /** Called with slots that are given back, or move. */
  readonly moved: (entries: DeviceEntries) => void;
  readonly #scratch = new Map<string, DeviceEntries>();

  private constructor(shape: CacheShape, copies: EntryCopies, moved: (entries: DeviceEntries) => void) {
    this.shape = shape;
    this.copies = copies;
    this.moved = moved;
    this.store = new DeviceStore(this);
  }

  static async open(
    shape: CacheShape,
    provider: Provider,
    moved: (entries: DeviceEntries) => void = () => {},
  ): Promise<DeviceSlotMemory> {
    return new DeviceSlotMemory(shape, await EntryCopies.open(provider, 2 * shape.layers), moved);
  }

  newSlots(): DeviceSlots {
    return new DeviceSlots(this);
  }

  /** Numbers of a head of a slot's tokens lie side by side. */
  columns(capacity: number): Layout {
    const { kvHeads, headDim } = this.shape;
    const offsets = Int32Array.from({ length: kvHeads * headDim }, (_, w) => w * capacity);
    return { slot: kvHeads * headDim * capacity, offsets, token: 1 };
  }

  /** As a step over prompts takes and gives them: [rows, Hk, tokens, size]. */
  lines(tokens: number): Layout {
    const { kvHeads, headDim } = this.shape;
    const offsets = Int32Array.from({ length: kvHeads * headDim }, (_, w) => {
      const [head, entry] = [Math.floor(w / headDim), w % headDim];
      return head * tokens * headDim + entry;
    });
    return { slot: kvHeads * headDim * tokens, offsets, token: headDim };
  }

  /** Entries of a run over prompts, [rows, Hk, tokens, size], valid until they are asked for again. */
  scratch(use: "cached" | "new", dims: readonly number[]): Entries {
    const numbers = dims.reduce((product, size) => product * size, 1);
    const known = this.#scratch.get(use);
    const device =
      known !== undefined && known.numbers >= numbers ? known : this.copies.allocate(2 ** Math.ceil(Math.log2(numbers)));
    if (known !== undefined && known !== device) this.copies.dispose(known);
    this.#scratch.set(use, device);
    const tensors = device.view(dims);
    return { keys: tensors.slice(0, this.shape.layers), values: tensors.slice(this.shape.layers), device };
  }

  async gather(slots: readonly Located[], tokens: number): Promise<Entries> {
    const { kvHeads, headDim } = this.shape;
    const found = this.scratch("cached", [slots.length, kvHeads, 1, tokens, headDim]);
    const byCache = new Map<SlotEntries, Move[]>();
    slots.forEach(({ cache, slot }, row) => {
      const held = range(0, tokens, Math.min(tokens, cache.capacity));
      byCache.set(cache, [...(byCache.get(cache) ?? []), { fromSlot: slot, toSlot: row, from: held, to: held }]);
    });
    for (const [cache, moves] of byCache) {
      const { entries, capacity } = onDevice(cache);
      if (entries !== undefined && found.device !== undefined)
        this.copies.copy(entries, this.columns(capacity), found.device, this.lines(tokens), moves);
    }
    return found;
  }

  view(): undefined {
    return undefined;
  }

  /** Gives back what runs over prompts took. */
  rest(): void {
    for (const entries of this.#scratch.values()) this.copies.dispose(entries);
    this.#scratch.clear();
  }

  async close(): Promise<void> {
    this.rest();
    this.store.clear();
    await this.copies.close();
  }
}

/** Slots on a device. Per layer a tensor [slots, Hk, size, capacity]: a new token is a column, which a step writes where it is. */
export class DeviceSlots implements SlotEntries {
  readonly #memory: DeviceSlotMemory;
  #entries: DeviceEntries | undefined;
  #slots = 0;
  #capacity = 0;

  constructor(memory: DeviceSlotMemory) {
    this.#memory = memory;
  }

  get entries(): DeviceEntries | undefined {
    return this.#entries;
  }

  get slots(): number {
    return this.#slots;
  }

  get capacity(): number {
    return this.#capacity;
  }

  get bytes(): number {
    return this.#entries?.bytes ?? 0;
  }

  /** Slots as many as steps have rows; few capacities, since a step of each is recorded. */
  async reserve(slots: number, tokens: number): Promise<void> {
    if (slots <= this.#slots && tokens <= this.#capacity) return;
    const wider = Math.max(this.#capacity, deviceCapacity(tokens));
    this.#resize(slots <= this.#slots ? this.#slots : rowsFor(slots), wider);
  }

  async shrink(slots: number): Promise<void> {
    if (slots > 0 && 4 * slots <= this.#slots) this.#resize(rowsFor(slots), this.#capacity);
  }

  async fit(rows: number): Promise<void> {
    if (rows === 0) this.clear();
    else if (rowsFor(rows) < this.#slots) this.#resize(rowsFor(rows), this.#capacity);
  }

  clear(): void {
    this.#replace(undefined, 0, 0);
  }

  async append(rows: readonly Appended[], { chunk, device }: NewEntries): Promise<void> {
    const longest = Math.max(...rows.map(({ count }) => count));
    // A copy takes as many tokens of each: the last one again where there are fewer.
    const moves = rows.map(({ slot, length, row, count }): Move => {
      return { fromSlot: row, toSlot: slot, from: range(0, longest, count), to: range(length, longest, count) };
    });
    if (device === undefined) throw new RangeError("entries that are not on the device");
    this.#copy(device, this.#memory.lines(chunk), this.#held(), this.#layout(), moves);
  }

  copy(from: number, to: number, tokens: number): Promise<void> {
    return this.copyFrom(this, from, to, tokens);
  }

  async copyFrom(other: SlotEntries, from: number, to: number, tokens: number): Promise<void> {
    const source = onDevice(other);
    if (tokens === 0 || (other === this && from === to)) return;
    const held = range(0, tokens);
    const moves = [{ fromSlot: from, toSlot: to, from: held, to: held }];
    this.#copy(source.#held(), source.#layout(), this.#held(), this.#layout(), moves);
  }

  take(slot: number, tokens: readonly TokenId[], from: number): Segment {
    const places = this.#memory.store.take(tokens.length - from);
    const { entries, layout } = this.#memory.store;
    const moves = [{ fromSlot: slot, toSlot: 0, from: range(from, places.at.length), to: places.at }];
    if (entries !== undefined) this.#copy(this.#held(), this.#layout(), entries, layout, moves);
    return { tokens: tokens.slice(from), keys: [], values: [], places };
  }

  async put(slot: number, length: number, { places }: Segment, count: number): Promise<void> {
    if (places === undefined) throw new RangeError("a segment that is not on the device");
    const { entries, layout } = this.#memory.store;
    const moves = [{ fromSlot: 0, toSlot: slot, from: places.at.subarray(0, count), to: range(length, count) }];
    if (entries !== undefined) this.#copy(entries, layout, this.#held(), this.#layout(), moves);
  }

  #copy(...copied: Parameters<EntryCopies["copy"]>): void {
    this.#memory.copies.copy(...copied);
  }

  #layout(): Layout {
    return this.#memory.columns(this.#capacity);
  }

  #held(): DeviceEntries {
    if (this.#entries === undefined) throw new RangeError("a slot of no memory");
    return this.#entries;
  }

  #resize(slots: number, capacity: number): void {
    const { kvHeads, headDim } = this.#memory.shape;
    const entries = this.#memory.copies.allocate(slots * kvHeads * headDim * capacity);
    const held = range(0, this.#capacity);
    const moves = Array.from({ length: Math.min(slots, this.#slots) }, (_, slot): Move => {
      return { fromSlot: slot, toSlot: slot, from: held, to: held };
    });
    if (this.#entries !== undefined) this.#copy(this.#entries, this.#layout(), entries, this.#memory.columns(capacity), moves);
    this.#replace(entries, slots, capacity);
  }

  #replace(entries: DeviceEntries | undefined, slots: number, capacity: number): void {
    if (this.#entries !== undefined) {
      this.#memory.moved(this.#entries);
      this.#memory.copies.dispose(this.#entries);
    }
    [this.#entries, this.#slots, this.#capacity] = [entries, slots, capacity];
  }
}

/** Keys and values of sequences that wait, beside the slots: one slot of many places, each for a token of any sequence. */
class DeviceStore {
  readonly #memory: DeviceSlotMemory;
  #entries: DeviceEntries | undefined;
  #capacity = 0;
  /** Places that are free, those to be taken first last. */
  #free: number[] = [];

  constructor(memory: DeviceSlotMemory) {
    this.#memory = memory;
  }

  get entries(): DeviceEntries | undefined {
    return this.#entries;
  }

  get layout(): Layout {
    return this.#memory.columns(this.#capacity);
  }

  take(count: number): Places {
    if (this.#free.length < count) this.#grow(this.#capacity + Math.max(count, this.#capacity, leastPlaces));
    const at = Int32Array.from({ length: count }, () => this.#free.pop() ?? 0);
    return placesOf(at, cacheBytesOfToken(this.#memory.shape), (given) => this.#give(given));
  }

  clear(): void {
    if (this.#entries !== undefined) this.#memory.copies.dispose(this.#entries);
    this.#entries = undefined;
    this.#capacity = 0;
    this.#free = [];
  }

  #give(places: Int32Array): void {
    this.#free.push(...places);
    if (this.#free.length === this.#capacity) this.clear();
  }

  #grow(capacity: number): void {
    const { kvHeads, headDim } = this.#memory.shape;
    const entries = this.#memory.copies.allocate(kvHeads * headDim * capacity);
    if (this.#entries !== undefined) {
      const held = range(0, this.#capacity);
      const moves = [{ fromSlot: 0, toSlot: 0, from: held, to: held }];
      this.#memory.copies.copy(this.#entries, this.layout, entries, this.#memory.columns(capacity), moves);
      this.#memory.copies.dispose(this.#entries);
    }
    for (let place = capacity - 1; place >= this.#capacity; place--) this.#free.push(place);
    [this.#entries, this.#capacity] = [entries, capacity];
  }
}

/** Places of the store that a segment has. */
function placesOf(at: Int32Array, bytesOfToken: number, give: (places: Int32Array) => void): Places {
  return {
    at,
    bytes: at.length * bytesOfToken,
    part: (from, to) => placesOf(at.subarray(from, to), bytesOfToken, give),
    free: () => give(at),
  };
}

/** Places that the store has at least. */
const leastPlaces = 256;

/** Numbers from one on; from the `count`-th on the last again. */
function range(first: number, length: number, count = length): Int32Array {
  return Int32Array.from({ length }, (_, i) => first + Math.min(i, count - 1));
}

/** @throws RangeError for slots in the processor's memory */
export function onDevice(slots: SlotEntries): DeviceSlots {
  if (slots instanceof DeviceSlots) return slots;
  throw new RangeError("slots that are not on the device");
}

/** Rows of a step that has room for as many: a power of two. */
export function rowsFor(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

/** Tokens that a slot has room for: in steps of an eighth to a quarter of them, from 64 on. */
export function deviceCapacity(tokens: number): number {
  const step = Math.max(64, 2 ** (Math.floor(Math.log2(tokens)) - 2));
  return Math.ceil(tokens / step) * step;
}
