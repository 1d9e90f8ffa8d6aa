import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import type { ModelConfig } from "./model-config.ts";
import { rotationFeeds, rotations } from "./rotation.ts";

const config: ModelConfig = {
  ...{ architecture: "qwen2", eosTokenIds: [], maxPositionEmbeddings: 64, rmsNormEps: 1e-6, attentionBias: false },
  ...{ rope: { theta: 100, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 1, headDim: 4 },
  ...{ hiddenSize: 8, intermediateSize: 8, layers: 4, heads: 2, vocabSize: 16 },
};
const slidingRope = { theta: 10_000, scaling: undefined };
const layerTypes = ["full", "sliding", "unrotated", "full"] as const;

test("tables have a cosine and a sine of each pair at each position, and twice as many rows where they are too few", () => {
  const { "cosine/all": cosine, "sine/all": sine, ...others } = rotationFeeds(config, 3);
  expect(others).toEqual({});
  expect([cosine?.shape, sine?.shape, cosine?.constant, sine?.constant]).toEqual([[64, 2], [64, 2], true, true]);
  // Pairs turn by 1 and 100^(−2/4) = 0.1 radians a token.
  for (const position of [0, 1, 5, 63])
    for (const [pair, angle] of [position, 0.1 * position].entries()) {
      expect(cosine?.data[2 * position + pair]).toBeCloseTo(Math.cos(angle), 6);
      expect(sine?.data[2 * position + pair]).toBeCloseTo(Math.sin(angle), 6);
    }
  expect(rotationFeeds(config, 64)["cosine/all"]?.data).toBe(cosine?.data);
  expect(rotationFeeds(config, 65)["cosine/all"]?.shape).toEqual([128, 2]);
  expect(rotationFeeds(config, 3)["cosine/all"]?.shape).toEqual([128, 2]); // those that are there
  expect(rotationFeeds({ ...config, headDim: 8 }, 3)["cosine/all"]?.shape).toEqual([64, 4]);
});

test("layers with a window have tables of their own where their rotation is another, and some have none", () => {
  const names = (changes: Partial<ModelConfig>) => Object.keys(rotationFeeds({ ...config, ...changes }, 3));
  expect(names({ layerTypes, slidingRope })).toEqual(["cosine/all", "sine/all", "cosine/sliding", "sine/sliding"]);
  expect(names({ layerTypes })).toEqual(["cosine/all", "sine/all"]);
  expect(names({ layerTypes: ["unrotated"] })).toEqual([]);
  const sliding = rotationFeeds({ ...config, layerTypes, slidingRope }, 3)["cosine/sliding"];
  expect(sliding?.data[3]).toBeCloseTo(Math.cos(0.01), 6);
});

test("a graph has one input for each table that its layers use", () => {
  const g = new Graph();
  const rotate = rotations(g, { ...config, layerTypes, slidingRope });
  const [heads, positions] = [g.input("heads", ["B", 2, "T", 4]), g.input("positions", ["B", "T"], "int64")];
  for (const type of layerTypes) {
    const rotated = rotate(type)(heads, positions);
    expect(rotated === heads).toBe(type === "unrotated");
  }
  expect(g.inputs.map(({ name, shape }) => [name, shape])).toEqual([
    ["heads", ["B", 2, "T", 4]],
    ["positions", ["B", "T"]],
    ...["cosine/all", "sine/all", "cosine/sliding", "sine/sliding"].map((name) => [name, ["positions", 2]]),
  ]);
  expect(g.nodes.map(({ inputs }) => inputs.slice(2).map(({ name }) => name))).toEqual([
    ["cosine/all", "sine/all"],
    ["cosine/sliding", "sine/sliding"],
    ["cosine/all", "sine/all"],
  ]);
});
