import { differentiate } from "../graph/gradients.ts";
import { Graph } from "../graph/graph.ts";
import { type Feed, type FloatValue, Session, type Value } from "../graph/session.ts";
import type { Tensor } from "../graph/tensor.ts";
import type { SessionOptions } from "../machine/device.ts";
import { count, DeviceTensor } from "../machine/native/tensor.ts";
import { type Arrays, zerosOf } from "../model/arrays.ts";
import type { Head } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { rotationFeeds } from "../model/rotation.ts";
import { type Attend, attentionScale, decoder, type LookBack, parametersOf } from "../model/transformer.ts";
import { DeviceSums, type Gradients, sumsOf } from "./gradient-sums.ts";
import { masks } from "./masks.ts";
import type { PackedBatch } from "./packing.ts";
import type { Placed } from "./parameter-store.ts";

export const gradientOf = (name: string) => `gradient/${name}` as const;
export const numbersOf = (output: number) => `numbers/${output}`;
export const weightsOf = (output: number) => `weights/${output}`;

export interface TrainingGraphOptions extends SessionOptions {
  /** Names of the parameters that get gradients; all if left out. */
  readonly trained?: readonly string[];
}

/** A pass over one micro-batch: forward, and backward too where weights of the head's numbers are given. */
export interface Pass {
  readonly batch: PackedBatch;
  /** [M] for each number that the head reads: as many as there are choose the head. */
  readonly weights?: readonly Float32Array[];
  /** Temperature of log-probs; values have none. Default 1. */
  readonly temperature?: number;
}

/** A model whose head's numbers, and gradients of their weighted sum, can be computed. */
export interface TrainableModel {
  /** @returns the head's first number of each of the M scored tokens: log π, or V */
  forward(pass: Pass, parameters: Placed): Promise<Float32Array>;
  /**
   * Adds ∂(Σ_o Σ_m w_om·number_om)/∂θ to `gradients`, for every parameter that is trained.
   * @param empty whether `gradients` count as zeros, whatever they hold: what is written first need not be added then
   * @returns as `forward`
   */
  backward(pass: Pass, parameters: Placed, gradients: Gradients, empty?: boolean): Promise<Float32Array>;
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
  /** Kept from run to run: new arrays of this size would wait for the garbage collector. */
  #addends: Promise<Arrays> | undefined;
  #forward: Promise<Half> | undefined;
  #backward: Promise<Half> | undefined;

  constructor(config: ModelConfig, head: Head, { trained, ...sessionOptions }: TrainingGraphOptions) {
    this.#config = config;
    this.#head = head;
    this.#sessionOptions = sessionOptions;
    this.#shapes = head.parameterShapes(config);
    this.#trained = trained ?? [...this.#shapes.keys()];
  }

  async forward(pass: Pass, parameters: Placed): Promise<Float32Array> {
    const { session, inputs } = await (this.#forward ??= this.#open({ backward: false }));
    const numbers = numbersOf(0);
    return (await session.run(pick(this.#feeds(pass, parameters), inputs), [numbers]))[numbers];
  }

  async backward(pass: Pass, parameters: Placed, gradients: Gradients, empty = false): Promise<Float32Array> {
    const { batch, weights = [] } = pass;
    const { session, inputs } = await (this.#backward ??= this.#open({ backward: true }));
    const feeds = this.#feeds(pass, parameters);
    weights.forEach((data, output) => {
      feeds[weightsOf(output)] = { data, shape: [data.length, 1] };
    });
    const numbers = new Float32Array(batch.targets.length);
    const sums = sumsOf(gradients, empty);
    if (!empty && !(gradients instanceof DeviceSums))
      this.#addends ??= zerosOf(this.#trained.map((name) => [name, count(this.#shapes.get(name) ?? [])]));
    const addends = parametersOf((await this.#addends) ?? new Map<string, Float32Array>());
    const into: Record<string, FloatValue | DeviceTensor> = { [numbersOf(0)]: { data: numbers, shape: [numbers.length, 1] } };
    for (const name of this.#trained) {
      const target = sums.target(name, () => addends(name));
      into[gradientOf(name)] = shaped(target, this.#shapes.get(name));
    }
    await session.runInto(pick(feeds, inputs), into);
    await sums.add(this.#trained);
    return numbers;
  }

  async close(): Promise<void> {
    for (const half of [this.#forward, this.#backward]) await (await half)?.session.close();
    this.#forward = undefined;
    this.#backward = undefined;
    this.#addends = undefined;
  }

  async #open(half: { readonly backward: boolean }): Promise<Half> {
    const graph = trainingGraph(this.#config, this.#head, half.backward ? this.#trained : []);
    const session = await Session.open(graph, { ...this.#sessionOptions, planMemory: false });
    return { session, inputs: graph.inputs.map(({ name }) => name) };
  }

  /** All that a head may ask for. */
  #feeds({ batch, temperature = 1 }: Pass, parameters: Placed): Record<string, Feed> {
    const { rows, length, queryCount } = batch;
    const feeds: Record<string, Feed> = {
      tokens: { data: batch.tokens, shape: [rows, length] },
      positions: { data: batch.positions, shape: [rows, length] },
      queries: { data: batch.queries, shape: [rows, queryCount] },
      queryPositions: { data: batch.queryPositions, shape: [rows, queryCount] },
      ...masks.feeds(batch),
      predictors: { data: batch.predictors, shape: [batch.predictors.length] },
      targets: { data: batch.targets, shape: [batch.targets.length, 1] },
      inverseTemperature: { data: Float32Array.of(1 / temperature), shape: [1] },
      ...rotationFeeds(this.#config, length),
      ...(this.#config.convKernel !== undefined && lookBackFeeds(batch, this.#config.convKernel)),
    };
    const trained = new Set(this.#trained);
    for (const [name, placed] of parameters) feeds[name] = shaped(placed, this.#shapes.get(name), !trained.has(name));
    return feeds;
  }
}

/** A session and the names of what it takes. */
interface Half {
  readonly session: Session;
  readonly inputs: readonly string[];
}

/**
 * Inputs and sizes as in `PackedBatch`: B rows, T tokens a row of which P are read, M scored tokens.
 * @param trained names of the parameters that get gradients; of none, there is no backward half
 */
export function trainingGraph(config: ModelConfig, head: Head, trained: readonly string[]): Graph {
  const g = new Graph();
  const tokens = g.input("tokens", ["B", "T"], "int32");
  const positions = g.input("positions", ["B", "T"], "int64");
  const queries = { tokens: g.input("queries", ["B", "P"], "int32"), positions: g.input("queryPositions", ["B", "P"], "int64") };
  const maskOf = masks.build(g, config);
  const predictors = g.input("predictors", ["M"], "int32");
  const parameters = new Map<string, Tensor>();
  for (const [name, shape] of head.parameterShapes(config)) parameters.set(name, g.input(name, shape));
  const model = { g, config, weight: parametersOf(parameters) };

  const scale = attentionScale(config);
  const attend: Attend = (layer, q, k, v) => g.attention(q, k, v, maskOf(layer), scale);
  const hidden = decoder(model, { tokens, positions }, attend, { queries, lookBack: lookBackInputs(g, config) });
  const scored = g.gather(g.reshape(hidden, ["B*P", config.hiddenSize]), predictors);
  const numbers = head.read(model, scored);
  g.output(numbersOf(0), numbers[0]);
  if (trained.length > 0) {
    const weights = numbers.map((_, output) => g.input(weightsOf(output), ["M", 1]));
    const gradients = differentiate(g, numbers, weights, trained.map(model.weight));
    gradients.forEach((gradient, i) => {
      g.output(gradientOf(trained[i]), gradient);
    });
  }
  return g;
}

/** Looks back along the paths of tries: earlier tokens by flat index (row · T + token), and 0 for those that are not there. */
function lookBackInputs(g: Graph, { convKernel = 1, hiddenSize }: ModelConfig): LookBack {
  const inputs = Array.from({ length: convKernel - 1 }, (_, d) => ({
    tokens: g.input(`back${d + 1}`, ["B", "T"], "int32"),
    there: g.input(`there${d + 1}`, ["B", "T", 1]),
  }));
  return (_layer, u) => {
    const flat = g.reshape(u, ["B*T", hiddenSize]);
    return inputs.map(({ tokens, there }) => g.mul(g.gather(flat, tokens), there));
  };
}

function lookBackFeeds({ rows, length, tries }: PackedBatch, kernel: number): Record<string, Value> {
  const feeds: Record<string, Value> = {};
  for (let distance = 1; distance < kernel; distance++) {
    const tokens = new Int32Array(rows * length);
    const there = new Float32Array(rows * length);
    tries.forEach(({ parents }, row) => {
      parents.forEach((_, node) => {
        let ancestor = node;
        for (let step = 0; step < distance && ancestor >= 0; step++) ancestor = parents[ancestor];
        tokens[row * length + node] = row * length + Math.max(0, ancestor);
        there[row * length + node] = ancestor >= 0 ? 1 : 0;
      });
    });
    feeds[`back${distance}`] = { data: tokens, shape: [rows, length] };
    feeds[`there${distance}`] = { data: there, shape: [rows, length, 1] };
  }
  return feeds;
}

/** As a run takes it, or writes to it. @param constant whether an array keeps its numbers */
export function shaped(
  placed: Float32Array | DeviceTensor,
  shape: readonly number[] = [],
  constant = false,
): FloatValue | DeviceTensor {
  return placed instanceof DeviceTensor ? placed : { data: placed, shape, constant };
}

export function pick(feeds: Readonly<Record<string, Feed>>, names: readonly string[]): Record<string, Feed> {
  return Object.fromEntries(names.map((name) => [name, feeds[name]]));
}
