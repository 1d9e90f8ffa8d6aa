import type { Graph } from "../graph/graph.ts";
import { unseen } from "../graph/operator.ts";
import type { Value } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { typeOf } from "../model/transformer.ts";
import type { PackedBatch } from "./packing.ts";

/** The masks of what the tokens of a batch see, for attention over whole rows: 0 where a token sees another, `unseen` elsewhere. */
export interface Masks {
  /** [B, 1, T, T] */
  readonly mask: Float32Array;
  /** [B, 1, P, T]: the lines of the mask that belong to the queries. */
  readonly queryMask: Float32Array;
}

/**
 * Returns both masks of a batch. They are as large as its rows are long, squared: long rows have blocks instead (blocks.ts).
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

/** Whether some token of a batch is further from its first one than a window reaches. */
export function exceeds({ tries }: Pick<PackedBatch, "tries">, window: number): boolean {
  return tries.some(({ positions }) => positions.some((position) => position >= window));
}

/** A graph's masks, as its inputs or computed in it, and what they are fed with. */
export interface GraphMasks {
  /** The mask of each layer: in the last one queries are those that are read, and "sliding" layers have a window. */
  build(g: Graph, config: ModelConfig): (layer: number) => Tensor;
  feeds(batch: PackedBatch, config: ModelConfig): Record<string, Value>;
}

/** Made on the processor, which holds them anyway. */
export const givenMasks: GraphMasks = {
  build: (g, config) =>
    oncePerKind(config, (windowed, read) => {
      const name = windowed ? (read ? "windowQueryMask" : "windowMask") : read ? "queryMask" : "mask";
      return g.input(name, ["B", 1, read ? "P" : "T", "T"]);
    }),
  feeds(batch, { window }) {
    const { rows, length, queryCount } = batch;
    const all = batchMasks(batch);
    const windowed = window === undefined || !exceeds(batch, window) ? all : batchMasks(batch, window);
    return {
      mask: { data: all.mask, shape: [rows, 1, length, length] },
      queryMask: { data: all.queryMask, shape: [rows, 1, queryCount, length] },
      windowMask: { data: windowed.mask, shape: [rows, 1, length, length] },
      windowQueryMask: { data: windowed.queryMask, shape: [rows, 1, queryCount, length] },
    };
  },
};

/**
 * Computed where attention is, of a few numbers a token: rows are tries in depth-first order, so a token at index i sees the one at j if
 * j ≤ i ≤ last(j), the last that descends from j, and if that is less than a window deeper.
 */
export const computedMasks: GraphMasks = {
  build(g, config) {
    const [keyAt, tokenAt] = [g.input("keyAt", [1, 1, 1, "T"]), g.input("tokenAt", [1, 1, "T", 1])];
    const last = g.input("last", ["B", 1, 1, "T"]);
    return oncePerKind(config, (windowed, read) => {
      const at = read ? g.input(windowed ? "windowQueryAt" : "queryAt", ["B", 1, "P", 1]) : tokenAt;
      let hidden = g.add(g.relu(g.sub(keyAt, at)), g.relu(g.sub(at, last)));
      if (windowed) {
        const key = g.input(read ? "readKeyDepth" : "keyDepth", ["B", 1, 1, "T"]);
        const query = g.input(read ? "queryDepth" : "tokenDepth", ["B", 1, read ? "P" : "T", 1]);
        const within = g.scalar((config.window ?? Number.POSITIVE_INFINITY) - 1);
        hidden = g.add(hidden, g.relu(g.sub(g.sub(query, key), within)));
      }
      return g.mul(hidden, g.scalar(unseen));
    });
  },
  feeds({ rows, length, queryCount, queries, positions, queryPositions, tries }) {
    const indices = Float32Array.from({ length }, (_, i) => i);
    const last = new Float32Array(rows * length);
    for (let row = 0; row < rows; row++) last.set(indices, row * length); // padding sees itself alone
    tries.forEach(({ parents }, row) => {
      const base = row * length;
      for (let node = parents.length - 1; node >= 0; node--)
        if (parents[node] >= 0) last[base + parents[node]] = Math.max(last[base + parents[node]], last[base + node]);
    });
    const queryAt = { data: Float32Array.from(queries, (token) => token % length), shape: [rows, 1, queryCount, 1] };
    const depths = Float32Array.from(positions, Number);
    const keyDepth = { data: depths, shape: [rows, 1, 1, length] };
    return {
      keyAt: { data: indices, shape: [1, 1, 1, length] },
      tokenAt: { data: indices, shape: [1, 1, length, 1] },
      last: { data: last, shape: [rows, 1, 1, length] },
      ...{ queryAt, windowQueryAt: queryAt, keyDepth, readKeyDepth: keyDepth },
      tokenDepth: { data: depths, shape: [rows, 1, length, 1] },
      queryDepth: { data: Float32Array.from(queryPositions, Number), shape: [rows, 1, queryCount, 1] },
    };
  },
};

function oncePerKind(config: ModelConfig, make: (windowed: boolean, read: boolean) => Tensor): (layer: number) => Tensor {
  const made = new Map<string, Tensor>();
  return (layer) => {
    const kind = [typeOf(config, layer) === "sliding", layer === config.layers - 1] as const;
    const mask = made.get(String(kind)) ?? make(...kind);
    made.set(String(kind), mask);
    return mask;
  };
}
