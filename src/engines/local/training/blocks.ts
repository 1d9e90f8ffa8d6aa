import { unseen } from "./masks.ts";
import type { PackedBatch, Row } from "./packing.ts";

/** The tokens of a batch one after another, without padding: N tokens, of which R are read (predicted from). */
export interface FlatBatch {
  /** [N] */
  readonly tokens: Int32Array;
  /** [N] */
  readonly positions: BigInt64Array;
  /** [R]: the tokens that something is predicted from, ascending. */
  readonly reads: Int32Array;
  /** [R] */
  readonly readPositions: BigInt64Array;
  /** [M]: for every scored token the index in `reads` of the token that predicts it. */
  readonly predictors: Int32Array;
  /** Where attention takes place: of every token to its ancestors, and the same for those that are read alone. */
  readonly blocks: { readonly all: readonly AttentionBlock[]; readonly read: readonly AttentionBlock[] };
}

/**
 * Attention of Q queries, side by side in their list, to the S tokens that at least one of them sees. Tokens that all of them see come first;
 * only behind those is there something to be masked.
 */
export interface AttentionBlock {
  /** The queries are those from `start` up to, not including, `end`. */
  readonly start: number;
  readonly end: number;
  /** [S]: ascending. */
  readonly keys: Int32Array;
  /** Number of keys, the first ones, that all queries see. */
  readonly common: number;
  /** [Q, S − common]: 0 where a query sees a key, `unseen` elsewhere. */
  readonly mask: Float32Array;
}

/** @param blockQueries number of queries that a block may have, of a row of this many tokens */
export function flatten(batch: PackedBatch, blockQueries: (length: number) => number): FlatBatch {
  const { tries, length } = batch;
  const count = tries.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = new Int32Array(count);
  const positions = new BigInt64Array(count);
  const reads: number[] = [];
  const placeOfRead = new Map<number, number>();
  const all: AttentionBlock[] = [];
  const read: AttentionBlock[] = [];
  let start = 0;
  tries.forEach((row, r) => {
    const size = row.tokens.length;
    tokens.set(row.tokens, start);
    positions.set(batch.positions.subarray(r * length, r * length + size), start);
    const readNodes = [...new Set(row.samples.flatMap(({ before }) => before))].sort((a, b) => a - b);
    const most = blockQueries(size);
    all.push(
      ...blocksOf(
        row,
        start,
        start,
        Array.from({ length: size }, (_, node) => node),
        most,
      ),
    );
    read.push(...blocksOf(row, start, reads.length, readNodes, most));
    for (const node of readNodes) placeOfRead.set(r * length + node, reads.push(start + node) - 1);
    start += size;
  });
  return {
    tokens,
    positions,
    reads: Int32Array.from(reads),
    readPositions: BigInt64Array.from(reads, (token) => positions[token]),
    predictors: batch.predictors.map((query) => placeOfRead.get(batch.queries[query]) ?? 0),
    blocks: { all, read },
  };
}

/**
 * Cuts the queries of a row into blocks.
 * @param base index of the row's first token in the batch
 * @param first index of the row's first query in its list
 * @param nodes of the queries, ascending
 */
function blocksOf({ parents }: Row, base: number, first: number, nodes: readonly number[], most: number): AttentionBlock[] {
  const blocks: AttentionBlock[] = [];
  /** The block that a node was last seen in, and by how many of its queries. */
  const seenIn = new Int32Array(parents.length).fill(-1);
  const column = new Int32Array(parents.length);
  for (let start = 0; start < nodes.length; start += most) {
    const queries = nodes.slice(start, start + most);
    for (const query of queries)
      for (let node = query; node >= 0 && seenIn[node] !== start; node = parents[node]) seenIn[node] = start;
    const keys: number[] = [];
    for (let node = 0; node <= queries[queries.length - 1]; node++)
      if (seenIn[node] === start) column[node] = keys.push(node) - 1;
    const common = commonAncestors(parents, queries);
    const width = keys.length - common;
    const mask = new Float32Array(queries.length * width).fill(unseen);
    queries.forEach((query, line) => {
      for (let node = query; node >= 0 && column[node] >= common; node = parents[node])
        mask[line * width + column[node] - common] = 0;
    });
    const [from, to] = [first + start, first + start + queries.length];
    blocks.push({ start: from, end: to, keys: Int32Array.from(keys, (node) => base + node), common, mask });
  }
  return blocks;
}

/** Number of nodes that all of the given ones have on their way to the root, themselves included: a path from the root. */
function commonAncestors(parents: readonly number[], nodes: readonly number[]): number {
  // Parents have smaller indices than their children, so the larger of two nodes is never an ancestor of the smaller.
  let shared = nodes[0];
  for (const node of nodes) {
    let other = node;
    while (other !== shared) {
      if (other > shared) other = parents[other];
      else shared = parents[shared];
    }
    if (shared < 0) return 0;
  }
  let depth = 0;
  for (let node = shared; node >= 0; node = parents[node]) depth++;
  return depth;
}
