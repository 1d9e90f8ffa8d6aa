import fc from "fast-check";
import { expect, test } from "vitest";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";
import { type AttentionBlock, flatten } from "./blocks.ts";
import { batchMasks } from "./masks.fixture.ts";
import { packBatch, packRows } from "./packing.ts";

const sample = (context: readonly TokenId[], action: readonly TokenId[], turn = 0): ActionInContext => ({
  trajectory: "t",
  turn,
  context,
  action,
});

/** Few different tokens: prefixes are shared, and branches leave at every depth. */
const ids = fc.array(fc.nat(2), { minLength: 1, maxLength: 9 });
const sampleSets = fc
  .array(fc.tuple(ids, ids), { minLength: 1, maxLength: 14 })
  .map((pairs) => pairs.map(([context, action], i) => sample(context, action, i)));
const sizes = fc.record({ row: fc.integer({ min: 18, max: 60 }), block: fc.integer({ min: 1, max: 9 }) });
const windows = fc.integer({ min: 1, max: 20 });

/** "query sees key", for every allowed pair of a list of blocks. */
function seenPairs(blocks: readonly AttentionBlock[], tokenOfQuery: (query: number) => number): string[] {
  return blocks.flatMap(({ start, end, keys, common, mask }) => {
    const width = keys.length - (common.to - common.from);
    const compacted = (column: number) => (column < common.from ? column : column - (common.to - common.from));
    const isCommon = (column: number) => column >= common.from && column < common.to;
    return Array.from({ length: end - start }, (_, line) => [...keys].map((key, column) => ({ line, key, column })))
      .flat()
      .filter(({ line, column }) => isCommon(column) || mask[line * width + compacted(column)] === 0)
      .map(({ line, key }) => `${tokenOfQuery(start + line)} ${key}`);
  });
}

test("blocks allow just the pairs that whole masks allow, for all tokens and for those that are read", () => {
  fc.assert(
    fc.property(sampleSets, sizes, fc.option(windows, { nil: undefined }), (samples, { row, block }, window) => {
      const batch = packBatch(packRows(samples, row));
      const flat = flatten(batch, () => block, window);
      const blocks = window === undefined ? flat.blocks : flat.windowBlocks;
      const { mask } = batchMasks(batch, window);
      const starts = batch.tries.map((_, r) => batch.tries.slice(0, r).reduce((sum, { tokens }) => sum + tokens.length, 0));
      const pairs = batch.tries.flatMap(({ tokens }, r) =>
        [...tokens.keys()].flatMap((query) => {
          const line = mask.subarray((r * batch.length + query) * batch.length, (r * batch.length + query + 1) * batch.length);
          return [...tokens.keys()].flatMap((key) => (line[key] === 0 ? [`${starts[r] + query} ${starts[r] + key}`] : []));
        }),
      );
      expect(seenPairs(blocks.all, (query) => query)).toEqual(pairs);
      const read = new Set([...flat.reads].map(String));
      expect(seenPairs(blocks.read, (query) => flat.reads[query])).toEqual(pairs.filter((pair) => read.has(pair.split(" ")[0])));
    }),
  );
});

test("masks allow each token the last tokens on its path, as many as the window has", () => {
  fc.assert(
    fc.property(sampleSets, windows, (samples, window) => {
      const batch = packBatch(packRows(samples, 60));
      const { mask } = batchMasks(batch, window);
      batch.tries.forEach(({ parents }, r) => {
        parents.forEach((_, query) => {
          const path: number[] = [];
          for (let node = query; node >= 0 && path.length < window; node = parents[node]) path.unshift(node);
          const line = mask.subarray((r * batch.length + query) * batch.length, (r * batch.length + query + 1) * batch.length);
          expect([...line.keys()].filter((key) => line[key] === 0)).toEqual(path);
        });
      });
    }),
  );
});

test("no key of a block is unseen by all its queries, and those between are seen by all", () => {
  fc.assert(
    fc.property(sampleSets, sizes, windows, (samples, { row, block }, window) => {
      const { blocks, windowBlocks } = flatten(packBatch(packRows(samples, row)), () => block, window);
      for (const { start, end, keys, common, mask } of [blocks, windowBlocks].flatMap(({ all, read }) => [...all, ...read])) {
        expect(end - start).toBeLessThanOrEqual(block);
        const width = keys.length - (common.to - common.from);
        for (let column = 0; column < width; column++) {
          const lines = Array.from({ length: end - start }, (_, line) => mask[line * width + column]);
          expect(lines.some((value) => value === 0)).toBe(true);
        }
      }
    }),
  );
});

test("a plain sequence has masks of the blocks on its diagonal alone", () => {
  const tokens = Array.from({ length: 32 }, (_, i) => i);
  const { blocks } = flatten(packBatch(packRows([sample(tokens.slice(0, 4), tokens.slice(4))], 64)), () => 8);
  expect(blocks.all.map(({ keys, common }) => [keys.length, common.to])).toEqual([
    [8, 1],
    [16, 9],
    [24, 17],
    [31, 25],
  ]);
});

test("behind a window a plain sequence has masks where keys leave and where they come, and none between", () => {
  const tokens = Array.from({ length: 41 }, (_, i) => i);
  const { windowBlocks } = flatten(packBatch(packRows([sample(tokens.slice(0, 4), tokens.slice(4))], 64)), () => 8, 12);
  expect(windowBlocks.all.map(({ keys, common: { from, to } }) => [keys[0], keys.length, from, to])).toEqual([
    [0, 8, 0, 1],
    [0, 16, 4, 9],
    [5, 19, 7, 12],
    [13, 19, 7, 12],
    [21, 19, 7, 12],
  ]);
});

test("tokens, positions and what predicts each scored token are those of the padded batch", () => {
  fc.assert(
    fc.property(sampleSets, sizes, (samples, { row, block }) => {
      const batch = packBatch(packRows(samples, row));
      const flat = flatten(batch, () => block);
      const padded = batch.tries.flatMap(({ tokens }, r) => [...tokens.keys()].map((node) => r * batch.length + node));
      expect([...flat.tokens]).toEqual(padded.map((at) => batch.tokens[at]));
      expect([...flat.positions]).toEqual(padded.map((at) => batch.positions[at]));
      expect([...flat.predictors].map((read) => padded[flat.reads[read]])).toEqual(
        [...batch.predictors].map((query) => batch.queries[query]),
      );
      expect([...flat.readPositions]).toEqual([...flat.reads].map((token) => flat.positions[token]));
    }),
  );
});
