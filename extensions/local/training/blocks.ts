import { unseen } from "../graph/operator.ts";
import { exceeds } from "./masks.ts";
import type { PackedBatch, Row } from "./packing.ts";

/** The tokens of a batch one after another, without padding: N tokens, of which R are read (predicted from). */
export interface FlatBatch {
  /** [N] */
  readonly tokens: Int32Array;
  /** [N] */
  readonly positions: BigInt64Array;
  /** [N]: the token before each on its path; -1 where the path begins. */
  readonly parents: Int32Array;
  /** [R]: the tokens that something is predicted from, ascending. */
  readonly reads: Int32Array;
  /** [R] */
  readonly readPositions: BigInt64Array;
  /** [M]: for every scored token the index in `reads` of the token that predicts it. */
  readonly predictors: Int32Array;
  /** Where attention takes place: of every token to its ancestors, and the same for those that are read alone. */
  readonly blocks: Blocks;
  /** The same with no more of the ancestors than a window has tokens. */
  readonly windowBlocks: Blocks;
}

export interface Blocks {
  readonly all: readonly AttentionBlock[];
  readonly read: readonly AttentionBlock[];
}

/** Attention of Q queries, side by side in their list, to the S tokens that at least one of them sees. Only those are masked that not all of them see. */
export interface AttentionBlock {
  /** The queries are those from `start` up to, not including, `end`. */
  readonly start: number;
  readonly end: number;
  /** [S]: ascending. */
  readonly keys: Int32Array;
  /** Keys side by side that all queries see: from `from` up to, not including, `to`. The first ones, where there is no window. */
  readonly common: { readonly from: number; readonly to: number };
  /** [Q, S − (to − from)]: of the other keys, in their order, 0 where a query sees a key, `unseen` elsewhere. */
  readonly mask: Float32Array;
}

/**
 * @param blockQueries number of queries that a block may have, of a row of this many tokens
 * @param window tokens on its path that a token of a "sliding" layer sees, itself included
 */
export function flatten(
  batch: PackedBatch,
  blockQueries: (length: number) => number,
  window = Number.POSITIVE_INFINITY,
): FlatBatch {
  const { tries, length } = batch;
  const count = tries.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = new Int32Array(count);
  const positions = new BigInt64Array(count);
  const parents = new Int32Array(count);
  const reads: number[] = [];
  const placeOfRead = new Map<number, number>();
  const blocks = { all: [] as AttentionBlock[], read: [] as AttentionBlock[] };
  const windowBlocks: typeof blocks = exceeds(batch, window) ? { all: [], read: [] } : blocks;
  let start = 0;
  tries.forEach((row, r) => {
    const size = row.tokens.length;
    tokens.set(row.tokens, start);
    row.parents.forEach((parent, node) => {
      parents[start + node] = parent < 0 ? -1 : start + parent;
    });
    positions.set(batch.positions.subarray(r * length, r * length + size), start);
    const readNodes = [...new Set(row.samples.flatMap(({ before }) => [...before]))].sort((a, b) => a - b);
    const allNodes = Array.from({ length: size }, (_, node) => node);
    const most = blockQueries(size);
    const add = (to: typeof blocks, width: number) => {
      to.all.push(...blocksOf(row, { base: start, first: start, nodes: allNodes, most, window: width }));
      to.read.push(...blocksOf(row, { base: start, first: reads.length, nodes: readNodes, most, window: width }));
    };
    add(blocks, Number.POSITIVE_INFINITY);
    if (windowBlocks !== blocks) add(windowBlocks, window);
    for (const node of readNodes) placeOfRead.set(r * length + node, reads.push(start + node) - 1);
    start += size;
  });
  return {
    tokens,
    positions,
    parents,
    reads: Int32Array.from(reads),
    readPositions: BigInt64Array.from(reads, (token) => positions[token]),
    predictors: batch.predictors.map((query) => placeOfRead.get(batch.queries[query]) ?? 0),
    blocks,
    windowBlocks,
  };
}

interface Cut {
  /** Index of the row's first token in the batch. */
  readonly base: number;
  /** Index of the row's first query in its list. */
  readonly first: number;
  /** The nodes of the queries, ascending. */
  readonly nodes: readonly number[];
  readonly most: number;
  /** Tokens on its path that a query sees, itself included. */
  readonly window: number;
}

function blocksOf({ parents, positions }: Row, { base, first, nodes, most, window }: Cut): AttentionBlock[] {
  const blocks: AttentionBlock[] = [];
  /** The block that a node was last seen in, and its column there. */
  const seenIn = new Int32Array(parents.length).fill(-1);
  const column = new Int32Array(parents.length);
  for (let start = 0; start < nodes.length; start += most) {
    const queries = nodes.slice(start, start + most);
    const visit = (query: number, each: (node: number) => boolean | undefined) => {
      const first = positions[query] - window;
      for (let node = query; node >= 0 && positions[node] > first && each(node) !== false; ) node = parents[node];
    };
    const endless = window === Number.POSITIVE_INFINITY;
    for (const query of queries)
      visit(query, (node) => {
        if (endless && seenIn[node] === start) return false; // and so is everything above
        seenIn[node] = start;
      });
    const keys: number[] = [];
    for (let node = 0; node <= queries[queries.length - 1]; node++)
      if (seenIn[node] === start) column[node] = keys.push(node) - 1;
    const common = endless
      ? { from: 0, to: commonAncestors(parents, queries) }
      : longestRun(
          countViews(keys.length, queries, (query, count) => visit(query, (node) => count(column[node]))),
          queries.length,
        );
    const width = keys.length - (common.to - common.from);
    const mask = new Float32Array(queries.length * width).fill(unseen);
    queries.forEach((query, line) => {
      visit(query, (node) => {
        const compacted = column[node];
        if (compacted < common.from) mask[line * width + compacted] = 0;
        else if (compacted >= common.to) mask[line * width + compacted - (common.to - common.from)] = 0;
        else if (common.from === 0) return false;
      });
    });
    const [from, to] = [first + start, first + start + queries.length];
    blocks.push({ start: from, end: to, keys: Int32Array.from(keys, (node) => base + node), common, mask });
  }
  return blocks;
}

/** @returns for each key the number of queries that see it */
function countViews(
  keys: number,
  queries: readonly number[],
  visit: (query: number, count: (key: number) => undefined) => void,
): Int32Array {
  const views = new Int32Array(keys);
  for (const query of queries)
    visit(query, (key) => {
      views[key]++;
    });
  return views;
}

function longestRun(values: Int32Array, value: number): { from: number; to: number } {
  let longest = { from: 0, to: 0 };
  for (let from = 0; from < values.length; from++) {
    let to = from;
    while (to < values.length && values[to] === value) to++;
    if (to - from > longest.to - longest.from) longest = { from, to };
    from = to;
  }
  return longest;
}

/** Number of nodes that all of the given ones have on their way to the root, themselves included: a path from the root. */
function commonAncestors(parents: Int32Array, nodes: readonly number[]): number {
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
