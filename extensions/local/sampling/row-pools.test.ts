import fc from "fast-check";
import { expect, test } from "vitest";
import { GrowableFloats } from "../machine/growable.ts";
import { hostMemory } from "./kv-cache.ts";
import { RowPools } from "./row-pools.ts";

const shape = { layers: 2, kvHeads: 2, headDim: 2 };
const shortest = 8;

interface Row {
  readonly tokens: number[];
}

/** Keys of a token name it, its layer and its head; values are their negatives. Per layer [1, Hk, tokens, size]. */
function entries(tokens: readonly number[]) {
  const keys = Array.from({ length: shape.layers }, (_, layer) =>
    Float32Array.from(
      Array.from({ length: shape.kvHeads }, (_, head) => tokens.map((token) => 100 * token + 10 * layer + head)).flatMap((line) =>
        line.flatMap((entry) => [entry, entry + 0.5]),
      ),
    ),
  );
  return { chunk: tokens.length, keys, values: keys.map((each) => each.map((x) => -x)) };
}

async function expectHeld(pools: RowPools<Row>, row: Row): Promise<void> {
  const { keys, values } = entries(row.tokens);
  expect(await pools.gather([row], row.tokens.length, new GrowableFloats())).toEqual({ keys, values });
}

test("classes double from the shortest on", () => {
  const pools = new RowPools<Row>(shape, shortest);
  expect([1, 8, 9, 16, 17, 64, 65].map((tokens) => pools.classOf(tokens))).toEqual([0, 0, 1, 1, 2, 3, 4]);
});

test("rows hold what was put into them while they grow out of their class, and others come and end", async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), tokens: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ kind: fc.constant("grow" as const), row: fc.nat(), tokens: fc.integer({ min: 1, max: 30 }) }),
    fc.record({ kind: fc.constant("remove" as const), row: fc.nat() }),
    fc.record({ kind: fc.constant("copy" as const), row: fc.nat(), to: fc.nat(), share: fc.integer({ min: 0, max: 4 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const pools = new RowPools<Row>(shape, shortest);
      const rows: Row[] = [];
      let next = 1;
      for (const each of steps) {
        if (each.kind === "add") {
          const row: Row = { tokens: [] };
          await pools.add([{ row, tokens: each.tokens }]);
          rows.push(row);
        }
        if (rows.length === 0) continue;
        if (each.kind === "grow") {
          const row = rows[each.row % rows.length];
          const added = Array.from({ length: each.tokens }, () => next++);
          await pools.reserve(row, row.tokens.length + added.length);
          await pools.append([{ of: row, row: 0, count: added.length }], entries(added));
          row.tokens.push(...added);
        } else if (each.kind === "remove") {
          const [row] = rows.splice(each.row % rows.length, 1);
          pools.remove(row);
          expect(pools.has(row)).toBe(false);
          await pools.settle();
        } else if (each.kind === "copy") {
          const [from, to] = [rows[each.row % rows.length], rows[each.to % rows.length]];
          const count = Math.floor((each.share * from.tokens.length) / 4);
          await pools.reserve(to, Math.max(count, to.tokens.length));
          await pools.copy(from, to, count);
          if (to !== from) to.tokens.splice(0, to.tokens.length, ...from.tokens.slice(0, count));
        }
      }
      for (const row of rows) await expectHeld(pools, row);
      expect(pools.size).toBe(rows.length);
      expect(new Set(pools.rows)).toEqual(new Set(rows));
      for (const pool of pools.pools()) {
        expect(pool.view().keys[0].length).toBe(pool.rows.length * shape.kvHeads * pool.capacity * shape.headDim);
      }
    }),
    { numRuns: 100 },
  );
});

test("one long row takes no memory for the short ones beside it", async () => {
  const pools = new RowPools<Row>(shape, 64);
  const bytesOfToken = 2 * 4 * shape.layers * shape.kvHeads * shape.headDim;
  await pools.add(Array.from({ length: 32 }, (_, i) => ({ row: { tokens: [] }, tokens: i === 7 ? 4096 : 60 })));
  expect(pools.bytes).toBe(bytesOfToken * (32 * 64 + 4096));
});

test("a pool's view has all the rows that it had when a run began, also after one of them was cancelled", async () => {
  const pools = new RowPools<Row>(shape, shortest);
  const rows = [1, 2, 3].map((): { tokens: number[] } => ({ tokens: [] }));
  await pools.add(rows.map((row) => ({ row, tokens: 1 })));
  for (const [i, row] of rows.entries()) {
    await pools.append([{ of: row, row: 0, count: 1 }], entries([i + 1]));
    row.tokens.push(i + 1);
  }
  const [pool] = pools.pools();
  const size = shape.kvHeads * (pool?.capacity ?? 0) * shape.headDim;
  const held = () => pool?.view().keys[0];
  pools.remove(rows[0] ?? { tokens: [] });
  expect([rows.map((row) => pools.has(row)), held()?.length]).toEqual([[false, true, true], 3 * size]);
  // Each row that is left is where the run looks for it.
  expect([1, 2].map((slot) => held()?.[slot * size])).toEqual([200, 300]);
  await pools.settle();
  expect([pools.size, pools.pools()[0]?.view().keys[0]?.[0]]).toEqual([2, 300]);
});

test("a row without a slot is an error, and slots of a device do not mix with these", async () => {
  const pools = new RowPools<Row>(shape, shortest);
  const row: Row = { tokens: [] };
  await expect(pools.reserve(row, 1)).rejects.toThrow("a row without a slot");
  expect(() => pools.viewOf(row)).toThrow("a row without a slot");
  const here = hostMemory(shape);
  const there = new RowPools<Row>(shape, shortest, undefined, { ...here, view: () => undefined });
  await there.add([{ row, tokens: 1 }]);
  expect(there.viewOf(row)).toBeUndefined();
  const [pool] = there.pools();
  expect(() => pool?.view()).toThrow("slots that are on a device");
});

test("one row is seen where it lies, and where memory is short its slot is given back at once", async () => {
  const of = async (isShort: () => boolean) => {
    const pools = new RowPools<Row>(shape, shortest, isShort);
    const rows = Array.from({ length: 8 }, (): Row => ({ tokens: [] }));
    await pools.add(rows.map((row) => ({ row, tokens: 1 })));
    const bytes = pools.bytes / 8;
    for (const [i, row] of rows.entries()) {
      await pools.append([{ of: row, row: 0, count: 1 }], entries([i + 1]));
      row.tokens.push(i + 1);
    }
    const view = pools.viewOf(rows[3] ?? { tokens: [] });
    expect([view?.capacity, view?.keys[0]?.[0], view?.keys[0]?.length]).toEqual([64, 400, shape.kvHeads * 64 * shape.headDim]);
    for (const row of rows.slice(0, 5)) pools.remove(row);
    expect([pools.size, pools.rows.length]).toEqual([3, 3]);
    await pools.settle();
    for (const row of rows.slice(5)) await expectHeld(pools, row);
    const held = pools.bytes / bytes;
    pools.clear();
    expect([pools.size, pools.bytes, pools.pools()]).toEqual([0, 0, []]);
    return held;
  };
  expect([await of(() => false), await of(() => true)]).toEqual([8, 3]);
});

test("a row's slot is another's once they are replaced, and pools come shorter ones first", async () => {
  const pools = new RowPools<Row>(shape, shortest);
  const [long, short, other]: Row[] = [1, 2, 3].map(() => ({ tokens: [] }));
  await pools.add([
    { row: long as Row, tokens: 40 },
    { row: short as Row, tokens: 4 },
  ]);
  pools.replace(long as Row, other as Row);
  expect([pools.has(long as Row), pools.has(other as Row)]).toEqual([false, true]);
  expect(pools.pools().map(({ rows, capacity }) => [rows, capacity])).toEqual([
    [[short], 64],
    [[other], 64],
  ]);
  expect(pools.rows).toEqual([short, other]);
});
