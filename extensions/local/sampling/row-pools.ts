import type { TokenId } from "../../../src/core/trajectory.ts";
import type { GrowableFloats } from "../machine/growable.ts";
import { type CacheShape, entrySizes, type NewEntries, SlotCache } from "./kv-cache.ts";
import { entriesIn, type Segment } from "./prefix-cache.ts";

/** A sequence that is being sampled. */
interface Sequence {
  /** Those whose keys and values are held. */
  readonly tokens: readonly TokenId[];
}

/** Rows of one class of lengths, in the order of their slots: one decoding step computes them together. */
export interface Pool<Row extends Sequence> {
  readonly rows: readonly Row[];
  /** Tokens that every slot has room for. */
  readonly capacity: number;
  /** Keys and values of all rows, without a copy. Per layer [rows, Hk, capacity, size]. */
  view(): KeysAndValues;
}

export interface KeysAndValues {
  readonly keys: Float32Array[];
  readonly values: Float32Array[];
}

/**
 * Keys and values of rows of unequal lengths. A decoding step over rows side by side reads as many keys for each as the longest of them has,
 * so rows are kept apart by classes of lengths: up to the shortest class, twice it, four times it … Each class has slots of its own, and a row
 * moves to the next class when it outgrows its own.
 */
export class RowPools<Row extends Sequence> {
  readonly #shape: CacheShape;
  readonly #shortest: number;
  /** By class. */
  readonly #pools = new Map<number, { readonly cache: SlotCache; readonly rows: Row[] }>();
  readonly #isShort: () => boolean;
  /** Whether a run reads keys and values: none may be given back then. */
  #inUse = false;

  /**
   * @param shortest tokens of the shortest class
   * @param isShort whether memory is short: slots without a row are given back at once then
   */
  constructor(shape: CacheShape, shortest: number, isShort: () => boolean = () => false) {
    this.#shape = shape;
    this.#shortest = shortest;
    this.#isShort = isShort;
  }

  get size(): number {
    return this.#inOrder().reduce((sum, { rows }) => sum + rows.length, 0);
  }

  /** Shorter rows first. */
  get rows(): Row[] {
    return this.#inOrder().flatMap(({ rows }) => rows);
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
    return this.#find(row) !== undefined;
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

  /** Frees a row's slot. The last row of its class moves there, so that the rows stay side by side. */
  remove(row: Row): void {
    const { cache, rows, slot } = this.#locate(row);
    const last = rows.pop();
    if (last !== undefined && last !== row) {
      rows[slot] = last;
      cache.copy(rows.length, slot, last.tokens.length);
    }
    if (!this.#inUse) this.#giveBack(cache, rows.length);
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
      for (const { cache, rows } of this.#pools.values()) this.#giveBack(cache, rows.length);
    }
  }

  #giveBack(cache: SlotCache, rows: number): void {
    if (rows === 0) cache.clear();
    else if (this.#isShort()) cache.fit(rows);
    else cache.shrink(rows);
  }

  /** Makes room for this many tokens of a row. */
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
    return this.#inOrder().map(({ cache, rows }) => {
      const all = [...rows];
      // Of all these rows, also where some were cancelled while a run over another pool was read: the others' slots keep what they hold.
      return { rows: all, capacity: cache.capacity, view: () => cache.view(all.length) };
    });
  }

  /** Keys and values of one row, without a copy. Per layer [1, Hk, capacity, size]. */
  viewOf(row: Row): KeysAndValues & { readonly capacity: number } {
    const { cache, slot } = this.#locate(row);
    return { ...cache.view(1, slot), capacity: cache.capacity };
  }

  /**
   * A copy of the first tokens of some rows, side by side: per layer [rows, Hk, tokens, size]. Rows with fewer tokens have any numbers behind them.
   * @param floats the copy's memory
   */
  gather(rows: readonly Row[], tokens: number, floats: GrowableFloats): KeysAndValues {
    const lines = rows.length * this.#shape.kvHeads * tokens;
    const into = entriesIn(lines, entrySizes(this.#shape), (count) => floats.first(count));
    rows.forEach((row, r) => {
      const { cache, slot } = this.#locate(row);
      cache.gather(slot, Math.min(tokens, cache.capacity), tokens, r, into);
    });
    return into;
  }

  /** Appends new tokens to those of a row, which must have room for them. */
  append(row: Row, from: NewEntries): void {
    const { cache, slot } = this.#locate(row);
    cache.append(slot, row.tokens.length, from);
  }

  /** Copies the first tokens of one row to another, which must have room for them. */
  copy(from: Row, to: Row, tokens: number): void {
    const [source, target] = [this.#locate(from), this.#locate(to)];
    target.cache.copyFrom(source.cache, source.slot, target.slot, tokens);
  }

  /** A copy of a row's tokens from the given one on. */
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
    for (const { cache, rows } of this.#pools.values()) {
      rows.length = 0;
      if (!this.#inUse) cache.clear();
    }
  }

  #pool(key: number) {
    const pool = this.#pools.get(key) ?? { cache: new SlotCache(this.#shape), rows: [] };
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
