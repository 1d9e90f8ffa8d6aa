import { expect, test } from "vitest";
import { Graph } from "../graph/graph.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import { decoder, parametersOf } from "./transformer.ts";

test("a parameter that a model does not have is refused by name", () => {
  const weight = parametersOf(new Map([["a", 1]]));
  expect(weight("a")).toBe(1);
  expect(() => weight("b")).toThrow(new RangeError("no parameter b"));
});

test("a convolution needs to look back", () => {
  const config: ModelConfig = {
    ...{ architecture: "lfm2", eosTokenIds: [], maxPositionEmbeddings: 64, rmsNormEps: 0.5, attentionBias: false, qkNorm: true },
    ...{ rope: { theta: 1e4, scaling: undefined }, tieWordEmbeddings: true, vocabSize: 6, hiddenSize: 4, intermediateSize: 8 },
    ...{ layers: 1, heads: 2, kvHeads: 1, headDim: 2, layerTypes: ["conv"], convKernel: 3 },
  };
  const g = new Graph();
  const weight = parametersOf(new Map([...parameterShapes(config)].map(([name, shape]) => [name, g.input(name, shape)])));
  const inputs = { tokens: g.input("tokens", ["B", "T"], "int32"), positions: g.input("positions", ["B", "T"], "int64") };
  const attend = () => expect.unreachable("nothing attends");
  expect(() => decoder({ g, config, weight }, inputs, attend)).toThrow(new RangeError("a convolution that cannot look back"));
});
