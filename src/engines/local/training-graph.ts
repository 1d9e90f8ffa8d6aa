import type { SessionOptions } from "./device.ts";
import { differentiate } from "./gradients.ts";
import { Graph, type Tensor } from "./graph.ts";
import type { Head } from "./heads.ts";
import type { ModelConfig } from "./model-config.ts";
import { Session, type Value } from "./onnx.ts";
import type { PackedBatch } from "./packing.ts";
import { attentionScale, decoder, parametersOf } from "./transformer.ts";

/** Arrays by Hugging Face parameter name. */
export type Arrays = ReadonlyMap<string, Float32Array>;

export const gradientOf = (name: string) => `gradient/${name}`;
export const numbersOf = (output: number) => `numbers/${output}`;
export const weightsOf = (output: number) => `weights/${output}`;

export interface TrainingGraphOptions extends SessionOptions {
  /** Names of the parameters that get gradients; all if left out. */
  readonly trained?: readonly string[];
}

/** A model whose head's numbers, and gradients of their weighted sum, can be computed. */
export interface TrainableModel {
  /**
   * @param temperature of log-probs; values have none
   * @returns the head's first number of each of the M scored tokens: log π, or V
   */
  forward(batch: PackedBatch, parameters: Arrays, temperature?: number): Promise<Float32Array>;
  /**
   * Adds ∂(Σ_o Σ_m w_om·number_om)/∂θ to `gradients`, for every parameter that is trained.
   * @param weights [M] for each number o that the head reads
   * @returns as `forward`
   */
  backward(
    batch: PackedBatch,
    weights: readonly Float32Array[],
    parameters: Arrays,
    gradients: Arrays,
    temperature?: number,
  ): Promise<Float32Array>;
  close(): Promise<void>;
}

/**
 * The model as a function of its parameters: what a head reads off the scored tokens, and gradients of the weighted sum of that.
 * Parameters are inputs, so that an optimiser step costs no new session. A half is prepared when it is first used.
 */
export class TrainingGraph implements TrainableModel {
  readonly #config: ModelConfig;
  readonly #head: Head;
  readonly #sessionOptions: SessionOptions;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #trained: readonly string[];
  #forward: Promise<Half> | undefined;
  #backward: Promise<Half> | undefined;

  constructor(config: ModelConfig, head: Head, { trained, ...sessionOptions }: TrainingGraphOptions) {
    this.#config = config;
    this.#head = head;
    this.#sessionOptions = sessionOptions;
    this.#shapes = head.parameterShapes(config);
    this.#trained = trained ?? [...this.#shapes.keys()];
  }

  async forward(batch: PackedBatch, parameters: Arrays, temperature = 1): Promise<Float32Array> {
    const { session, inputs } = await (this.#forward ??= this.#open({ backward: false }));
    const numbers = numbersOf(0);
    return (await session.run(pick(this.#feeds(batch, parameters, temperature), inputs), [numbers]))[numbers];
  }

  async backward(
    batch: PackedBatch,
    weights: readonly Float32Array[],
    parameters: Arrays,
    gradients: Arrays,
    temperature = 1,
  ): Promise<Float32Array> {
    const { session, inputs } = await (this.#backward ??= this.#open({ backward: true }));
    const names = this.#trained;
    const feeds = this.#feeds(batch, parameters, temperature);
    weights.forEach((data, output) => {
      feeds[weightsOf(output)] = { data, shape: [data.length, 1] };
    });
    const numbers = numbersOf(0);
    const results = await session.run(pick(feeds, inputs), [numbers, ...names.map(gradientOf)]);
    for (const name of names) addTo(gradients.get(name), results[gradientOf(name)]);
    return results[numbers];
  }

  async close(): Promise<void> {
    for (const half of [this.#forward, this.#backward]) await (await half)?.session.close();
    this.#forward = undefined;
    this.#backward = undefined;
  }

  async #open(half: { readonly backward: boolean }): Promise<Half> {
    const graph = trainingGraph(this.#config, this.#head, half.backward ? this.#trained : []);
    const session = await Session.open(graph, this.#sessionOptions);
    return { session, inputs: graph.inputs.map(({ name }) => name) };
  }

  /** All that a head may ask for. */
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
    const trained = new Set(this.#trained);
    for (const [name, data] of parameters)
      feeds[name] = { data, shape: this.#shapes.get(name) ?? [], constant: !trained.has(name) };
    return feeds;
  }
}

/** A session and the names of what it takes. */
interface Half {
  readonly session: Session;
  readonly inputs: readonly string[];
}

/**
 * Inputs and sizes as in `PackedBatch`: B rows, T tokens a row, M scored tokens; only the hidden states before these meet the head.
 * @param trained names of the parameters that get gradients; of none, there is no backward half
 */
function trainingGraph(config: ModelConfig, head: Head, trained: readonly string[]): Graph {
  const g = new Graph();
  const tokens = g.input("tokens", ["B", "T"], "int32");
  const positions = g.input("positions", ["B", "T"], "int64");
  const mask = g.input("mask", ["B", 1, "T", "T"]);
  const predictors = g.input("predictors", ["M"], "int32");
  const parameters = new Map<string, Tensor>();
  for (const [name, shape] of head.parameterShapes(config)) parameters.set(name, g.input(name, shape));
  const weight = parametersOf(parameters);

  const scale = attentionScale(config);
  const hidden = decoder(g, config, weight, { tokens, positions }, (_layer, q, k, v) => g.attention(q, k, v, mask, scale));
  const scored = g.gather(g.reshape(hidden, ["B*T", config.hiddenSize]), predictors);
  const numbers = head.read(g, config, weight, scored);
  g.output(numbersOf(0), numbers[0]);
  if (trained.length > 0) {
    const weights = numbers.map((_, output) => g.input(weightsOf(output), ["M", 1]));
    const gradients = differentiate(g, numbers, weights, trained.map(weight));
    gradients.forEach((gradient, i) => {
      g.output(gradientOf(trained[i]), gradient);
    });
  }
  return g;
}

export function pick(feeds: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
  return Object.fromEntries(names.map((name) => [name, feeds[name]]));
}

export function addTo(sum: Float32Array | undefined, addend: Float32Array): void {
  if (sum?.length !== addend.length) throw new RangeError("a gradient's size differs from its parameter's");
  for (let i = 0; i < addend.length; i++) sum[i] += addend[i];
}
