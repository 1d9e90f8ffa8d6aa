import { type FloatValue, Session, type Value } from "../graph/onnx.ts";
import type { SessionOptions } from "../machine/device.ts";
import type { Arrays } from "../model/arrays.ts";
import type { Head } from "../model/heads.ts";
import { dequantise, type Int8Matrices } from "../model/int8.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { rotationFeeds } from "../model/rotation.ts";
import { type Projection, parametersOf, typeOf } from "../model/transformer.ts";
import { AttentionPass } from "./attention-pass.ts";
import { type FlatBatch, flatten } from "./blocks.ts";
import { type Convolution, convolve, convolveBackward } from "./conv-pass.ts";
import { type PartContext, type PartName, partGraph, upstreamOf } from "./layer-graphs.ts";
import { evenSize, type PackedBatch } from "./packing.ts";
import { ScratchArrays } from "./scratch.ts";
import {
  GradientSums,
  gradientOf,
  numbersOf,
  pick,
  type TrainableModel,
  type TrainingGraphOptions,
  weightsOf,
} from "./training-graph.ts";

/** Bytes of one matrix of logits: as many scored tokens meet the head at a time. A backward pass holds about five. */
const logitBytes = 128 * 2 ** 20;
/** Bytes of the activations of the tokens that pass through a part of a layer at a time. */
export const pieceBytes = 96 * 2 ** 20;
/** Bytes of one block's scores. A backward pass holds about four such. */
export const scoreBytes = 24 * 2 ** 20;

const embedding = "model.embed_tokens.weight";

export interface RecomputingOptions extends TrainingGraphOptions {
  /** Tokens that pass through a part of a layer, and through the head, at a time; decided by their sizes if left out. */
  readonly pieceTokens?: number;
  /** Queries of a block of attention; decided by the row's length if left out. */
  readonly blockQueries?: number;
  /** Frozen matrices of the layers in 8 bits: one layer's at a time are float32. */
  readonly int8?: Int8Matrices;
}

/**
 * Computes what `TrainingGraph` computes, in memory that is linear in the number of tokens. Only the inputs of the layers and what
 * attention made of them are kept, and the backward half of each layer computes the rest again (Chen et al., arXiv:1604.06174).
 * Attention meets the queries in blocks, each with the keys that it sees and no others (as in Dao et al., arXiv:2205.14135, but
 * with whole lines of scores), so neither scores nor masks of a whole row are ever held, and nothing is computed between branches
 * of a trie or for later tokens. The other parts of a layer, and the head, meet the tokens in pieces, one behind another without
 * padding.
 */
export class RecomputingGraph implements TrainableModel {
  readonly #config: ModelConfig;
  readonly #sessionOptions: SessionOptions;
  readonly #shapes: ReadonlyMap<string, readonly number[]>;
  readonly #trained: ReadonlySet<string>;
  readonly #options: Pick<RecomputingOptions, "pieceTokens" | "blockQueries">;
  readonly #parts = new Map<string, Promise<Part>>();
  readonly #arrays = new ScratchArrays();
  readonly #attention: AttentionPass;
  readonly #int8: Int8Matrices;
  /** Which layer's matrix an array of float32 holds, by the name inside of the layer. */
  readonly #dequantised = new Map<string, string>();
  readonly #head: Head;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    config: ModelConfig,
    head: Head,
    { trained, pieceTokens, blockQueries, int8 = new Map(), ...options }: RecomputingOptions,
  ) {
    this.#config = config;
    this.#head = head;
    this.#int8 = int8;
    this.#sessionOptions = options;
    this.#shapes = head.parameterShapes(config);
    this.#trained = new Set(trained ?? this.#shapes.keys());
    this.#options = { pieceTokens, blockQueries };
    this.#attention = new AttentionPass(config, this.#arrays, (backward) => this.#part({ part: "attention" }, backward));
  }

  forward(batch: PackedBatch, parameters: Arrays, temperature = 1): Promise<Float32Array> {
    return this.#inTurn(async () => {
      const flat = this.#flatten(batch);
      const last = await this.#throughLayers(flat, parameters, (layer) => layer % 2);
      const numbers = new Float32Array(batch.targets.length);
      await this.#read(batch, flat, last, parameters, temperature, numbers);
      return numbers;
    });
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
    this.#dequantised.clear();
  }

  /** One pass at a time: they share arrays. */
  #inTurn<T>(pass: () => Promise<T>): Promise<T> {
    const result = this.#last.then(pass);
    this.#last = result.catch(() => {});
    return result;
  }

  #flatten(batch: PackedBatch): FlatBatch {
    return flatten(batch, (length) => this.#options.blockQueries ?? blockQueries(this.#config, length), this.#config.window);
  }

  async #backward(
    batch: PackedBatch,
    weights: readonly Float32Array[],
    parameters: Arrays,
    gradients: GradientSums,
    temperature: number,
  ): Promise<Float32Array> {
    const { layers, hiddenSize, embeddingScale = 1 } = this.#config;
    const flat = this.#flatten(batch);
    const last = await this.#throughLayers(flat, parameters, (layer) => layer);
    const numbers = new Float32Array(batch.targets.length);
    let adjoint = this.#arrays.get("adjoint/read", last.length).fill(0);
    await this.#read(batch, flat, last, parameters, temperature, numbers, { weights, gradients, adjoint });
    for (let layer = layers - 1; layer >= 0; layer--)
      adjoint = await this.#layerBackward(flat, parameters, gradients, layer, adjoint);
    if (this.#trained.has(embedding)) {
      scale(adjoint, embeddingScale);
      addRows(gradients.filled(embedding), flat.tokens, adjoint, hiddenSize);
    }
    return numbers;
  }

  /**
   * Keeps the inputs of all layers, and what attention made of them, in arrays by the layer's `slot`.
   * @returns what the last layer makes of the tokens that are read, [R, D]
   */
  async #throughLayers(flat: FlatBatch, parameters: Arrays, slot: (layer: number) => number): Promise<Float32Array> {
    const { layers, hiddenSize, embeddingScale = 1 } = this.#config;
    const input = this.#arrays.get(`hidden/${slot(0)}`, flat.tokens.length * hiddenSize);
    rowsOf(parametersOf(parameters)(embedding), flat.tokens, input, hiddenSize);
    scale(input, embeddingScale);
    let x = input;
    for (let layer = 0; layer < layers; layer++) {
      const { queries, blocks } = this.#queriesOf(flat, layer);
      const { q, k, v } = await this.#project(flat, parameters, layer, x);
      const o = this.#arrays.get(`attended/${slot(layer)}`, queries.length * this.#width("q", layer));
      const convolution = this.#convolution(flat, queries, parameters, layer);
      if (convolution === undefined) await this.#attention.forward(blocks, { q, k, v }, o);
      else convolve(convolution, q, k, o);
      const read = this.#readRows(flat, layer, x);
      const y = this.#arrays.get(layer === layers - 1 ? "read" : `hidden/${slot(layer + 1)}`, queries.length * hiddenSize);
      const part = await this.#part({ part: "after", type: typeOf(this.#config, layer) }, false);
      for (const { start, end } of this.#pieces(queries.length)) {
        const feeds = {
          ...this.#parameterFeeds(part, parameters, layer),
          x: this.#rows(read, start, end, [hiddenSize]),
          o: this.#rows(o, start, end, this.#headShape("q", layer)),
        };
        await part.session.runInto(feeds, { y: this.#rows(y, start, end, [hiddenSize]) });
      }
      x = y;
    }
    return x;
  }

  /** @returns queries [·, H, size] of the tokens that are read, and keys and values [N, Hk, size] */
  async #project(flat: FlatBatch, parameters: Arrays, layer: number, x: Float32Array): Promise<Projected> {
    const made: { -readonly [Name in keyof Projected]?: Float32Array } = {};
    for (const { names, ...of } of this.#projections(flat, layer, x)) {
      const { input, positions } = of;
      const part = await this.#part({ part: "projections", names, type: typeOf(this.#config, layer) }, false);
      for (const name of names) made[name] = this.#arrays.get(name, positions.length * this.#width(name, layer));
      for (const { start, end } of this.#pieces(positions.length)) {
        const into = names.map(
          (name) => [name, this.#rows(made[name] ?? input, start, end, this.#headShape(name, layer))] as const,
        );
        await part.session.runInto(this.#projectionFeeds(part, parameters, layer, of, start, end), Object.fromEntries(into));
      }
    }
    return { v: new Float32Array(), ...made } as Projected;
  }

  /** @param adjoint of what the layer makes @returns that of its input */
  async #layerBackward(
    flat: FlatBatch,
    parameters: Arrays,
    gradients: GradientSums,
    layer: number,
    adjoint: Float32Array,
  ): Promise<Float32Array> {
    const { hiddenSize } = this.#config;
    const { queries, blocks } = this.#queriesOf(flat, layer);
    const x = this.#arrays.get(`hidden/${layer}`, flat.tokens.length * hiddenSize);
    const below = this.#arrays.get(`adjoint/${layer % 2}`, x.length).fill(0);
    const o = this.#arrays.get(`attended/${layer}`, queries.length * this.#width("q", layer));
    const ofO = this.#arrays.get("adjoint/attended", o.length);

    const read = this.#readRows(flat, layer, x);
    const ofRead = this.#arrays.get("adjoint/x", read.length);
    const after = await this.#part({ part: "after", type: typeOf(this.#config, layer) }, true);
    for (const { start, end } of this.#pieces(queries.length)) {
      const feeds = {
        ...this.#parameterFeeds(after, parameters, layer),
        x: this.#rows(read, start, end, [hiddenSize]),
        o: this.#rows(o, start, end, this.#headShape("q", layer)),
        [upstreamOf("y")]: this.#rows(adjoint, start, end, [hiddenSize]),
      };
      await this.#runBackward(after, layer, gradients, feeds, {
        [gradientOf("x")]: this.#rows(ofRead, start, end, [hiddenSize]),
        [gradientOf("o")]: this.#rows(ofO, start, end, this.#headShape("q", layer)),
      });
    }
    addRows(below, queries, ofRead, hiddenSize);

    const { q, k, v } = await this.#project(flat, parameters, layer, x);
    const adjoints = {
      q: this.#arrays.get("adjoint/q", q.length),
      k: this.#arrays.get("adjoint/k", k.length),
      v: this.#arrays.get("adjoint/v", v.length),
    };
    const convolution = this.#convolution(flat, queries, parameters, layer);
    if (convolution === undefined) await this.#attention.backward(blocks, { q, k, v }, o, ofO, adjoints);
    else {
      const name = nameIn(layer, convolutionWeight);
      const ofWeight = this.#trained.has(name) ? gradients.filled(name) : undefined;
      convolveBackward(convolution, q, k, { o: ofO, c: adjoints.q, u: adjoints.k, weight: ofWeight });
    }

    for (const { names, ...of } of this.#projections(flat, layer, x)) {
      const { input, positions, tokens } = of;
      const part = await this.#part({ part: "projections", names, type: typeOf(this.#config, layer) }, true);
      const ofInput = this.#arrays.get("adjoint/x", input.length);
      for (const { start, end } of this.#pieces(positions.length)) {
        const feeds = this.#projectionFeeds(part, parameters, layer, of, start, end);
        for (const name of names) feeds[upstreamOf(name)] = this.#rows(adjoints[name], start, end, this.#headShape(name, layer));
        await this.#runBackward(part, layer, gradients, feeds, {
          [gradientOf("x")]: this.#rows(ofInput, start, end, [hiddenSize]),
        });
      }
      addRows(below, tokens, ofInput, hiddenSize);
    }
    return below;
  }

  /** Computes what the head reads off the scored tokens; with `wanted`, also its part of the gradients. */
  async #read(
    batch: PackedBatch,
    flat: FlatBatch,
    hidden: Float32Array,
    parameters: Arrays,
    temperature: number,
    numbers: Float32Array,
    wanted?: { weights: readonly Float32Array[]; gradients: GradientSums; adjoint: Float32Array },
  ): Promise<void> {
    const { hiddenSize, vocabSize } = this.#config;
    const part = await this.#part({ part: "head" }, wanted !== undefined);
    const most = this.#options.pieceTokens ?? Math.max(1, Math.floor(logitBytes / (4 * vocabSize)));
    for (const { start, end } of piecesOf(batch.targets.length, most)) {
      const predictors = flat.predictors.subarray(start, end);
      const count = end - start;
      const x = rowsOf(hidden, predictors, this.#arrays.get("scored", count * hiddenSize), hiddenSize);
      const feeds: Record<string, Value> = {
        ...this.#parameterFeeds(part, parameters),
        x: { data: x, shape: [count, hiddenSize] },
        targets: { data: batch.targets.subarray(start, end), shape: [count, 1] },
        inverseTemperature: { data: Float32Array.of(1 / temperature), shape: [1] },
      };
      const into: Record<string, FloatValue> = { [numbersOf(0)]: { data: numbers.subarray(start, end), shape: [count, 1] } };
      if (wanted === undefined) {
        await part.session.runInto(pick(feeds, part.inputs), into);
        continue;
      }
      wanted.weights.forEach((data, output) => {
        feeds[weightsOf(output)] = { data: data.subarray(start, end), shape: [count, 1] };
      });
      const ofX = this.#arrays.get("scored adjoint", count * hiddenSize);
      into[gradientOf("x")] = { data: ofX, shape: [count, hiddenSize] };
      await this.#runBackward(part, undefined, wanted.gradients, pick(feeds, part.inputs), into);
      addRows(wanted.adjoint, predictors, ofX, hiddenSize);
    }
  }

  /** Runs a backward half and adds the gradients of the part's parameters. @param layer undefined for the head */
  async #runBackward(
    { session, trained }: Part,
    layer: number | undefined,
    gradients: GradientSums,
    feeds: Readonly<Record<string, Value>>,
    activations: Readonly<Record<string, FloatValue>>,
  ): Promise<void> {
    const into: Record<string, FloatValue> = { ...activations };
    for (const name of trained) {
      const data = gradients.target(nameIn(layer, name), (length) => this.#arrays.get(gradientOf(name), length));
      into[gradientOf(name)] = { data, shape: this.#shapes.get(nameIn(layer, name)) ?? [] };
    }
    await session.runInto(feeds, into);
    for (const name of trained) gradients.add(nameIn(layer, name), into[gradientOf(name)].data);
  }

  /** In the last layer only the tokens that are read are queries, and only their own path is computed behind attention. */
  #queriesOf(flat: FlatBatch, layer: number) {
    const { all, read } = typeOf(this.#config, layer) === "sliding" ? flat.windowBlocks : flat.blocks;
    if (layer === this.#config.layers - 1) return { queries: flat.reads, blocks: read };
    return { queries: this.#arrays.indices(flat.tokens.length), blocks: all };
  }

  /** The rows of a layer's input that are queries. */
  #readRows(flat: FlatBatch, layer: number, x: Float32Array): Float32Array {
    if (layer < this.#config.layers - 1) return x;
    const { hiddenSize } = this.#config;
    return rowsOf(x, flat.reads, this.#arrays.get("read input", flat.reads.length * hiddenSize), hiddenSize);
  }

  /** Returns what is projected in a layer: of which rows, at which positions. */
  #projections(flat: FlatBatch, layer: number, x: Float32Array) {
    const rotations = rotationFeeds(this.#config, flat.tokens.length); // no position is beyond the number of tokens
    const all = { input: x, positions: flat.positions, tokens: this.#arrays.indices(flat.tokens.length), rotations };
    const convolves = typeOf(this.#config, layer) === "conv";
    const [whole, others]: readonly Projection[][] = convolves
      ? [["q", "k"], ["k"]]
      : [
          ["q", "k", "v"],
          ["k", "v"],
        ];
    if (layer < this.#config.layers - 1) return [{ names: whole, ...all }];
    const read = { input: this.#readRows(flat, layer, x), positions: flat.readPositions, tokens: flat.reads, rotations };
    return [
      { names: ["q"] satisfies Projection[], ...read },
      { names: others, ...all },
    ];
  }

  #projectionFeeds(
    part: Part,
    parameters: Arrays,
    layer: number,
    { input, positions, rotations }: { input: Float32Array; positions: BigInt64Array; rotations: Record<string, Value> },
    start: number,
    end: number,
  ): Record<string, Value> {
    const feeds = {
      ...this.#parameterFeeds(part, parameters, layer),
      x: this.#rows(input, start, end, [this.#config.hiddenSize]),
      positions: { data: positions.subarray(start, end), shape: [1, end - start] },
      ...rotations,
    };
    // Values are not rotated.
    return pick(
      feeds,
      part.inputs.filter((name) => name in feeds),
    );
  }

  #parameterFeeds({ inputs }: Part, parameters: Arrays, layer?: number): Record<string, Value> {
    const feeds: Record<string, Value> = {};
    for (const name of inputs) {
      const whole = nameIn(layer, name);
      const data = parameters.get(whole) ?? this.#dequantise(name, whole);
      if (data !== undefined) feeds[name] = { data, shape: this.#shapes.get(whole) ?? [], constant: !this.#trained.has(whole) };
    }
    return feeds;
  }

  /** In float32, until another layer's is asked for. @returns undefined for what is not in 8 bits */
  #dequantise(name: string, whole: string): Float32Array | undefined {
    const matrix = this.#int8.get(whole);
    if (matrix === undefined) return undefined;
    const into = this.#arrays.get(`dequantised/${name}`, matrix.outputs * matrix.inputs);
    if (this.#dequantised.get(name) !== whole) dequantise(matrix, into);
    this.#dequantised.set(name, whole);
    return into;
  }

  /** Tokens from `start` up to, not including, `end` of an array that holds them one after another. */
  #rows(array: Float32Array, start: number, end: number, shape: readonly number[]): FloatValue {
    const width = shape.reduce((product, size) => product * size, 1);
    return { data: array.subarray(start * width, end * width), shape: [1, end - start, ...shape] };
  }

  #pieces(count: number): readonly Piece[] {
    const { pieceTokens = evenSize(Math.max(1, Math.floor(pieceBytes / (4 * activationsOfToken(this.#config, 0))))) } =
      this.#options;
    return piecesOf(count, pieceTokens);
  }

  #part(name: PartName, backward: boolean): Promise<Part> {
    const of = [name.part, "type" in name ? name.type : "", "names" in name ? name.names.join() : "", backward ? "backward" : ""];
    const key = of.join(" ");
    const open = async () => {
      const { graph, trained } = partGraph(this.#partContext(name), name, backward);
      // A layer's memory is wanted again at once. The head's is as much, and serves a few runs of a pass.
      const session = await Session.open(graph, { ...this.#sessionOptions, keepMemory: name.part !== "head" });
      return { session, inputs: graph.inputs.map((input) => input.name), trained };
    };
    const part = this.#parts.get(key) ?? open();
    this.#parts.set(key, part);
    return part;
  }

  /** A part's parameters have the shapes of the first layer of its type. */
  #partContext(name: PartName): PartContext {
    const { layerTypes } = this.#config;
    const layer = name.part === "head" ? undefined : "type" in name && layerTypes ? layerTypes.indexOf(name.type) : 0;
    return {
      config: this.#config,
      head: this.#head,
      shapeOf: (parameter) => this.#shapes.get(nameIn(layer, parameter)) ?? [],
      isTrained: (parameter) => this.#trained.has(nameIn(layer, parameter)),
    };
  }

  #width(name: keyof Projected, layer: number): number {
    const [count, size] = this.#headShape(name, layer);
    return count * size;
  }

  /** A convolution has one head of gates and one of values, and nothing else. */
  #headShape(name: keyof Projected, layer: number): readonly [number, number] {
    const { heads, kvHeads, headDim, hiddenSize } = this.#config;
    if (typeOf(this.#config, layer) === "conv") return [name === "v" ? 0 : 1, hiddenSize];
    return [name === "q" ? heads : kvHeads, headDim];
  }

  /** @returns undefined for a layer of attention */
  #convolution({ parents }: FlatBatch, queries: Int32Array, parameters: Arrays, layer: number): Convolution | undefined {
    if (typeOf(this.#config, layer) !== "conv") return undefined;
    const weight = parametersOf(parameters)(nameIn(layer, convolutionWeight));
    return { parents, queries, weight, kernel: this.#config.convKernel ?? 1 };
  }
}

const convolutionWeight = "conv.conv.weight";

/** Queries, keys and values, token by token. */
export interface Projected {
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly v: Float32Array;
}

/** From `start` up to, not including, `end`. */
interface Piece {
  readonly start: number;
  readonly end: number;
}

export interface Part {
  readonly session: Session;
  readonly inputs: readonly string[];
  readonly trained: readonly string[];
}

function nameIn(layer: number | undefined, name: string): string {
  return layer === undefined ? name : `model.layers.${layer}.${name}`;
}

function piecesOf(total: number, most: number): readonly Piece[] {
  const count = Math.ceil(total / most);
  return Array.from({ length: count }, (_, i) => ({
    start: Math.floor((i * total) / count),
    end: Math.floor(((i + 1) * total) / count),
  }));
}

/** Queries of a block: its scores fill `scoreBytes`, but products of fewer rows than a matrix kernel wants are slow. */
export function blockQueries({ heads }: ModelConfig, length: number): number {
  return Math.min(256, Math.max(32, 8 * Math.floor(scoreBytes / (4 * 8 * heads * length))));
}

/** Copies the rows of a matrix that `ids` name, one after another. */
function rowsOf(matrix: Float32Array, ids: Int32Array, into: Float32Array, width: number): Float32Array {
  ids.forEach((id, i) => {
    into.set(matrix.subarray(id * width, (id + 1) * width), i * width);
  });
  return into;
}

function scale(values: Float32Array, factor: number): void {
  if (factor !== 1) for (let i = 0; i < values.length; i++) values[i] *= factor;
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

/** Bytes that are kept of each token through a pass layer by layer: the input of every layer, and what attention made of it. */
export function keptBytesOfToken({ layers, hiddenSize, heads, headDim }: ModelConfig): number {
  return 4 * layers * (hiddenSize + heads * headDim);
}

/** Bytes that one layer needs of each token beside that: queries, keys and values, and gradients of all that passes between its parts. */
export function layerBytesOfToken({ hiddenSize, heads, kvHeads, headDim }: ModelConfig): number {
  return 4 * (4 * hiddenSize + (3 * heads + 4 * kvHeads) * headDim);
}

/** Sizes of a batch: B rows of T tokens, P of which are read, and the scored tokens. */
export type BatchSize = Pick<PackedBatch, "rows" | "length" | "queryCount"> & { readonly targets: { readonly length: number } };

/**
 * About what a session over the whole model holds at its peak, in bytes. Its backward half needs every layer's activations, and gives
 * the gradients of all `trained` parameters at once: inside and as a copy.
 */
export function wholeGraphBytes(config: ModelConfig, batch: BatchSize, trained: Arrays): number {
  const { rows, length, queryCount, targets } = batch;
  const ofLayers = rows * ((config.layers - 1) * length + queryCount) * activationsOfToken(config, length);
  const ofLogits = 4 * targets.length * config.vocabSize;
  const gradients = [...trained.values()].reduce((sum, data) => sum + data.length, 0);
  return 4 * (ofLayers + ofLogits + 2 * gradients);
}
