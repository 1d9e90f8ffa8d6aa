import { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { type Attend, attentionScale, decoder, parametersOf, typeOf, unembed } from "../model/transformer.ts";

/** Numbers that a decoding step takes of a row, and gives. */
export const taken = 5;
export const given = 4;

/**
 * One decoding step on a device: R rows take a token each, write its keys and values into their slots, attend to what these hold, and draw the next
 * token. Takes `step` [R, 5] (rowInputs) and gives `drawn` [R, 4]: token, its probability, its log-prob under the model, and the entropy.
 * Caches [R, Hk, size, S] are inputs `keys0` … and outputs `newKeys0` …, bound to the same tensors; weights are inputs.
 * A step made again writes and gives the same: recording one repeats it.
 */
export function decodeGraph(config: ModelConfig, weights: ReadonlyMap<string, readonly number[]>): Graph {
  const g = new Graph();
  const { kvHeads, headDim, hiddenSize, window } = config;
  const weight = parametersOf(new Map([...weights].map(([name, shape]): [string, Tensor] => [name, g.input(name, shape)])));
  const step = g.input("step", ["R", taken]);
  const range = g.input("range", ["S"]);
  const inputs = g.apply("rowInputs", [step, range], { heads: kvHeads, size: headDim, window });
  const [tokens, positions, mask, narrow, columns, uniforms, inverseTemperatures, greedy] = inputs;
  const scale = attentionScale(config);
  const write = (name: string, layer: number, value: Tensor) => {
    const slots = g.input(`${name}${layer}`, ["R", kvHeads, headDim, "S"]);
    const column = g.reshape(value, ["R", kvHeads, headDim, 1]);
    g.apply("scatterLast", [slots, columns, column], {});
    return g.outputLast(`new${name}${layer}`); // a copy of it would be one of the whole cache
  };
  const attend: Attend = (layer, q, k, v) => {
    const seen = typeOf(config, layer) === "sliding" ? narrow : mask;
    return g.apply("columnAttention", [q, write("Keys", layer, k), write("Values", layer, v), seen], { scale })[0];
  };
  const model = { g, config, weight, foldNorms: false };
  unembed(model, g.reshape(decoder(model, { tokens, positions }, attend), ["R", hiddenSize]));
  const logits = g.outputLast("logits");
  const tempered = g.mul(logits, inverseTemperatures);
  g.softmax(tempered);
  const probabilities = g.outputLast("probabilities");
  const [drawn, ids, probability] = g.apply("drawTokens", [probabilities, uniforms, greedy], {});
  const logSoftmax = (x: Tensor) => g.apply("logSoftmax", [x], {})[0];
  const entropies = g.neg(g.sum(g.mul(probabilities, logSoftmax(tempered)), [1]));
  const modelLogprobs = g.apply("pick", [logSoftmax(logits), ids], {})[0];
  g.output("drawn", g.concat([drawn, probability, modelLogprobs, entropies], 1));
  return g;
}
