import { unseen } from "../graph/operator.ts";
import type { PackedBatch } from "./packing.ts";

/** What the tokens of a batch see by the parents of each: 0 where a token sees another, `unseen` elsewhere. */
export interface Masks {
  /** [B, 1, T, T] */
  readonly mask: Float32Array;
  /** [B, 1, P, T]: the lines of the mask that belong to the queries. */
  readonly queryMask: Float32Array;
}

/**
 * Returns both masks of a batch.
 * @param window tokens on its path that each token sees, itself included; all if left out
 */
export function batchMasks({ rows, length, queryCount, queries, tries }: PackedBatch, window = Number.POSITIVE_INFINITY): Masks {
  const mask = new Float32Array(rows * length * length).fill(unseen);
  const queryMask = new Float32Array(rows * queryCount * length);
  tries.forEach(({ parents, positions }, r) => {
    const base = r * length;
    // The token that has left the window of the one before it; -1 until the path is as long as the window.
    const outOf = new Int32Array(parents.length).fill(-1);
    for (let node = 0; node < length; node++) {
      const line = (base + node) * length;
      const parent = parents[node] ?? -1;
      if (parent >= 0) mask.copyWithin(line, (base + parent) * length, (base + parent) * length + parent + 1);
      mask[line + node] = 0; // padding sees itself alone, so that its softmax is defined
      if (positions[node] >= window) {
        outOf[node] = oldest(mask.subarray(line, line + node), outOf[parent] + 1);
        mask[line + outOf[node]] = unseen;
      }
    }
  });
  queries.forEach((token, query) => {
    queryMask.set(mask.subarray(token * length, (token + 1) * length), query * length);
  });
  return { mask, queryMask };
}

/** The first token from an index on that a line sees. Ancestors have smaller indices than their descendants. */
function oldest(line: Float32Array, from: number): number {
  let node = from;
  while (line[node] !== 0) node++;
  return node;
}
