import type { Tensor } from "../graph/tensor.ts";
import { adapterShapes } from "./lora.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import type { GraphModel } from "./parameters.ts";
import { normWeight, unembed } from "./transformer.ts";

/** The end of a model that is trained: what is read off the hidden state before each scored token. */
export interface Head {
  /** Those of the trunk, its adapter's and its own, by name. */
  parameterShapes(config: ModelConfig): Map<string, readonly number[]>;
  /**
   * @param hidden [M, D], as `decoder` returns them
   * @returns one number a token each, [M, 1]; the first is what passes return, all can be differentiated
   */
  read(model: GraphModel, hidden: Tensor): readonly [Tensor, ...Tensor[]];
}

/** log π of the scored tokens, tempered. */
export const logprobHead: Head = {
  parameterShapes: adaptedShapes,
  read: (model, hidden) => [model.g.selectLogprobs(temperedLogits(model, hidden), targets(model))],
};

/** log π of the scored tokens, and the entropy of the distribution that they were drawn from. */
export const entropyHead: Head = {
  parameterShapes: adaptedShapes,
  read: (model, hidden) => {
    const logits = temperedLogits(model, hidden);
    return [model.g.selectLogprobs(logits, targets(model)), model.g.entropy(logits)];
  },
};

/** Parameters of the value head, beside the trunk's. */
const valueWeight = "value_head.weight";
const valueBias = "value_head.bias";

/** V = w·norm(x) + b, of the state before each scored token. */
export const valueHead: Head = {
  parameterShapes: (config) => {
    const shapes = adaptedShapes(config);
    shapes.delete("lm_head.weight");
    shapes.set(valueWeight, [1, config.hiddenSize]);
    shapes.set(valueBias, [1]);
    return shapes;
  },
  read: (model, hidden) => {
    const { g, weight } = model;
    const normed = g.mul(hidden, normWeight(model, "model.norm"));
    return [g.add(g.matmul(normed, weight(valueWeight), { transB: true }), weight(valueBias))];
  },
};

function adaptedShapes(config: ModelConfig): Map<string, readonly number[]> {
  return new Map([...parameterShapes(config), ...adapterShapes(config)]);
}

function temperedLogits(model: GraphModel, hidden: Tensor): Tensor {
  return model.g.mul(unembed(model, hidden), model.g.input("inverseTemperature", [1]));
}

function targets({ g }: GraphModel): Tensor {
  return g.input("targets", ["M", 1], "int32");
}
