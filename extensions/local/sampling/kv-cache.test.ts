import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../../test/reals.ts";
import type { Appended, NewEntries } from "./entries.ts";
import { hostMemory, SlotCache } from "./kv-cache.ts";
import type { Segment } from "./prefix-cache.ts";

const shape = { layers: 2, kvHeads: 3, headDim: 2 };
const slots = 4;

/** Keys and values of a token name the token, and where they belong. */
const keyEntry = (token: number, layer: number, head: number, entry: number) => token * 100 + layer * 20 + head * 4 + entry;
const valueEntry = (token: number, layer: number, head: number, entry: number) => -keyEntry(token, layer, head, entry);

/** Rows of tokens as tensors per layer [rows, Hk, tokens, size]. */
function tensors(rows: readonly (readonly number[])[], entryOf: typeof keyEntry): Float32Array[] {
  return Array.from({ length: shape.layers }, (_, layer) =>
    Float32Array.from(
      rows.flatMap((row) =>
        range(shape.kvHeads).flatMap((head) =>
          row.flatMap((token) => range(shape.headDim).map((entry) => entryOf(token, layer, head, entry))),
        ),
      ),
    ),
  );
}

/** The first tokens of one of some rows that a run made side by side, for a slot that holds `length`. */
function entriesOf(rows: readonly (readonly number[])[], appended: Appended): [readonly Appended[], NewEntries] {
  return [[appended], { chunk: rows[0].length, keys: tensors(rows, keyEntry), values: tensors(rows, valueEntry) }];
}

/** The first tokens of some slots, as tensors. */
async function gathered(cache: SlotCache, from: readonly number[], tokens: number) {
  const made = () => range(shape.layers).map(() => new Float32Array(from.length * shape.kvHeads * tokens * shape.headDim));
  const into = { keys: made(), values: made() };
  for (const [row, slot] of from.entries()) await cache.gather(slot, tokens, tokens, row, into);
  return into;
}

function range(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}

async function append(cache: SlotCache, slot: number, length: number, tokens: readonly number[]): Promise<void> {
  await cache.reserve(slots, length + tokens.length);
  await cache.append(...entriesOf([tokens], { slot, length, row: 0, count: tokens.length }));
}

async function expectHeld(cache: SlotCache, slot: number, tokens: readonly number[]): Promise<void> {
  const { keys, values } = await gathered(cache, [slot], tokens.length);
  expect(keys).toEqual(tensors([tokens], keyEntry));
  expect(values).toEqual(tensors([tokens], valueEntry));
}

test("slots hold what was put into them, through any sequence of changes", async () => {
  const slot = fc.nat(slots - 1);
  const action = fc.oneof(
    fc.record({ kind: fc.constant("append" as const), slot, count: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ kind: fc.constant("copy" as const), slot, to: slot, share: real(0, 1) }),
    fc.record({
      kind: fc.constant("take" as const),
      slot,
      name: fc.nat(2),
      share: real(0, 1),
    }),
    fc.record({ kind: fc.constant("put" as const), slot, name: fc.nat(2), share: real(0, 1) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
      const cache = new SlotCache(shape);
      const held: number[][] = range(slots).map(() => []);
      const taken = new Map<number, Segment>();
      await cache.reserve(slots, 1);
      let nextToken = 0;
      for (const step of actions) {
        const tokens = held[step.slot];
        if (step.kind === "append") {
          const added = range(step.count).map(() => nextToken++);
          await append(cache, step.slot, tokens.length, added);
          tokens.push(...added);
        } else if (step.kind === "copy") {
          const count = Math.floor(step.share * tokens.length);
          await cache.copy(step.slot, step.to, count);
          held[step.to] = [...tokens.slice(0, count), ...(step.to === step.slot ? tokens.slice(count) : [])];
        } else if (step.kind === "take") {
          taken.set(step.name, cache.take(step.slot, [...tokens], Math.floor(step.share * tokens.length)));
        } else {
          const source = taken.get(step.name);
          if (!source) continue;
          const count = Math.floor(step.share * source.tokens.length);
          await cache.reserve(slots, tokens.length + count);
          await cache.put(step.slot, tokens.length, source, count);
          tokens.push(...source.tokens.slice(0, count));
        }
      }
      for (const [s, tokens] of held.entries()) await expectHeld(cache, s, tokens);
    }),
    { numRuns: 50 },
  );
});

test("the first slots are a tensor of rows without a copy", async () => {
  const cache = new SlotCache(shape);
  await append(cache, 0, 0, [1, 2]);
  await append(cache, 1, 0, [3, 4]);
  const { keys } = cache.view(2);
  expect(keys).toHaveLength(shape.layers);
  expect(keys[0]).toHaveLength(2 * shape.kvHeads * cache.capacity * shape.headDim);
  // Token 1 of slot 1, head 2: its offset in [2, Hk, capacity, size].
  const offset = ((1 * shape.kvHeads + 2) * cache.capacity + 1) * shape.headDim;
  expect(keys[1].subarray(offset, offset + 2)).toEqual(Float32Array.of(keyEntry(4, 1, 2, 0), keyEntry(4, 1, 2, 1)));
  await append(cache, 1, 2, [5]);
  expect(keys[1][offset + shape.headDim]).toBe(keyEntry(5, 1, 2, 0));
});

test("of a padded run, only a row's own new tokens are taken", async () => {
  const cache = new SlotCache(shape);
  await cache.reserve(slots, 3);
  const rows = [
    [1, 2, 3],
    [7, 8, 99],
  ];
  await cache.append(...entriesOf(rows, { slot: 2, length: 0, row: 1, count: 2 }));
  await expectHeld(cache, 2, [7, 8]);
  expect((await gathered(cache, [2], 3)).keys[0]).not.toContain(keyEntry(99, 0, 0, 0));
});

test("several slots are gathered as rows, in the order asked for", async () => {
  const cache = new SlotCache(shape);
  for (const s of range(slots)) await append(cache, s, 0, [10 * s, 10 * s + 1]);
  const rows = [
    [30, 31],
    [0, 1],
  ];
  expect(await gathered(cache, [3, 0], 2)).toEqual({ keys: tensors(rows, keyEntry), values: tensors(rows, valueEntry) });
});

test("what was taken outlives the slot", async () => {
  const cache = new SlotCache(shape);
  await append(cache, 0, 0, [1, 2, 3]);
  const taken = cache.take(0, [1, 2, 3], 1);
  await append(cache, 0, 0, [9, 9, 9]);
  expect(taken).toMatchObject({ tokens: [2, 3], keys: tensors([[2, 3]], keyEntry), values: tensors([[2, 3]], valueEntry) });

  cache.clear();
  expect(cache.capacity).toBe(0);
  await append(cache, 1, 0, [1]);
  await cache.reserve(slots, 3);
  await cache.put(1, 1, taken, 2);
  await expectHeld(cache, 1, [1, 2, 3]);
});

test("memory follows the rows in use, and what they hold survives growing and shrinking", async () => {
  const cache = new SlotCache(shape);
  await cache.reserve(1, 3);
  await cache.append(...entriesOf([[1, 2, 3]], { slot: 0, length: 0, row: 0, count: 3 }));
  const ofOne = cache.bytes;
  await cache.reserve(9, 3);
  expect(cache.bytes).toBe(10 * ofOne);
  await expectHeld(cache, 0, [1, 2, 3]);
  await cache.shrink(3);
  expect(cache.bytes).toBe(10 * ofOne); // a quarter of the slots would not do
  await cache.shrink(2);
  expect(cache.bytes).toBe(2 * ofOne);
  await expectHeld(cache, 0, [1, 2, 3]);
});

test("slots that fit rows just so stay as many while they have room for more tokens", async () => {
  const cache = new SlotCache({ layers: 1, kvHeads: 1, headDim: 2 });
  const bytesOf = (slots: number, tokens: number) => 2 * 4 * 2 * slots * tokens;
  await cache.reserve(9, 64); // in steps of two, from eight rows on
  expect(cache.bytes).toBe(bytesOf(10, 64));
  await cache.fit(9);
  await cache.reserve(9, 65);
  expect(cache.bytes).toBe(bytesOf(9, 128));
  await cache.reserve(8, 128);
  expect(cache.bytes).toBe(bytesOf(9, 128));
});

test("the event loop turns while many keys and values are moved, and not for a few", async () => {
  const turnsIn = async (move: () => Promise<void>) => {
    let [turns, running] = [0, true];
    const count = () => {
      turns++;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    await move();
    running = false;
    return turns;
  };
  const wide = { layers: 4, kvHeads: 1, headDim: 2 ** 10 };
  const [cache, tokens] = [new SlotCache(wide), 1024];
  const numbers = () => range(wide.layers).map(() => new Float32Array(tokens * wide.headDim));
  const appended = { chunk: tokens, keys: numbers(), values: numbers() };
  // 2^23 numbers each time, of which 2^22 are moved in a turn.
  await cache.reserve(1, tokens);
  expect(await turnsIn(() => cache.append([{ slot: 0, length: 0, row: 0, count: 8 }], appended))).toBe(0);
  expect(await turnsIn(() => cache.append([{ slot: 0, length: 0, row: 0, count: tokens }], appended))).toBe(2);
  expect(await turnsIn(() => cache.reserve(2, 2 * tokens))).toBe(2);
  expect(await turnsIn(() => cache.copy(0, 1, tokens))).toBe(2);
  expect(await turnsIn(() => cache.fit(0))).toBeGreaterThanOrEqual(2);
});

test("slots grow in steps of at most a quarter, and what a device holds does not mix with them", async () => {
  const cache = new SlotCache(shape);
  await cache.reserve(1, 1);
  const bytes = cache.bytes;
  const slotsFor = async (rows: number) => {
    const some = new SlotCache(shape);
    await some.reserve(rows, 1);
    return some.bytes / bytes;
  };
  expect(await Promise.all([1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 16, 17, 33].map(slotsFor))).toEqual([
    ...[1, 2, 3, 4, 5, 7, 8, 10, 10, 12, 16, 20, 40],
  ]);
  await expect(cache.copyFrom({} as SlotCache, 0, 0, 1)).rejects.toThrow("slots that are on a device");
  const onDevice = { chunk: 1, keys: [{}], values: [] } as unknown as NewEntries;
  expect(() => cache.append([{ slot: 0, length: 0, row: 0, count: 1 }], onDevice)).toThrow("entries that are on a device");
  expect(() => hostMemory(shape).view({ cache: {} as SlotCache, slot: 0 }, 1)).toThrow("slots that are on a device");
});
