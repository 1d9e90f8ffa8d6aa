import fc from "fast-check";
import { expect, test } from "vitest";
import { Context } from "../../../src/core/context.ts";
import { ShapeError } from "../../../src/core/errors.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";
import { logprobHead } from "../model/heads.ts";
import { loadModel } from "../model/model-folder.ts";
import { batchMasks } from "./masks.fixture.ts";
import { batchRows, evenSize, packBatch, packRows, type Row } from "./packing.ts";
import { TrainingGraph } from "./training-graph.ts";

const longest = 10;

/** Few different tokens and short sequences: shared prefixes, duplicates and sequences that continue others are common. */
const tokens = (maxLength: number) => fc.array(fc.nat(2), { minLength: 1, maxLength });
const sampleSets = fc
  .array(fc.tuple(tokens(longest - 4), tokens(4)), { minLength: 1, maxLength: 12 })
  .map((pairs) => pairs.map(([context, action], i) => sample(context, action, `t${i}`)));
const limits = fc.integer({ min: longest, max: 3 * longest });

function sample(context: readonly TokenId[], action: readonly TokenId[], trajectory = "t"): ActionInContext {
  return { trajectory, turn: 0, context, action };
}

/** With plain arrays. */
const plain = (rows: readonly Row[]) =>
  rows.map(({ tokens, parents, positions, samples }) => ({
    ...{ tokens: [...tokens], parents: [...parents], positions: [...positions] },
    samples: samples.map(({ before, ...each }) => ({ ...each, before: [...before] })),
  }));

const sequenceOf = ({ context, action }: ActionInContext) => [...context, ...action];

/** From a root to a node, both included. */
function pathTo(row: Row, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = row.parents[at]) path.unshift(at);
  return path;
}

test("the tries of a drawn example", () => {
  //  1 ─ 2 ─ 3 ┄ 4      sample 0: 1 2 | 3 4      and a duplicate of it, sample 3
  //      │   └┄┄ 5      sample 1: 1 2 3 | 5
  //      └┄┄ 6          sample 2: 1 | 2 6        4, 5 and 6 are scored, and nothing is predicted from them
  const samples = [sample([1, 2], [3, 4]), sample([1, 2, 3], [5]), sample([1], [2, 6]), sample([1, 2], [3, 4])];
  expect(plain(packRows(samples, 10))).toEqual([
    {
      tokens: [1, 2, 3],
      parents: [-1, 0, 1],
      positions: [0, 1, 2],
      samples: [
        { sample: 2, action: [2, 6], before: [0, 1] },
        { sample: 0, action: [3, 4], before: [1, 2] },
        { sample: 1, action: [5], before: [2] },
        { sample: 3, action: [3, 4], before: [1, 2] },
      ],
    },
  ]);
  // Three distinct tokens a row: the second row starts anew.
  const others = [sample([1, 2, 3], [4]), sample([1, 5], [6])];
  expect(packRows(others, 4).map((row) => [...row.tokens])).toEqual([[1, 2, 3, 5]]);
  expect(packRows([...others, sample([1, 5, 7], [8])], 4).map((row) => [...row.tokens])).toEqual([
    [1, 2, 3, 5],
    [1, 5, 7],
  ]);
});

test("every sample's path through its trie spells its tokens but the last, and positions are depths", () => {
  fc.assert(
    fc.property(sampleSets, limits, (samples, limit) => {
      const seen: number[] = [];
      for (const row of packRows(samples, limit)) {
        row.parents.forEach((parent, node) => {
          expect(parent).toBeLessThan(node);
          expect(row.positions[node]).toBe(pathTo(row, node).length - 1);
        });
        for (const { sample: index, action, before } of row.samples) {
          seen.push(index);
          expect(action).toEqual(samples[index].action);
          const path = pathTo(row, before[before.length - 1]);
          expect(path.map((node) => row.tokens[node])).toEqual(sequenceOf(samples[index]).slice(0, -1));
          expect(path.slice(samples[index].context.length - 1)).toEqual([...before]);
        }
      }
      expect(seen.sort((a, b) => a - b)).toEqual([...samples.keys()]);
    }),
  );
});

test("rows do not depend on whether contexts are branches of a tree or arrays", () => {
  const steps = fc.array(fc.record({ from: fc.nat(), ids: tokens(4), action: tokens(4), rewrite: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(steps, fc.integer({ min: 40, max: 90 }), (drawn, limit) => {
      const contexts = [Context.of([1])];
      const samples = drawn.map(({ from, ids, action, rewrite }, i) => {
        const of = contexts[from % contexts.length];
        const context = rewrite ? of.branch([1, ...ids]) : of.extend(ids);
        contexts.push(context, context.extend(action));
        return { trajectory: `t${i}`, turn: 0, context, action };
      });
      const flat = samples.map((each) => ({ ...each, context: each.context.slice() }));
      const shuffled = flat.map((_, i) => (i * 7) % flat.length);
      fc.pre(new Set(shuffled).size === flat.length);
      expect(plain(packRows(samples, limit))).toEqual(plain(packRows(flat, limit)));
      // A cut in the trie after a context was placed there: the order of the samples changes neither rows nor their tokens.
      expect(
        packRows(
          shuffled.map((i) => samples[i]),
          limit,
        ).map((row) => [...row.tokens]),
      ).toEqual(packRows(flat, limit).map((row) => [...row.tokens]));
    }),
  );
});

test("a row holds every distinct prefix once, and no more than its limit", () => {
  fc.assert(
    fc.property(sampleSets, limits, (samples, limit) => {
      for (const row of packRows(samples, limit)) {
        const prefixes = new Set(
          row.samples.flatMap(({ sample: index }) => {
            const sequence = sequenceOf(samples[index]).slice(0, -1);
            return sequence.map((_, end) => sequence.slice(0, end + 1).join());
          }),
        );
        expect(row.tokens).toHaveLength(prefixes.size);
        expect(row.parents).toHaveLength(prefixes.size);
        expect(row.tokens.length).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test("where all fit in one row, they are one row", () => {
  fc.assert(
    fc.property(sampleSets, (samples) => {
      expect(packRows(samples, 12 * longest)).toHaveLength(1);
    }),
  );
});

test("batches hold every row once and keep to their size, unless a single row exceeds it", () => {
  fc.assert(
    fc.property(sampleSets, fc.integer({ min: 1, max: 40 }), (samples, size) => {
      const rows = packRows(samples, longest);
      const batches = batchRows(rows, size);
      expect(new Set(batches.flat())).toEqual(new Set(rows));
      expect(batches.flat()).toHaveLength(rows.length);
      for (const batch of batches) {
        const padded = batch.length * Math.max(...batch.map((row) => row.tokens.length));
        if (batch.length > 1) expect(padded).toBeLessThanOrEqual(size);
      }
    }),
  );
});

test("in a batch a token sees its ancestors and itself, and padding nothing but itself", () => {
  fc.assert(
    fc.property(sampleSets, limits, (samples, limit) => {
      const rows = packRows(samples, limit);
      const batch = packBatch(rows);
      const { mask } = batchMasks(batch);
      expect([batch.rows, batch.length]).toEqual([rows.length, evenSize(Math.max(...rows.map((row) => row.tokens.length)))]);
      rows.forEach((row, r) => {
        for (let node = 0; node < batch.length; node++) {
          const at = r * batch.length + node;
          const real = node < row.tokens.length;
          expect(batch.tokens[at]).toBe(real ? row.tokens[node] : 0);
          expect(batch.positions[at]).toBe(BigInt(real ? row.positions[node] : 0));
          const line = mask.subarray(at * batch.length, (at + 1) * batch.length);
          const seen = [...line.keys()].filter((other) => line[other] === 0);
          expect(seen).toEqual(real ? pathTo(row, node) : [node]);
          expect(line.every((value) => value === 0 || value <= -1e8)).toBe(true);
        }
      });
    }),
  );
});

test("every action token is predicted from the query before it, and scored once where samples share it", () => {
  fc.assert(
    fc.property(sampleSets, limits, (samples, limit) => {
      const rows = packRows(samples, limit);
      const { predictors, targets, scoredSamples, length, queryCount, queries } = packBatch(rows);
      expect(new Set(scoredSamples.map(({ sample: index }) => index)).size).toBe(samples.length);
      const scoredTokens = new Set<string>();
      for (const { sample: index, scored } of scoredSamples) {
        expect(scored.map((at) => targets[at])).toEqual(samples[index].action);
        scored.forEach((at, i) => {
          const r = Math.floor(predictors[at] / queryCount);
          const node = queries[predictors[at]];
          expect(Math.floor(node / length)).toBe(r);
          const path = pathTo(rows[r], node % length).map((each) => rows[r].tokens[each]);
          expect(path).toEqual(sequenceOf(samples[index]).slice(0, samples[index].context.length + i));
          scoredTokens.add(`${r}/${path}/${targets[at]}`);
        });
      }
      expect(targets).toHaveLength(scoredTokens.size);
      expect(predictors).toHaveLength(scoredTokens.size);
    }),
  );
});

test("queries are the distinct tokens that something is predicted from, with their lines of the mask", () => {
  fc.assert(
    fc.property(sampleSets, limits, (samples, limit) => {
      const rows = packRows(samples, limit);
      const batch = packBatch(rows);
      const { length, queryCount } = batch;
      const counts = rows.map((row, r) => {
        const ofRow = [...batch.queries.subarray(r * queryCount, (r + 1) * queryCount)].map((token) => token - r * length);
        const distinct = new Set(row.samples.flatMap(({ before }) => [...before]));
        expect(new Set(ofRow.slice(0, distinct.size))).toEqual(distinct);
        expect(ofRow.slice(distinct.size).every((node) => node === 0)).toBe(true);
        return distinct.size;
      });
      expect(queryCount).toBe(evenSize(Math.max(...counts)));
      expect(queryCount).toBeLessThanOrEqual(length);
      const { mask, queryMask } = batchMasks(batch);
      batch.queries.forEach((token, query) => {
        expect(batch.queryPositions[query]).toBe(batch.positions[token]);
        const line = (of: Float32Array, at: number) => of.subarray(at * length, (at + 1) * length);
        expect(line(queryMask, query)).toEqual(line(mask, token));
      });
    }),
  );
});

test("samples without context or action, and those that are too long, are refused by trajectory and turn", () => {
  const refusal = (bad: ActionInContext) => () => packRows([sample([1], [2]), bad], 4);
  const where = { trajectory: "lost", turn: 3 };
  expect(refusal({ ...where, context: [], action: [1] })).toThrow(ShapeError);
  expect(refusal({ ...where, context: [], action: [1] })).toThrow(/turn 3 of trajectory lost is {"context":0,"action":1}/);
  expect(refusal({ ...where, context: [1], action: [] })).toThrow(/turn 3 of trajectory lost is {"context":1,"action":0}/);
  expect(refusal({ ...where, context: [1, 2, 3], action: [4, 5] })).toThrow(
    /turn 3 of trajectory lost is 5; expected at most 4 tokens/,
  );
  expect(refusal({ ...where, context: [1, 2], action: [3, 4] })).not.toThrow();
});

test("a packed batch has the log-probs and gradients of its samples computed one by one", async () => {
  const { config, parameters: tensors } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  const parameters = new Map([...tensors].map(([name, { data }]) => [name, data]));
  const graph = new TrainingGraph(config, logprobHead, { threads: 1 });
  /** Log-probs, and gradients of their sum weighted by 1, −2, 3 … per sample. */
  const compute = async (samples: readonly ActionInContext[], limit: number, weightOf: (index: number) => number) => {
    const gradients = new Map([...parameters].map(([name, { length }]) => [name, new Float32Array(length)]));
    const logprobs: number[][] = [];
    const batch = packBatch(packRows(samples, limit));
    const weights = new Float32Array(batch.targets.length);
    for (const { sample: index, scored } of batch.scoredSamples) for (const at of scored) weights[at] += weightOf(index);
    const values = await graph.backward({ batch, weights: [weights] }, parameters, gradients);
    for (const { sample: index, scored } of batch.scoredSamples) logprobs[index] = scored.map((at) => values[at]);
    return { logprobs, gradients };
  };
  const signed = (index: number) => (index % 2 === 0 ? 1 : -1) * (index + 1);

  await fc.assert(
    fc.asyncProperty(sampleSets, limits, async (samples, limit) => {
      const packed = await compute(samples, limit, signed);
      const expected = new Map([...parameters].map(([name, { length }]) => [name, { sum: new Float64Array(length), size: 0 }]));
      for (const [index, one] of samples.entries()) {
        const { logprobs, gradients } = await compute([one], longest, () => signed(index));
        // The same float32 operations, in another order: a few units in the last place of numbers of size 10.
        logprobs[0].forEach((logprob, i) => {
          expect(Math.abs(packed.logprobs[index][i] - logprob)).toBeLessThan(2e-5);
        });
        for (const [name, tensor] of expected) {
          const gradient = gradients.get(name) ?? expect.unreachable();
          tensor.size += largest(gradient);
          gradient.forEach((value, i) => {
            tensor.sum[i] += value;
          });
        }
      }
      const whole = largest([...expected.values()].map(({ size }) => size));
      for (const [name, { sum, size }] of expected) {
        const gradient = packed.gradients.get(name) ?? expect.unreachable();
        // Samples of opposite weight cancel, their rounding does not: it is relative to the sum of their sizes. And a gradient
        // that is zero (of queries that see one token alone) has the rounding of what flows through it.
        expect(largest(sum.map((value, i) => value - gradient[i])), name).toBeLessThan(1e-5 * size + 1e-6 * whole);
      }
    }),
    { numRuns: 4 },
  );
  await graph.close();
});

function largest(values: Iterable<number>): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}

test("the batch of a drawn example, number by number", () => {
  //  1 ─ 2 ┄ 3      sample 0: 1 | 2 3       5 ┄ 6      sample 2: 5 | 6
  //      └┄ 4       sample 1: 1 2 | 4
  const samples = [sample([1], [2, 3]), sample([1, 2], [4]), sample([5], [6])];
  const rows = packRows(samples, 3);
  expect(rows.map(({ tokens }) => [...tokens])).toEqual([[1, 2, 5]]);
  const apart = [samples.slice(0, 2), samples.slice(2)].flatMap((some) => packRows(some, 3));
  const { tries, ...batch } = packBatch(apart);
  expect(tries).toBe(apart);
  const zeros = (...numbers: number[]) => [...numbers, ...Array<number>(8 - numbers.length).fill(0)];
  expect({
    ...batch,
    tokens: [...batch.tokens],
    positions: Array.from(batch.positions, Number),
    queries: [...batch.queries],
    queryPositions: Array.from(batch.queryPositions, Number),
    predictors: [...batch.predictors],
    targets: [...batch.targets],
  }).toEqual({
    ...{ rows: 2, length: 8, queryCount: 8 },
    tokens: [...zeros(1, 2), ...zeros(5)],
    positions: [...zeros(0, 1), ...zeros()],
    // The tokens before 2, 3 and 4; padding is a row's first token.
    queries: [...zeros(0, 1), ...Array<number>(8).fill(8)],
    queryPositions: [...zeros(0, 1), ...zeros()],
    predictors: [0, 1, 1, 8],
    targets: [2, 3, 4, 6],
    scoredSamples: [
      { sample: 0, scored: [0, 1] },
      { sample: 1, scored: [2] },
      { sample: 0, scored: [3] },
    ],
  });
  expect([0, 1, 8, 9].map(evenSize)).toEqual([0, 8, 8, 16]);
});

test("rows of a batch are the longest first, as many as fit it with padding", () => {
  const row = (length: number, first: number) => packRows([sample([first], [...Array(length).keys()])], 20);
  const rows = [3, 5, 4, 1].flatMap((length, i) => row(length, 50 + i));
  const lengths = (most: number) => batchRows(rows, most).map((batch) => batch.map(({ tokens }) => tokens.length));
  expect(lengths(1)).toEqual([[5], [4], [3], [1]]);
  expect(lengths(10)).toEqual([
    [5, 4],
    [3, 1],
  ]);
  expect(lengths(9)).toEqual([[5], [4, 3], [1]]);
  expect(lengths(20)).toEqual([[5, 4, 3, 1]]);
  expect(batchRows([], 5)).toEqual([]);
});
