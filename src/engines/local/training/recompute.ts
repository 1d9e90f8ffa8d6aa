import { differentiate } from "../graph/gradients.ts";
import { Graph, type Tensor } from "../graph/graph.ts";
import { type FloatValue, Session, type Value } from "../graph/onnx.ts";
import type { SessionOptions } from "../machine/device.ts";
import type { Arrays } from "../model/arrays.ts";
import type { Head } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { attentionScale, decoderLayer, parametersOf, rotation } from "../model/transformer.ts";
import type { PackedBatch } from "./packing.ts";
import {
  GradientSums,
  gradientOf,
  maskInput,
  numbersOf,
  pick,
  positionsInput,
  queryFeeds,
  queryInputs,
  type TrainableModel,
  type TrainingGraphOptions,
  tokenFeeds,
  weightsOf,
} from "./training-graph.ts";

/** Bytes of one matrix of logits: as many scored tokens meet the head at a time. A backward pass holds about five. */
const logitBytes = 128 * 2 ** 20;

const embedding = "model.embed_tokens.weight";

export interface RecomputingOptions extends TrainingGraphOptions {
  /** Scored tokens that meet the head at a time; decided by the vocabulary if left out. */
  readonly pieceTokens?: number;
}

/**
 * What `TrainingGraph` computes, in the memory of one layer (Chen et al., arXiv:1604.06174): only the inputs of the layers are kept,
 * and the backward half of each layer computes its forward half again. All layers have the same shapes and weights are inputs, so
 * one session serves all but the last, whose queries are fewer; layer inputs are passed from run to run. The head meets the scored tokens
 * in pieces.
 */
export class RecomputingGraph implements TrainableModel {
  readonly #config: ModelConfig;
  readonly #head: Head;
  readonly #sessionOptions: SessionOptions;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #trained: ReadonlySet<string>;
  readonly #pieceTokens: number;
  readonly #parts = new Map<string, Promise<Part>>();
  /** Arrays by use, kept from run to run: new ones of this size would wait for the garbage collector. */
  readonly #arrays = new Map<string, Float32Array>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(config: ModelConfig, head: Head, { trained, pieceTokens, ...sessionOptions }: RecomputingOptions) {
    this.#config = config;
    this.#head = head;
    this.#sessionOptions = sessionOptions;
    this.#shapes = head.parameterShapes(config);
    this.#trained = new Set(trained ?? this.#shapes.keys());
    this.#pieceTokens = pieceTokens ?? Math.max(1, Math.floor(logitBytes / (4 * config.vocabSize)));
  }

  forward(batch: PackedBatch, parameters: Arrays, temperature = 1): Promise<Float32Array> {
    return this.#inTurn(() => this.#forward(batch, parameters, temperature));
  }

  backward(
    batch: PackedBatch,
    weights: readonly Float32Array[],
    parameters: Arrays,
    gradients: Arrays,
    temperature = 1,
    empty = false,
  ): Promise<Float32Array> {
    const sums = new GradientSums(gradients, empty);
    return this.#inTurn(() => this.#backward(batch, weights, parameters, sums, temperature));
  }

  async close(): Promise<void> {
    await this.#last;
    for (const part of this.#parts.values()) await (await part).session.close();
    this.#parts.clear();
    this.#arrays.clear();
  }

  /** One pass at a time: they share arrays. */
  #inTurn<T>(pass: () => Promise<T>): Promise<T> {
    const result = this.#last.then(pass);
    this.#last = result.catch(() => {});
    return result;
  }

  async #forward(batch: PackedBatch, parameters: Arrays, temperature: number): Promise<Float32Array> {
    const hidden = await this.#throughLayers(batch, parameters, (layer) => `hidden/${layer % 2}`);
    const numbers = new Float32Array(batch.targets.length);
    for (const piece of this.#pieces(batch)) await this.#readPiece(batch, piece, hidden, parameters, temperature, numbers);
    return numbers;
  }

  async #backward(
    batch: PackedBatch,
    weights: readonly Float32Array[],
    parameters: Arrays,
    gradients: GradientSums,
    temperature: number,
  ): Promise<Float32Array> {
    const { layers, hiddenSize } = this.#config;
    const inputOf = (layer: number) => `hidden/${layer}`;
    const hidden = await this.#throughLayers(batch, parameters, inputOf);

    const size = batch.tokens.length * hiddenSize;
    let adjoint = this.#array("adjoint/read", hidden.length).fill(0);
    const numbers = new Float32Array(batch.targets.length);
    for (const piece of this.#pieces(batch)) {
      const wanted = { weights, gradients, adjoint };
      await this.#readPiece(batch, piece, hidden, parameters, temperature, numbers, wanted);
    }

    const shape = [batch.rows, batch.length, hiddenSize];
    for (let layer = layers - 1; layer >= 0; layer--) {
      const { session, inputs, trained } = await this.#layer(layer, { backward: true });
      const below = this.#array(`adjoint/${layer % 2}`, size);
      const into: Record<string, FloatValue> = { [gradientOf("x")]: { data: below, shape } };
      for (const name of trained)
        into[gradientOf(name)] = this.#gradientTarget(gradients, inLayer(layer, name), name, this.#shapeInLayer(name));
      const x = this.#array(inputOf(layer), size);
      const upstream = { data: adjoint, shape: this.#shapeAfter(layer, batch) };
      const feeds = { ...this.#layerFeeds(batch, parameters, layer, x), upstream };
      await session.runInto(pick(feeds, inputs), into);
      for (const name of trained) gradients.add(inLayer(layer, name), into[gradientOf(name)].data);
      adjoint = below;
    }
    if (this.#trained.has(embedding)) addRows(gradients.filled(embedding), batch.tokens, adjoint, hiddenSize);
    return numbers;
  }

  /** @param arrayOf where to keep the input of each layer, and what comes out of the last [B·P·D] */
  async #throughLayers(batch: PackedBatch, parameters: Arrays, arrayOf: (layer: number) => string): Promise<Float32Array> {
    const { layers, hiddenSize } = this.#config;
    const size = batch.tokens.length * hiddenSize;
    let x = rowsOf(parametersOf(parameters)(embedding), batch.tokens, this.#array(arrayOf(0), size), hiddenSize);
    for (let layer = 0; layer < layers; layer++) {
      const { session, inputs } = await this.#layer(layer, { backward: false });
      const shape = this.#shapeAfter(layer, batch);
      const y = this.#array(arrayOf(layer + 1), sizeOf(shape));
      const feeds = this.#layerFeeds(batch, parameters, layer, x);
      await session.runInto(pick(feeds, inputs), { y: { data: y, shape } });
      x = y;
    }
    return x;
  }

  /** What the head reads off some of the scored tokens; with `wanted`, also its part of the gradients. */
  async #readPiece(
    batch: PackedBatch,
    { start, end }: Piece,
    hidden: Float32Array,
    parameters: Arrays,
    temperature: number,
    numbers: Float32Array,
    wanted?: { weights: readonly Float32Array[]; gradients: GradientSums; adjoint: Float32Array },
  ): Promise<void> {
    const { hiddenSize } = this.#config;
    const { session, inputs, trained } = await this.#part(wanted ? "head, backward" : "head", () =>
      this.#headGraph({ backward: wanted !== undefined }),
    );
    const predictors = batch.predictors.subarray(start, end);
    const count = end - start;
    const x = rowsOf(hidden, predictors, this.#array("scored", count * hiddenSize), hiddenSize);
    const feeds: Record<string, Value> = {
      x: { data: x, shape: [count, hiddenSize] },
      targets: { data: batch.targets.subarray(start, end), shape: [count, 1] },
      inverseTemperature: { data: Float32Array.of(1 / temperature), shape: [1] },
    };
    for (const name of inputs) {
      const data = parameters.get(name);
      if (data !== undefined) feeds[name] = { data, shape: this.#shapes.get(name) ?? [], constant: !this.#trained.has(name) };
    }
    const into: Record<string, FloatValue> = { [numbersOf(0)]: { data: numbers.subarray(start, end), shape: [count, 1] } };
    if (wanted) {
      wanted.weights.forEach((data, output) => {
        feeds[weightsOf(output)] = { data: data.subarray(start, end), shape: [count, 1] };
      });
      into[gradientOf("x")] = { data: this.#array("scored adjoint", count * hiddenSize), shape: [count, hiddenSize] };
      for (const name of trained)
        into[gradientOf(name)] = this.#gradientTarget(wanted.gradients, name, name, this.#shapes.get(name) ?? []);
    }
    await session.runInto(pick(feeds, inputs), into);
    if (!wanted) return;
    addRows(wanted.adjoint, predictors, into[gradientOf("x")].data, hiddenSize);
    for (const name of trained) wanted.gradients.add(name, into[gradientOf(name)].data);
  }

  #pieces({ targets }: PackedBatch): Piece[] {
    const count = Math.ceil(targets.length / this.#pieceTokens);
    return Array.from({ length: count }, (_, i) => ({
      start: Math.floor((i * targets.length) / count),
      end: Math.floor(((i + 1) * targets.length) / count),
    }));
  }

  #layerFeeds(batch: PackedBatch, parameters: Arrays, layer: number, x: Float32Array): Record<string, Value> {
    const { rows, length } = batch;
    const feeds: Record<string, Value> = {
      ...tokenFeeds(batch),
      ...queryFeeds(batch),
      x: { data: x, shape: [rows, length, this.#config.hiddenSize] },
    };
    const arrayOf = parametersOf(parameters);
    for (const name of this.#namesInLayer()) {
      const constant = !this.#trained.has(inLayer(layer, name));
      feeds[name] = { data: arrayOf(inLayer(layer, name)), shape: this.#shapeInLayer(name), constant };
    }
    return feeds;
  }

  #layer(layer: number, { backward }: { readonly backward: boolean }): Promise<Part> {
    const last = layer === this.#config.layers - 1;
    const name = `${last ? "last layer" : "layer"}${backward ? ", backward" : ""}`;
    return this.#part(name, () => this.#layerGraph({ backward, last }));
  }

  /** Of what comes out of a layer. */
  #shapeAfter(layer: number, { rows, length, queryCount }: PackedBatch): number[] {
    const { layers, hiddenSize } = this.#config;
    return [rows, layer === layers - 1 ? queryCount : length, hiddenSize];
  }

  #layerGraph({ backward, last }: { readonly backward: boolean; readonly last: boolean }): PartGraph {
    const g = new Graph();
    const x = g.input("x", ["B", "T", this.#config.hiddenSize]);
    const positions = positionsInput(g);
    const read = last ? queryInputs(g) : undefined;
    const mask = read?.queryMask ?? maskInput(g);
    const parameters = new Map<string, Tensor>();
    for (const name of this.#namesInLayer()) parameters.set(name, g.input(name, this.#shapeInLayer(name)));
    const weight = parametersOf(parameters);
    const scale = attentionScale(this.#config);
    const attend = (q: Tensor, k: Tensor, v: Tensor) => g.attention(q, k, v, mask, scale);
    const rotate = rotation(g, this.#config);
    const y = decoderLayer(g, this.#config, weight, { x, positions }, rotate, attend, { queries: read?.queries });
    if (!backward) {
      g.output("y", y);
      return { graph: g, trained: [] };
    }
    const trained = this.#namesInLayer().filter((name) => this.#trained.has(inLayer(0, name)));
    const upstream = g.input("upstream", y.shape);
    this.#outputGradients(g, [y], [upstream], trained, [x, ...trained.map(weight)]);
    return { graph: g, trained };
  }

  /** Parameters are inputs as far as the head asks for them. */
  #headGraph({ backward }: { readonly backward: boolean }): PartGraph {
    const g = new Graph();
    const x = g.input("x", ["M", this.#config.hiddenSize]);
    const parameters = new Map<string, Tensor>();
    const weight = (name: string) => {
      const tensor = parameters.get(name) ?? g.input(name, this.#shapes.get(name) ?? []);
      parameters.set(name, tensor);
      return tensor;
    };
    const numbers = this.#head.read(g, this.#config, weight, g.rmsNormalise(x, this.#config.rmsNormEps));
    g.output(numbersOf(0), numbers[0]);
    if (!backward) return { graph: g, trained: [] };
    const trained = [...parameters.keys()].filter((name) => this.#trained.has(name));
    const weights = numbers.map((_, output) => g.input(weightsOf(output), ["M", 1]));
    this.#outputGradients(g, numbers, weights, trained, [x, ...trained.map(weight)]);
    return { graph: g, trained };
  }

  #outputGradients(
    g: Graph,
    of: readonly Tensor[],
    seeds: readonly Tensor[],
    trained: readonly string[],
    wrt: readonly Tensor[],
  ) {
    differentiate(g, of, seeds, wrt).forEach((gradient, i) => {
      g.output(gradientOf(["x", ...trained][i]), gradient);
    });
  }

  #part(name: string, make: () => PartGraph): Promise<Part> {
    const open = async () => {
      const { graph, trained } = make();
      // A layer's memory is wanted again at once. The head's is as much, and serves a few runs of a pass.
      const session = await Session.open(graph, { ...this.#sessionOptions, keepMemory: name.startsWith("layer") });
      return { session, inputs: graph.inputs.map((input) => input.name), trained };
    };
    const part = this.#parts.get(name) ?? open();
    this.#parts.set(name, part);
    return part;
  }

  #namesInLayer(): string[] {
    const prefix = inLayer(0, "");
    return [...this.#shapes.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  }

  #shapeInLayer(name: string): readonly number[] {
    return this.#shapes.get(inLayer(0, name)) ?? [];
  }

  /** @param use of the array that is added to the sum, which layers share */
  #gradientTarget(gradients: GradientSums, name: string, use: string, shape: readonly number[]): FloatValue {
    return { data: gradients.target(name, (length) => this.#array(gradientOf(use), length)), shape };
  }

  #array(use: string, length: number): Float32Array {
    const known = this.#arrays.get(use);
    if (known !== undefined && known.length >= length) return known.subarray(0, length);
    const array = new Float32Array(length);
    this.#arrays.set(use, array);
    return array;
  }
}

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** Scored tokens from `start` up to, not including, `end`. */
interface Piece {
  readonly start: number;
  readonly end: number;
}

interface PartGraph {
  readonly graph: Graph;
  /** Parameters that get gradients, by the names of the graph's inputs. */
  readonly trained: readonly string[];
}

interface Part {
  readonly session: Session;
  readonly inputs: readonly string[];
  readonly trained: readonly string[];
}

function inLayer(layer: number, name: string): string {
  return `model.layers.${layer}.${name}`;
}

/** Copies the rows of a matrix that `ids` name, one after another. */
function rowsOf(matrix: Float32Array, ids: Int32Array, into: Float32Array, width: number): Float32Array {
  ids.forEach((id, i) => {
    into.set(matrix.subarray(id * width, (id + 1) * width), i * width);
  });
  return into;
}

/** Adds rows to those of a matrix that `ids` name; ids may repeat. */
function addRows(matrix: Float32Array, ids: Int32Array, rows: Float32Array, width: number): void {
  ids.forEach((id, i) => {
    for (let j = 0; j < width; j++) matrix[id * width + j] += rows[i * width + j];
  });
}

/** Numbers that a layer's backward half needs of each token of a row: residuals and norms; queries, keys and values; gate, up and what follows; attention. */
export function activationsOfToken(
  { hiddenSize, intermediateSize, heads, kvHeads, headDim }: ModelConfig,
  length: number,
): number {
  return 6 * hiddenSize + 3 * (heads + 2 * kvHeads) * headDim + 5 * intermediateSize + heads * length;
}

/**
 * About what a session over the whole model holds at its peak, in bytes. Its backward half needs every layer's activations, and gives
 * the gradients of all `trained` parameters at once: inside and as a copy.
 */
export function wholeGraphBytes(config: ModelConfig, batch: PackedBatch, trained: Arrays): number {
  const { rows, length, queryCount, targets } = batch;
  const ofLayers = rows * ((config.layers - 1) * length + queryCount) * activationsOfToken(config, length);
  const ofLogits = 4 * targets.length * config.vocabSize;
  const gradients = [...trained.values()].reduce((sum, data) => sum + data.length, 0);
  return 4 * (ofLayers + ofLogits + 2 * gradients);
}
