import fc from "fast-check";
import { expect, test } from "vitest";
import type { ActionInContext, TokenId } from "../../../core/trajectory.ts";
import { type AttentionBlock, flatten } from "./blocks.ts";
import { batchMasks } from "./masks.ts";
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

/** "query sees key", for every allowed pair of a list of blocks. */
function seenPairs(blocks: readonly AttentionBlock[], tokenOfQuery: (query: number) => number): string[] {
  return blocks.flatMap(({ start, end, keys, common, mask }) => {
    const width = keys.length - common;
    return Array.from({ length: end - start }, (_, line) => [...keys].map((key, column) => ({ line, key, column })))
      .flat()
      .filter(({ line, column }) => column < common || mask[line * width + column - common] === 0)
      .map(({ line, key }) => `${tokenOfQuery(start + line)} ${key}`);
  });
}

test("blocks allow just the pairs that whole masks allow, for all tokens and for those that are read", () => {
  fc.assert(
    fc.property(sampleSets, sizes, (samples, { row, block }) => {
      const batch = packBatch(packRows(samples, row));
      const flat = flatten(batch, () => block);
      const { mask } = batchMasks(batch);
      const starts = batch.tries.map((_, r) => batch.tries.slice(0, r).reduce((sum, { tokens }) => sum + tokens.length, 0));
      const pairs = batch.tries.flatMap(({ tokens }, r) =>
        tokens.flatMap((_, query) => {
          const line = mask.subarray((r * batch.length + query) * batch.length, (r * batch.length + query + 1) * batch.length);
          return tokens.flatMap((_, key) => (line[key] === 0 ? [`${starts[r] + query} ${starts[r] + key}`] : []));
        }),
      );
      expect(seenPairs(flat.blocks.all, (query) => query)).toEqual(pairs);
      const read = new Set([...flat.reads].map(String));
      expect(seenPairs(flat.blocks.read, (query) => flat.reads[query])).toEqual(
        pairs.filter((pair) => read.has(pair.split(" ")[0])),
      );
    }),
  );
});

test("no key of a block is unseen by all its queries, and those in front are seen by all", () => {
  fc.assert(
    fc.property(sampleSets, sizes, (samples, { row, block }) => {
      const { blocks } = flatten(packBatch(packRows(samples, row)), () => block);
      for (const { start, end, keys, common, mask } of [...blocks.all, ...blocks.read]) {
        expect(end - start).toBeLessThanOrEqual(block);
        const width = keys.length - common;
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
  expect(blocks.all.map(({ keys, common }) => [keys.length, common])).toEqual([
    [8, 1],
    [16, 9],
    [24, 17],
    [31, 25],
  ]);
});

test("tokens, positions and what predicts each scored token are those of the padded batch", () => {
  fc.assert(
    fc.property(sampleSets, sizes, (samples, { row, block }) => {
      const batch = packBatch(packRows(samples, row));
      const flat = flatten(batch, () => block);
      const padded = batch.tries.flatMap(({ tokens }, r) => tokens.map((_, node) => r * batch.length + node));
      expect([...flat.tokens]).toEqual(padded.map((place) => batch.tokens[place]));
      expect([...flat.positions]).toEqual(padded.map((place) => batch.positions[place]));
      expect([...flat.predictors].map((read) => padded[flat.reads[read]])).toEqual(
        [...batch.predictors].map((query) => batch.queries[query]),
      );
      expect([...flat.readPositions]).toEqual([...flat.reads].map((token) => flat.positions[token]));
    }),
  );
});
