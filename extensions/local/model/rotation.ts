import type { Graph } from "../graph/graph.ts";
import type { Value } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { LayerType } from "./architectures.ts";
import type { ModelConfig } from "./model-config.ts";
import { type Rope, rotaryFrequency } from "./rope.ts";

/** Rotates heads [B, H, T, size] of tokens at positions [B, T]. */
export type Rotate = (heads: Tensor, positions: Tensor) => Tensor;

/** The rotations of a graph's layers, by type. Their tables are inputs, which `rotationFeeds` has. */
export function rotations(g: Graph, config: ModelConfig): (type: LayerType) => Rotate {
  const tables = new Map<string, readonly [Tensor, Tensor]>();
  return (type) => {
    const table = tableOf(config, type);
    if (table === undefined) return (heads) => heads;
    const input = (name: string) => g.input(name, ["positions", config.headDim / 2]);
    const [cosine, sine] = tables.get(table.name) ?? [input(`cosine/${table.name}`), input(`sine/${table.name}`)];
    tables.set(table.name, [cosine, sine]);
    return (heads, positions) => g.rotary(heads, positions, cosine, sine);
  };
}

/**
 * Cosines and sines [positions, headDim/2] for every rotation that a model's graphs may ask for. They are inputs, since as constants each session would
 * hold all positions that the model was made for: 33 MB for 32,768 positions of heads of 256.
 * @param count of positions; also the longest sequence, since ONNX Runtime's rotation takes none that is longer than its tables
 */
export function rotationFeeds(config: ModelConfig, count: number): Record<string, Value> {
  const feeds: Record<string, Value> = {};
  for (const type of new Set<LayerType>(config.layerTypes ?? ["full"])) {
    const table = tableOf(config, type);
    if (table === undefined) continue;
    const { cosine, sine, shape } = tablesFor(table.rope, config.headDim, count);
    feeds[`cosine/${table.name}`] = { data: cosine, shape, constant: true };
    feeds[`sine/${table.name}`] = { data: sine, shape, constant: true };
  }
  return feeds;
}

function tableOf({ rope, slidingRope }: ModelConfig, type: LayerType): { name: string; rope: Rope } | undefined {
  if (type === "unrotated") return undefined;
  return type === "sliding" && slidingRope !== undefined ? { name: "sliding", rope: slidingRope } : { name: "all", rope };
}

interface Tables {
  readonly cosine: Float32Array;
  readonly sine: Float32Array;
  readonly shape: readonly [number, number];
}

/** Shared by all models of a process, and made again, twice as long, where one is too short. */
const made = new Map<string, Tables>();

function tablesFor(rope: Rope, headDim: number, count: number): Tables {
  const key = JSON.stringify([rope, headDim]);
  const known = made.get(key);
  if (known !== undefined && known.shape[0] >= count) return known;
  const tables = makeTables(rope, headDim, 2 ** Math.ceil(Math.log2(Math.max(64, count))));
  made.set(key, tables);
  return tables;
}

function makeTables(rope: Rope, headDim: number, positions: number): Tables {
  const half = headDim / 2;
  const cosine = new Float32Array(positions * half);
  const sine = new Float32Array(positions * half);
  for (let i = 0; i < half; i++) {
    const frequency = rotaryFrequency(rope, headDim, i);
    for (let position = 0; position < positions; position++) {
      cosine[position * half + i] = Math.cos(position * frequency);
      sine[position * half + i] = Math.sin(position * frequency);
    }
  }
  return { cosine, sine, shape: [positions, half] };
}
