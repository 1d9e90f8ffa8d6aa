import type { TokenId } from "../../../src/core/trajectory.ts";
import type { GrowableFloats } from "../machine/growable.ts";
import { type ModelConfig, parameterCount } from "../model/model-config.ts";
import {
  type Appended,
  type CacheShape,
  cacheBytesOfToken,
  type Entries,
  type EntryMemory,
  type HostEntries,
  type NewEntries,
  type SlotEntries,
} from "./entries.ts";
import { hostMemory } from "./kv-cache.ts";
import type { Segment } from "./prefix-cache.ts";

interface Sequence {
  /** Those whose keys and values are held. */
  readonly tokens: readonly TokenId[];
}

/** Rows of one class of lengths, in the order of their slots: one decoding step computes them together. */
export interface Pool<Row extends Sequence> {
  readonly rows: readonly Row[];
  /** Tokens that every slot has room for. */
  readonly capacity: number;
  readonly cache: SlotEntries;
  /** Keys and values of all rows, without a copy. Per layer [rows, Hk, capacity, size]. @throws RangeError on a device */
  view(): HostEntries;
}

/**
 * Keys and values of rows of unequal lengths. A decoding step over rows side by side reads as many keys for each as the longest of them has,
 * so rows are kept apart by classes of lengths: up to the shortest class, twice it, four times it … Each class has slots of its own, and a row
 * moves to the next class when it outgrows its own.
 */
export class RowPools<Row extends Sequence> {
  readonly #memory: EntryMemory;
  readonly #shortest: number;
  /** By class. */
  readonly #pools = new Map<number, { readonly cache: SlotEntries; readonly rows: Row[] }>();
  readonly #isShort: () => boolean;
  /** Whether a run reads keys and values: none may be given back then, or moved. */
  #inUse = false;
  /** Rows that were removed meanwhile. */
  readonly #leaving = new Set<Row>();

  /**
   * @param shortest tokens of the shortest class
   * @param isShort whether memory is short: slots without a row are given back at once then
   * @param memory the processor's if left out
   */
  constructor(
    shape: CacheShape,
    shortest: number,
    isShort: () => boolean = () => false,
    memory: EntryMemory = hostMemory(shape),
  ) {
    this.#memory = memory;
    this.#shortest = shortest;
    this.#isShort = isShort;
  }

  get size(): number {
    return this.#inOrder().reduce((sum, { rows }) => sum + rows.length, 0) - this.#leaving.size;
  }

  /** Shorter rows first. */
  get rows(): Row[] {
    const all = this.#inOrder().flatMap(({ rows }) => rows);
    return this.#leaving.size === 0 ? all : all.filter((row) => !this.#leaving.has(row));
  }

  /** Bytes of all keys and values. */
  get bytes(): number {
    return this.#inOrder().reduce((sum, { cache }) => sum + cache.bytes, 0);
  }

  /** The class of a number of tokens: 0 up to the shortest class, 1 up to twice as many … */
  classOf(tokens: number): number {
    return Math.max(0, Math.ceil(Math.log2(tokens / this.#shortest)));
  }

  has(row: Row): boolean {
    return !this.#leaving.has(row) && this.#find(row) !== undefined;
  }

  /** Gives rows slots with room for as many tokens each. */
  add(added: readonly { readonly row: Row; readonly tokens: number }[]): void {
    for (const key of new Set(added.map(({ tokens }) => this.classOf(tokens)))) {
      const ofClass = added.filter(({ tokens }) => this.classOf(tokens) === key);
      const { cache, rows } = this.#pool(key);
      cache.reserve(rows.length + ofClass.length, Math.max(...ofClass.map(({ tokens }) => tokens)));
      rows.push(...ofClass.map(({ row }) => row));
    }
  }

  /** Frees a row's slot, once no run reads it. The last row of its class moves there, so that the rows stay side by side. */
  remove(row: Row): void {
    if (this.#inUse) {
      this.#leaving.add(row);
      return;
    }
    const { cache, rows, slot } = this.#locate(row);
    const last = rows.pop();
    if (last !== undefined && last !== row) {
      rows[slot] = last;
      cache.copy(rows.length, slot, last.tokens.length);
    }
    this.#giveBack(cache, rows.length);
  }

  /** Gives a row's slot to another row, whose tokens are the same. */
  replace(row: Row, other: Row): void {
    const { rows, slot } = this.#locate(row);
    rows[slot] = other;
  }

  /** Makes a run that reads what `pools`, `viewOf` or `gather` gave: until it ends, rows may leave and their memory stays. */
  async reading<T>(run: () => Promise<T>): Promise<T> {
    this.#inUse = true;
    try {
      return await run();
    } finally {
      this.#inUse = false;
      for (const row of this.#leaving) this.remove(row);
      this.#leaving.clear();
      for (const { cache, rows } of this.#pools.values()) this.#giveBack(cache, rows.length);
    }
  }

  #giveBack(cache: SlotEntries, rows: number): void {
    if (rows === 0) cache.clear();
    else if (this.#isShort()) cache.fit(rows);
    else cache.shrink(rows);
  }

  reserve(row: Row, tokens: number): void {
    const from = this.#locate(row);
    const to = this.#pool(Math.max(this.classOf(tokens), from.key));
    const moves = to.cache !== from.cache;
    to.cache.reserve(to.rows.length + (moves ? 1 : 0), tokens);
    if (!moves) return;
    to.cache.copyFrom(from.cache, from.slot, to.rows.length, row.tokens.length);
    this.remove(row);
    to.rows.push(row);
  }

  /** Those that have rows, shorter ones first. */
  pools(): Pool<Row>[] {
    return this.#inOrder().map(({ cache, rows }) => ({
      rows: [...rows],
      capacity: cache.capacity,
      cache,
      view: () => this.#viewOf(cache, 0, rows.length),
    }));
  }

  /** Keys and values of one row as they stand, per layer [1, Hk, capacity, size]. Undefined on a device, where that would be a copy. */
  viewOf(row: Row): (HostEntries & { readonly capacity: number }) | undefined {
    const { cache, slot } = this.#locate(row);
    const view = this.#memory.view({ cache, slot }, 1);
    return view && { ...view, capacity: cache.capacity };
  }

  #viewOf(cache: SlotEntries, slot: number, rows: number): HostEntries {
    const view = this.#memory.view({ cache, slot }, rows);
    if (view === undefined) throw new RangeError("slots that are on a device");
    return view;
  }

  /**
   * A copy of the first tokens of some rows, side by side: per layer [rows, Hk, tokens, size]. Rows with fewer tokens have any numbers behind them.
   * @param floats the copy's memory
   */
  gather(rows: readonly Row[], tokens: number, floats: GrowableFloats): Entries {
    return this.#memory.gather(
      rows.map((row) => this.#locate(row)),
      tokens,
      floats,
    );
  }

  /** Appends new tokens to those of some rows, which must have room for them. */
  append(rows: readonly ({ readonly of: Row } & Pick<Appended, "row" | "count">)[], from: NewEntries): void {
    const byCache = new Map<SlotEntries, Appended[]>();
    for (const { of, row, count } of rows) {
      const { cache, slot } = this.#locate(of);
      const appended = byCache.get(cache) ?? [];
      byCache.set(cache, appended);
      appended.push({ slot, length: of.tokens.length, row, count });
    }
    for (const [cache, appended] of byCache) cache.append(appended, from);
  }

  /** Copies the first tokens of one row to another, which must have room for them. */
  copy(from: Row, to: Row, tokens: number): void {
    const [source, target] = [this.#locate(from), this.#locate(to)];
    target.cache.copyFrom(source.cache, source.slot, target.slot, tokens);
  }

  take(row: Row, from: number): Segment {
    const { cache, slot } = this.#locate(row);
    return cache.take(slot, row.tokens, from);
  }

  /** Puts the first `count` tokens of a segment behind those of a row, which must have room for them. */
  put(row: Row, segment: Segment, count: number): void {
    const { cache, slot } = this.#locate(row);
    cache.put(slot, row.tokens.length, segment, count);
  }

  /** Drops all rows, and gives all memory back. */
  clear(): void {
    this.#leaving.clear();
    for (const { cache, rows } of this.#pools.values()) {
      rows.length = 0;
      if (!this.#inUse) cache.clear();
    }
  }

  #pool(key: number) {
    const pool = this.#pools.get(key) ?? { cache: this.#memory.newSlots(), rows: [] };
    this.#pools.set(key, pool);
    return pool;
  }

  #find(row: Row) {
    for (const [key, { cache, rows }] of this.#pools) {
      const slot = rows.indexOf(row);
      if (slot >= 0) return { key, cache, rows, slot };
    }
    return undefined;
  }

  #locate(row: Row) {
    const found = this.#find(row);
    if (found === undefined) throw new RangeError("a row without a slot");
    return found;
  }

  #inOrder() {
    return [...this.#pools]
      .filter(([, { rows }]) => rows.length > 0)
      .sort(([a], [b]) => a - b)
      .map(([, pool]) => pool);
  }
}

/** A step costs as much as reading its weights, and by its dispatch about as many bytes more (research/notes/engine.md). */
const dispatchBytes = 10e6;
/** Rows whose padding is worth a step of their own. */
const rowsWorthAStep = 16;

/**
 * Tokens of the shortest class of rows: where padding as many tokens for some rows reads what a step of their own would read, the next
 * power of two.
 */
export function shortestClass(config: ModelConfig, { weights }: { readonly weights?: "float32" | "int8" }): number {
  const bytes = (weights === "int8" ? 1 : 4) * parameterCount(config);
  return 2 ** Math.ceil(Math.log2((bytes + dispatchBytes) / (rowsWorthAStep * cacheBytesOfToken(config))));
}
