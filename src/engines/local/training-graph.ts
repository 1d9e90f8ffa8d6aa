import { differentiate } from "./gradients.ts";
import { Graph, type Tensor } from "./graph.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import { Session, type Value } from "./onnx.ts";
import type { PackedBatch } from "./packing.ts";
import { attentionScale, decoder, parametersOf, unembed } from "./transformer.ts";

/** Arrays by Hugging Face parameter name. */
export type Arrays = ReadonlyMap<string, Float32Array>;

const gradientOf = (name: string) => `gradient/${name}`;

/**
 * The model as a function of its parameters: log-probs of scored tokens, and gradients of Σ w·log π.
 * Parameters are inputs, so that an optimiser step costs no new session.
 */
export class TrainingGraph {
  readonly #forward: Session;
  readonly #forwardBackward: Session;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;

  private constructor(forward: Session, forwardBackward: Session, shapes: ReadonlyMap<string, readonly number[]>) {
    this.#forward = forward;
    this.#forwardBackward = forwardBackward;
    this.#shapes = shapes;
  }

  static async open(config: ModelConfig, options: { readonly threads: number }): Promise<TrainingGraph> {
    const forward = await Session.open(trainingGraph(config, { backward: false }), options);
    const forwardBackward = await Session.open(trainingGraph(config, { backward: true }), options);
    return new TrainingGraph(forward, forwardBackward, parameterShapes(config));
  }

  /** @returns log π of the M scored tokens */
  async logprobs(batch: PackedBatch, parameters: Arrays, temperature: number): Promise<Float32Array> {
    const { logprobs } = await this.#forward.run(this.#feeds(batch, parameters, temperature), ["logprobs"]);
    return logprobs;
  }

  /** Adds ∂(Σ w·log π)/∂θ to `gradients`. @param weights [M] @returns log π of the M scored tokens */
  async backward(
    batch: PackedBatch,
    weights: Float32Array,
    parameters: Arrays,
    temperature: number,
    gradients: Arrays,
  ): Promise<Float32Array> {
    const names = [...this.#shapes.keys()];
    const feeds = { ...this.#feeds(batch, parameters, temperature), weights: { data: weights, shape: [weights.length, 1] } };
    const results = await this.#forwardBackward.run(feeds, ["logprobs", ...names.map(gradientOf)]);
    for (const name of names) addTo(gradients.get(name), results[gradientOf(name)]);
    return results.logprobs;
  }

  async close(): Promise<void> {
    await this.#forward.close();
    await this.#forwardBackward.close();
  }

  #feeds(batch: PackedBatch, parameters: Arrays, temperature: number): Record<string, Value> {
    const { rows, length } = batch;
    const feeds: Record<string, Value> = {
      tokens: { data: batch.tokens, shape: [rows, length] },
      positions: { data: batch.positions, shape: [rows, length] },
      mask: { data: batch.mask, shape: [rows, 1, length, length] },
      predictors: { data: batch.predictors, shape: [batch.predictors.length] },
      targets: { data: batch.targets, shape: [batch.targets.length, 1] },
      inverseTemperature: { data: Float32Array.of(1 / temperature), shape: [1] },
    };
    for (const [name, data] of parameters) feeds[name] = { data, shape: this.#shapes.get(name) ?? [] };
    return feeds;
  }
}

/** Inputs and sizes as in `PackedBatch`: B rows, T tokens a row, M scored tokens; only their hidden states meet the vocabulary. */
function trainingGraph(config: ModelConfig, { backward }: { readonly backward: boolean }): Graph {
  const g = new Graph();
  const tokens = g.input("tokens", ["B", "T"], "int32");
  const positions = g.input("positions", ["B", "T"], "int64");
  const mask = g.input("mask", ["B", 1, "T", "T"]);
  const predictors = g.input("predictors", ["M"], "int32");
  const targets = g.input("targets", ["M", 1], "int32");
  const inverseTemperature = g.input("inverseTemperature", [1]);
  const parameters = new Map<string, Tensor>();
  for (const [name, shape] of parameterShapes(config)) parameters.set(name, g.input(name, shape));
  const weight = parametersOf(parameters);

  const scale = attentionScale(config);
  const hidden = decoder(g, config, weight, { tokens, positions }, (_layer, q, k, v) => g.attention(q, k, v, mask, scale));
  const scored = g.gather(g.reshape(hidden, ["B*T", config.hiddenSize]), predictors);
  const logits = g.mul(unembed(g, config, weight, scored), inverseTemperature);
  const logprobs = g.selectLogprobs(logits, targets);
  g.output("logprobs", logprobs);
  if (backward) {
    const weights = g.input("weights", ["M", 1]);
    const names = [...parameters.keys()];
    const gradients = differentiate(g, logprobs, weights, [...parameters.values()]);
    gradients.forEach((gradient, i) => {
      g.output(gradientOf(names[i]), gradient);
    });
  }
  return g;
}

function addTo(sum: Float32Array | undefined, addend: Float32Array): void {
  if (sum?.length !== addend.length) throw new RangeError("a gradient's size differs from its parameter's");
  for (let i = 0; i < addend.length; i++) sum[i] += addend[i];
}
