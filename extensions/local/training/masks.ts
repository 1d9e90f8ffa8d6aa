import type { Graph } from "../graph/graph.ts";
import { unseen } from "../graph/operator.ts";
import type { Value } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { typeOf } from "../model/transformer.ts";
import type { PackedBatch } from "./packing.ts";

/** Whether some token of a batch is further from its first one than a window reaches. */
export function exceeds({ tries }: Pick<PackedBatch, "tries">, window: number): boolean {
  return tries.some(({ positions }) => positions.some((position) => position >= window));
}

/**
 * Masks for attention over whole rows, 0 where a token sees another and at most `unseen` elsewhere. They are as large as rows are long, squared: long rows
 * have blocks instead (blocks.ts). The graph computes them, of a few numbers a token: rows are tries in depth-first order, so a token at index i sees the
 * one at j if j ≤ i ≤ last(j), the last that descends from j, and if that is less than a window deeper.
 */
export const masks = {
  /** The mask of each layer: in the last one queries are those that are read, and "sliding" layers have a window. */
  build(g: Graph, config: ModelConfig): (layer: number) => Tensor {
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
  feeds({ rows, length, queryCount, queries, positions, queryPositions, tries }: PackedBatch): Record<string, Value> {
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
