import { ShapeError } from "../../../src/core/errors.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";
import { type Branch, buildTrie, sharedDepth, writeTokens } from "./trie.ts";

/**
 * Samples folded into a trie, so that every token that samples share (the prompt of a group, the history of a trajectory's
 * turns, the stem of a tree) is computed once. A row is one trie in depth-first order: a token's position is its depth, and it
 * attends to its ancestors and itself. A plain sequence is a trie without branches. A sample's last token is scored, but nothing is
 * predicted from it: it is in the trie only where it belongs to another sample's context.
 */
export interface Row {
  readonly tokens: Int32Array;
  /** Index of the token before it in this row; -1 for a root. */
  readonly parents: Int32Array;
  /** Depth, from 0. */
  readonly positions: Int32Array;
  /** For every sample of the row: its index in the batch, its action tokens, and the node before each of them. */
  readonly samples: readonly RowSample[];
}

interface RowSample {
  readonly sample: number;
  readonly action: readonly TokenId[];
  readonly before: Int32Array;
}

/** Samples of one row before its tokens are written: what each shares with the one before it, and where it ends in the trie. */
interface Plan {
  size: number;
  readonly members: { readonly sample: number; readonly shared: number; readonly end: Branch }[];
}

/**
 * Cuts the trie of all samples into rows of at most `maxTokens` distinct tokens each. In depth-first order every sample shares its longest
 * possible prefix with the one before it, so a row is built by keeping the path of the last sample.
 * @param maxLength most tokens of a sample, which may be fewer than those of a row
 * @throws ShapeError if a sample has no context or no action, or is longer than `maxLength`
 */
export function packRows(samples: readonly ActionInContext[], maxTokens: number, maxLength = maxTokens): Row[] {
  for (const sample of samples) requireLengths(sample, maxLength);
  const plans: Plan[] = [];
  let plan: Plan | undefined;
  let previous: Branch | undefined;
  for (const end of buildTrie(samples).inOrder()) {
    for (const sample of end.samples) {
      let shared = previous === undefined ? 0 : sharedDepth(previous, end);
      if (plan === undefined || plan.size + end.end - shared > maxTokens) {
        plan = { size: 0, members: [] };
        plans.push(plan);
        shared = 0;
      }
      plan.size += end.end - shared;
      plan.members.push({ sample, shared, end });
      previous = end;
    }
  }
  return plans.map((each) => rowOf(each, samples));
}

function requireLengths({ trajectory, turn, context, action }: ActionInContext, maxLength: number): void {
  const where = `turn ${turn} of trajectory ${trajectory}`;
  if (context.length === 0 || action.length === 0) {
    throw new ShapeError(
      where,
      { context: context.length, action: action.length },
      { expected: "a context and an action of at least one token each" },
    );
  }
  if (context.length + action.length > maxLength) {
    throw new ShapeError(where, context.length + action.length, {
      expected: `at most ${maxLength} tokens, the longest that this model was made for`,
      hint: "Lower rollout.maxTurns or rollout.maxTokens.",
    });
  }
}

function rowOf({ size, members }: Plan, samples: readonly ActionInContext[]): Row {
  const [tokens, parents, positions] = [new Int32Array(size), new Int32Array(size), new Int32Array(size)];
  const path = new Int32Array(Math.max(...members.map(({ end }) => end.end))); // nodes of the last sample
  let count = 0;
  const placed = members.map(({ sample, shared, end }): RowSample => {
    const length = end.end;
    writeTokens(end, shared, tokens, count);
    for (let depth = shared; depth < length; depth++, count++) {
      parents[count] = depth === 0 ? -1 : path[depth - 1];
      positions[count] = depth;
      path[depth] = count;
    }
    const { action } = samples[sample];
    return { sample, action, before: path.slice(length - action.length, length) };
  });
  return { tokens, parents, positions, samples: placed };
}

/**
 * Rows of similar length side by side, at most `maxTokens` with padding (a single row may exceed it). Longest first, so that
 * too little memory shows at once.
 */
export function batchRows(rows: readonly Row[], maxTokens: number): Row[][] {
  const sorted = rows.toSorted((a, b) => b.tokens.length - a.tokens.length);
  const batches: Row[][] = [];
  for (const row of sorted) {
    const batch = batches.at(-1);
    if (batch && batch[0].tokens.length * (batch.length + 1) <= maxTokens) batch.push(row);
    else batches.push([row]);
  }
  return batches;
}

/**
 * A micro-batch as the training graph takes it: B rows of T tokens, padded at the right, and M scored tokens. In the last layer only the
 * tokens before those are queries: P of them in a row, padded by the row's first token. T and P are multiples of 8.
 */
export interface PackedBatch {
  readonly rows: number;
  readonly length: number;
  /** [B, T] */
  readonly tokens: Int32Array;
  /** [B, T] */
  readonly positions: BigInt64Array;
  /** P: that of the row with most, and what pads it. */
  readonly queryCount: number;
  /** [B, P]: flat indices (row · T + node). */
  readonly queries: Int32Array;
  /** [B, P] */
  readonly queryPositions: BigInt64Array;
  /** [M]: for every scored token the flat index (row · P + query) of the query whose hidden state predicts it. */
  readonly predictors: Int32Array;
  /** [M, 1] */
  readonly targets: Int32Array;
  /** For every sample of the batch, where in 0..M its action tokens are scored. Samples that share tokens share indices. */
  readonly scoredSamples: readonly { readonly sample: number; readonly scored: readonly number[] }[];
  /** The tries, without padding. */
  readonly tries: readonly Row[];
}

/** Products of matrices are up to a tenth slower where a size is not a multiple of a vector's 8 numbers. */
export function evenSize(size: number): number {
  return Math.ceil(size / 8) * 8;
}

export function packBatch(rows: readonly Row[]): PackedBatch {
  const length = evenSize(Math.max(...rows.map((row) => row.tokens.length)));
  const queriesOfRows = rows.map((row) => [...new Set(row.samples.flatMap(({ before }) => [...before]))]);
  const queryCount = evenSize(Math.max(...queriesOfRows.map((nodes) => nodes.length)));
  const tokens = new Int32Array(rows.length * length);
  const positions = new BigInt64Array(rows.length * length);
  const queries = new Int32Array(rows.length * queryCount);
  const queryPositions = new BigInt64Array(rows.length * queryCount);
  const predictors: number[] = [];
  const targets: number[] = [];
  const scoredSamples: { sample: number; scored: number[] }[] = [];

  rows.forEach((row, r) => {
    const base = r * length;
    tokens.set(row.tokens, base);
    positions.set(BigInt64Array.from(row.positions, BigInt), base);
    const queryOf = new Map<number, number>();
    for (let query = 0; query < queryCount; query++) {
      const node = queriesOfRows[r][query] ?? 0;
      const index = r * queryCount + query;
      queries[index] = base + node;
      queryPositions[index] = positions[base + node];
      if (query < queriesOfRows[r].length) queryOf.set(node, index);
    }
    const targetIndex = new Map<string, number>();
    for (const { sample, action, before } of row.samples) {
      const scored = action.map((target, i) => {
        const query = queryOf.get(before[i]) ?? 0;
        const key = `${query} ${target}`;
        const known = targetIndex.get(key);
        if (known !== undefined) return known;
        const index = targets.push(target) - 1;
        predictors.push(query);
        targetIndex.set(key, index);
        return index;
      });
      scoredSamples.push({ sample, scored });
    }
  });
  return {
    rows: rows.length,
    length,
    tokens,
    positions,
    queryCount,
    queries,
    queryPositions,
    predictors: Int32Array.from(predictors),
    targets: Int32Array.from(targets),
    scoredSamples,
    tries: rows,
  };
}
