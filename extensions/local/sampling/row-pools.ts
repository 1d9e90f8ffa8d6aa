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

/** A slot with the rows of its class. */
interface Place<Row> {
  readonly cache: SlotEntries;
  readonly rows: Row[];
  readonly slot: number;
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
  /** Rows that have been removed since `settle`. A run may still read their slots. */
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
  async add(added: readonly { readonly row: Row; readonly tokens: number }[]): Promise<void> {
    const longest = new Map<number, number>();
    for (const { row, tokens } of added) {
      const key = this.classOf(tokens);
      this.#pool(key).rows.push(row);
      longest.set(key, Math.max(tokens, longest.get(key) ?? 0));
    }
    for (const [key, tokens] of longest) {
      const { cache, rows } = this.#pool(key);
      await cache.reserve(rows.length, tokens);
    }
  }

  /** Takes a row out. Its slot is freed by `settle`. */
  remove(row: Row): void {
    this.#leaving.add(row);
  }

  /** Frees the slots of rows that were removed, while no run reads keys and values. */
  async settle(): Promise<void> {
    for (const row of this.#leaving) await this.#free(this.#locate(row));
    this.#leaving.clear();
  }

  /** The last row of its class moves into a slot, so that the rows stay side by side. */
  async #free({ cache, rows, slot }: Place<Row>): Promise<void> {
    const last = rows.pop();
    if (last !== undefined && slot < rows.length) {
      rows[slot] = last;
      await cache.copy(rows.length, slot, last.tokens.length);
    }
    if (rows.length === 0 || this.#isShort()) await cache.fit(rows.length);
    else await cache.shrink(rows.length);
  }

  /** Gives a row's slot to another row, whose tokens are the same. */
  replace(row: Row, other: Row): void {
    const { rows, slot } = this.#locate(row);
    rows[slot] = other;
  }

  async reserve(row: Row, tokens: number): Promise<void> {
    const from = this.#locate(row);
    const to = this.#pool(Math.max(this.classOf(tokens), from.key));
    const moves = to.cache !== from.cache;
    await to.cache.reserve(to.rows.length + (moves ? 1 : 0), tokens);
    if (!moves) return;
    await to.cache.copyFrom(from.cache, from.slot, to.rows.length, row.tokens.length);
    to.rows.push(row);
    await this.#free(from);
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
  gather(rows: readonly Row[], tokens: number, floats: GrowableFloats): Promise<Entries> {
    return this.#memory.gather(
      rows.map((row) => this.#locate(row)),
      tokens,
      floats,
    );
  }

  /** Appends new tokens to those of some rows, which must have room for them. */
  async append(rows: readonly ({ readonly of: Row } & Pick<Appended, "row" | "count">)[], from: NewEntries): Promise<void> {
    const byCache = new Map<SlotEntries, Appended[]>();
    for (const { of, row, count } of rows) {
      const { cache, slot } = this.#locate(of);
      const appended = byCache.get(cache) ?? [];
      byCache.set(cache, appended);
      appended.push({ slot, length: of.tokens.length, row, count });
    }
    for (const [cache, appended] of byCache) await cache.append(appended, from);
  }

  /** Copies the first tokens of one row to another, which must have room for them. */
  async copy(from: Row, to: Row, tokens: number): Promise<void> {
    const [source, target] = [this.#locate(from), this.#locate(to)];
    await target.cache.copyFrom(source.cache, source.slot, target.slot, tokens);
  }

  take(row: Row, from: number): Segment {
    const { cache, slot } = this.#locate(row);
    return cache.take(slot, row.tokens, from);
  }

  /** Puts the first `count` tokens of a segment behind those of a row, which must have room for them. */
  async put(row: Row, segment: Segment, count: number): Promise<void> {
    const { cache, slot } = this.#locate(row);
    await cache.put(slot, row.tokens.length, segment, count);
  }

  /** Drops all rows, and gives all memory back, while no run reads it. */
  clear(): void {
    this.#leaving.clear();
    for (const { cache, rows } of this.#pools.values()) {
      rows.length = 0;
      cache.clear();
    }
  }

  #pool(key: number) {
    const pool = this.#pools.get(key) ?? { cache: this.#memory.newSlots(), rows: [] };
    this.#pools.set(key, pool);
    return pool;
  }

  #find(row: Row): (Place<Row> & { readonly key: number }) | undefined {
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
