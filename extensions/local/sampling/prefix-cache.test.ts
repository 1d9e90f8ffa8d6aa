import fc from "fast-check";
import { expect, test } from "vitest";
import { emptySegment, type Places, PrefixCache, type Segment } from "./prefix-cache.ts";

const heads = 2;
const bytesPerToken = 2 * heads * 4;

/** One layer, one number a head and token, which names the sequence up to there. */
function segment(tokens: readonly number[], from: number): Segment {
  const line = tokens.map((_, i) => nameOf(tokens.slice(0, i + 1))).slice(from);
  return {
    tokens: tokens.slice(from),
    keys: [Float32Array.from([...line, ...line.map((x) => x + 0.25)])],
    values: [Float32Array.from([...line.map((x) => -x), ...line.map((x) => -x - 0.25)])],
  };
}

function nameOf(prefix: readonly number[]): number {
  return prefix.reduce((sum, token) => (sum * 5 + token + 1) % 9973, 0);
}

/** What the cache gives for a sequence, token by token: the first head's key and the last head's value. */
function held(cache: PrefixCache, tokens: readonly number[]): { length: number; keys: number[]; values: number[] } {
  const keys: number[] = [];
  const values: number[] = [];
  for (const { segment: piece, count } of cache.longest(tokens)) {
    keys.push(...piece.keys[0].subarray(0, count));
    values.push(...piece.values[0].subarray(piece.tokens.length, piece.tokens.length + count));
  }
  return { length: keys.length, keys, values };
}

function store(cache: PrefixCache, key: string, tokens: readonly number[]): void {
  cache.store(key, tokens, (from) => segment(tokens, from));
}

const sequence = fc.array(fc.nat(3), { minLength: 1, maxLength: 9 });

test("gives the longest prefix that any kept sequence has, with its own keys and values", () => {
  fc.assert(
    fc.property(fc.array(sequence, { maxLength: 12 }), sequence, (stored, wanted) => {
      const cache = new PrefixCache(heads, Number.POSITIVE_INFINITY);
      for (const [i, tokens] of stored.entries()) store(cache, String(i), tokens);
      const shared = (tokens: readonly number[]) => {
        const differs = wanted.findIndex((token, i) => tokens[i] !== token);
        return differs < 0 ? wanted.length : differs;
      };
      const longest = Math.max(0, ...stored.map(shared));
      const names = wanted.slice(0, longest).map((_, i) => nameOf(wanted.slice(0, i + 1)));
      expect(held(cache, wanted)).toEqual({ length: longest, keys: names, values: names.map((x) => -x - 0.25) });

      const distinct = new Set(stored.flatMap((tokens) => tokens.map((_, i) => tokens.slice(0, i + 1).join())));
      expect(cache.bytes).toBe(distinct.size * bytesPerToken);
    }),
  );
});

test("never holds more than its limit, and what it gives is right nevertheless", () => {
  const action = fc.record({ key: fc.nat(3).map(String), tokens: sequence, release: fc.boolean() });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 20 }), fc.nat(12), (actions, limit) => {
      const cache = new PrefixCache(heads, limit * bytesPerToken);
      const open = new Set<string>();
      for (const { key, tokens, release } of actions) {
        store(cache, key, tokens);
        open.add(key);
        if (release) {
          cache.release(key);
          open.delete(key);
        }
        expect(cache.bytes).toBeLessThanOrEqual(limit * bytesPerToken);
        expect(cache.users).toBe(open.size);
        const { length, keys } = held(cache, tokens);
        expect(keys).toEqual(tokens.slice(0, length).map((_, i) => nameOf(tokens.slice(0, i + 1))));
      }
    }),
  );
});

test("sequences that have ended make room first, then those that were used longest ago", () => {
  const cache = new PrefixCache(heads, 6 * bytesPerToken);
  store(cache, "old", [0, 0]);
  store(cache, "used", [1, 1]);
  store(cache, "ended", [2, 2]);
  held(cache, [0, 0]);
  cache.release("ended");
  store(cache, "new", [3, 3]);
  expect(
    [
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ].map((tokens) => held(cache, tokens).length),
  ).toEqual([2, 2, 0, 2]);
  held(cache, [0, 0]);
  store(cache, "newer", [3, 2]); // one token more than there is room for
  expect(
    [
      [0, 0],
      [1, 1],
      [3, 3],
      [3, 2],
    ].map((tokens) => held(cache, tokens).length),
  ).toEqual([2, 0, 2, 2]);
});

test("a sequence that grows is copied from where it grew", () => {
  const cache = new PrefixCache(heads, Number.POSITIVE_INFINITY);
  const from: number[] = [];
  const grow = (tokens: readonly number[]) =>
    cache.store("a", tokens, (start) => {
      from.push(start);
      return segment(tokens, start);
    });
  grow([1, 2, 3]);
  grow([1, 2, 3, 4]);
  grow([1, 2, 3, 4]);
  grow([1, 9]);
  expect(from).toEqual([0, 3, 1]);
});

test("a sequence that a slot holds too is dropped first where both together are over the limit, and its slot gives it back", () => {
  const cache = new PrefixCache(heads, 8 * bytesPerToken);
  store(cache, "a", [1, 2, 3]);
  store(cache, "b", [1, 2, 4]);
  store(cache, "c", [5]);
  expect([cache.bytes / bytesPerToken, cache.lengthOf("a"), cache.lengthOf("none"), cache.users]).toEqual([5, 3, 0, 3]);
  cache.isInSlot("a");
  cache.isInSlot("none");
  cache.makeRoom(3 * bytesPerToken);
  expect(cache.lengthOf("a")).toBe(3); // just as much as there is room for
  cache.makeRoom(3 * bytesPerToken + 1);
  // What b shares with it stays.
  expect([cache.bytes / bytesPerToken, cache.lengthOf("a"), cache.lengthOf("b")]).toEqual([4, 2, 3]);
  cache.makeRoom(100 * bytesPerToken);
  expect(cache.bytes / bytesPerToken).toBe(4); // others that wait are not dropped for slots
  store(cache, "a", [1, 2, 3]);
  cache.isInSlot("a");
  cache.release("a");
  cache.makeRoom(100 * bytesPerToken);
  expect([cache.bytes / bytesPerToken, cache.users]).toEqual([5, 2]);
});

test("large segments have memory of their own, which is given back when they are cut, dropped or cleared", () => {
  const sizes = { keys: [2 ** 17], values: [2 ** 17] };
  const large = emptySegment([1, 2], heads, sizes);
  expect([large.keys[0]?.length, large.memory?.array.length]).toEqual([2 ** 19, 2 ** 20]);
  const small = emptySegment([1], 1, { keys: [2 ** 17], values: [2 ** 17 - 1] });
  expect(small.memory).toBeUndefined();
  expect(emptySegment([1], 1, sizes).memory).toBeDefined();

  const cache = new PrefixCache(heads, Number.POSITIVE_INFINITY);
  large.keys[0]?.fill(1);
  cache.store("a", [1, 2], () => large);
  cache.store("b", [1, 3], () => emptySegment([3], heads, sizes));
  expect(large.memory?.array.length).toBe(0);
  const [first, second] = cache.longest([1, 2]).map(({ segment: piece }) => piece);
  expect([first?.tokens, second?.tokens]).toEqual([[1], [2]]);
  expect([first?.keys[0]?.every((x) => x === 1), second?.keys[0]?.every((x) => x === 1)]).toEqual([true, true]);
  cache.clear();
  expect([first?.memory?.array.length, second?.memory?.array.length]).toEqual([0, 0]);
  expect([cache.bytes, cache.users, cache.longest([1, 2])]).toEqual([0, 0, []]);
});

test("places on a device are parts of what was stored, and free when a segment is dropped", () => {
  const freed: number[][] = [];
  const places = (at: readonly number[]): Places => ({
    at: Int32Array.from(at),
    bytes: 10 * at.length,
    part: (from, to) => places(at.slice(from, to)),
    free: () => void freed.push([...at]),
  });
  const cache = new PrefixCache(heads, 50);
  const keep = (key: string, tokens: readonly number[], at: readonly number[]) =>
    cache.store(key, tokens, (from) => ({ tokens: tokens.slice(from), keys: [], values: [], places: places(at.slice(from)) }));
  keep("a", [1, 2, 3], [7, 8, 9]);
  keep("b", [1, 5], [0, 4]);
  expect([cache.bytes, freed]).toEqual([40, []]);
  keep("c", [6, 6], [2, 3]); // 60 bytes: what was used longest ago makes room
  expect([cache.bytes, freed]).toEqual([40, [[8, 9]]]);
  cache.clear();
  expect(freed.slice(1)).toEqual([[7], [4], [2, 3]]);
});
