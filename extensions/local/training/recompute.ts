import type { Feed, FloatValue } from "../graph/session.ts";
import type { Provider } from "../machine/device.ts";
import type { Head } from "../model/heads.ts";
import { firstAdapted } from "../model/lora.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { rotationFeeds } from "../model/rotation.ts";
import { type Projection, parametersOf, typeOf } from "../model/transformer.ts";
import { attentionPass, type QueriesKeysValues } from "./attention-pass.ts";
import { type FlatBatch, flatten } from "./blocks.ts";
import { type Convolution, convolve, convolveBackward } from "./conv-pass.ts";
import { type GradientSums, type Gradients, sumsOf } from "./gradient-sums.ts";
import { headPass } from "./head-pass.ts";
import { upstreamOf } from "./layer-graphs.ts";
import { type LayerParts, type LayerPartsOptions, layerParts, nameIn, type Part } from "./layer-parts.ts";
import type { PackedBatch } from "./packing.ts";
import { arrayOf, type Placed, placedRows } from "./parameter-store.ts";
import { blockQueries, pieceTokens } from "./pass-sizes.ts";
import { addRows, type Piece, piecesOf, rowsOf, scale } from "./rows.ts";
import { ScratchArrays } from "./scratch.ts";
import type { Pass } from "./training-graph.ts";
import { gradientOf, pick, type TrainableModel } from "./training-graph.ts";

const embedding = "model.embed_tokens.weight";

export interface RecomputingOptions extends LayerPartsOptions {
  /** Tokens that pass through a part of a layer, and through the head, at a time; decided by their sizes if left out. */
  readonly pieceTokens?: number;
  /** Queries of a block of attention; decided by the row's length if left out. */
  readonly blockQueries?: number;
}

/**
 * Computes what `TrainingGraph` computes, in memory that is linear in the number of tokens. Only the inputs of the layers and what
 * attention made of them are kept, and the backward half of each layer computes the rest again (Chen et al., arXiv:1604.06174).
 * Attention meets the queries in blocks, each with the keys that it sees and no others (as in Dao et al., arXiv:2205.14135, but
 * with whole lines of scores), so neither scores nor masks of a whole row are ever held, and nothing is computed between branches
 * of a trie or for later tokens. The other parts of a layer, and the head, meet the tokens in pieces, one behind another without
 * padding. One pass is made at a time: they share arrays.
 */
export class RecomputingGraph implements TrainableModel {
  readonly #config: ModelConfig;
  readonly #options: Pick<RecomputingOptions, "pieceTokens" | "blockQueries">;
  readonly #provider: Provider;
  readonly #arrays = new ScratchArrays();
  readonly #parts: LayerParts;
  readonly #attention: ReturnType<typeof attentionPass>;
  readonly #readHead: ReturnType<typeof headPass>;

  constructor(config: ModelConfig, head: Head, { pieceTokens, blockQueries, ...options }: RecomputingOptions) {
    this.#config = config;
    this.#options = { pieceTokens, blockQueries };
    this.#provider = options.provider ?? "cpu";
    this.#parts = layerParts(config, head, this.#arrays, options);
    this.#attention = attentionPass(config, this.#arrays, (backward) => this.#parts.get({ part: "attention" }, backward));
    this.#readHead = headPass(config, this.#parts, this.#arrays, pieceTokens);
  }

  async forward({ batch, temperature = 1 }: Pass, parameters: Placed): Promise<Float32Array> {
    const flat = this.#flatten(batch);
    const hidden = await this.#throughLayers(flat, parameters, (layer) => layer % 2);
    return this.#readHead({ batch, flat, hidden, parameters, temperature });
  }

  async backward(
    { batch, weights = [], temperature = 1 }: Pass,
    parameters: Placed,
    sums: Gradients,
    empty = false,
  ): Promise<Float32Array> {
    const { layers, hiddenSize, embeddingScale = 1 } = this.#config;
    const gradients = sumsOf(sums, empty);
    const flat = this.#flatten(batch);
    // What is below the first layer with an adapter needs no gradients, and so nothing of it is kept.
    const first = firstAdapted(this.#config);
    const hidden = await this.#throughLayers(flat, parameters, (layer) => (layer < first ? -1 - (layer % 2) : layer));
    let adjoint = this.#arrays.get("adjoint/read", hidden.length).fill(0);
    const numbers = await this.#readHead({ batch, flat, hidden, parameters, temperature }, { weights, gradients, adjoint });
    for (let layer = layers - 1; layer >= first; layer--)
      adjoint = await this.#layerBackward(flat, parameters, gradients, layer, adjoint);
    if (this.#parts.trained.has(embedding)) {
      scale(adjoint, embeddingScale);
      const rows = adjoint;
      await gradients.change(embedding, (sum) => addRows(sum, flat.tokens, rows, hiddenSize));
    }
    return numbers;
  }

  async close(): Promise<void> {
    await this.#parts.close();
    this.#arrays.clear();
  }

  #flatten(batch: PackedBatch): FlatBatch {
    return flatten(batch, (length) => this.#options.blockQueries ?? blockQueries(this.#config, length), this.#config.window);
  }

  /**
   * Keeps the inputs of all layers, and what attention made of them, in arrays by the layer's `slot`.
   * @returns what the last layer makes of the tokens that are read, [R, D]
   */
  async #throughLayers(flat: FlatBatch, parameters: Placed, slot: (layer: number) => number): Promise<Float32Array> {
    const { layers, hiddenSize, embeddingScale = 1 } = this.#config;
    const input = this.#arrays.kept(`hidden/${slot(0)}`, flat.tokens.length * hiddenSize);
    await placedRows(parametersOf(parameters)(embedding), this.#provider, flat.tokens, input, hiddenSize);
    scale(input, embeddingScale);
    let x = input;
    for (let layer = 0; layer < layers; layer++) {
      const { queries, blocks } = this.#queriesOf(flat, layer);
      const { q, k, v } = await this.#project(flat, parameters, layer, x);
      const o = this.#attended(slot(layer), layer, queries.length);
      const convolution = await this.#convolution(flat, queries, parameters, layer);
      if (convolution === undefined) await this.#attention.forward(blocks, { q, k, v }, o);
      else convolve(convolution, q, k, o);
      const read = this.#readRows(flat, layer, x);
      const y = this.#arrays.kept(layer === layers - 1 ? "read" : `hidden/${slot(layer + 1)}`, queries.length * hiddenSize);
      const part = await this.#parts.get({ part: "after", type: typeOf(this.#config, layer) }, false, layer);
      for (const { start, end } of this.#pieces(queries.length)) {
        const feeds = {
          ...this.#parts.parameterFeeds(part, parameters, layer),
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
  async #project(flat: FlatBatch, parameters: Placed, layer: number, x: Float32Array): Promise<QueriesKeysValues> {
    const made: { -readonly [Name in keyof QueriesKeysValues]?: Float32Array } = {};
    for (const { names, ...of } of this.#projections(flat, layer, x)) {
      const { input, positions } = of;
      const part = await this.#parts.get({ part: "projections", names, type: typeOf(this.#config, layer) }, false, layer);
      for (const name of names) made[name] = this.#arrays.get(name, positions.length * this.#width(name, layer));
      for (const piece of this.#pieces(positions.length)) {
        const { start, end } = piece;
        const into = names.map(
          (name) => [name, this.#rows(made[name] ?? input, start, end, this.#headShape(name, layer))] as const,
        );
        await part.session.runInto(this.#projectionFeeds(part, parameters, layer, of, piece), Object.fromEntries(into));
      }
    }
    return { v: new Float32Array(), ...made } as QueriesKeysValues;
  }

  /** @param adjoint of what the layer makes @returns that of its input */
  async #layerBackward(
    flat: FlatBatch,
    parameters: Placed,
    gradients: GradientSums,
    layer: number,
    adjoint: Float32Array,
  ): Promise<Float32Array> {
    const { hiddenSize } = this.#config;
    const { queries, blocks } = this.#queriesOf(flat, layer);
    const x = this.#arrays.kept(`hidden/${layer}`, flat.tokens.length * hiddenSize);
    const below = this.#arrays.get(`adjoint/${layer % 2}`, x.length).fill(0);
    const o = this.#attended(layer, layer, queries.length);
    const ofO = this.#arrays.get("adjoint/attended", o.length);

    const read = this.#readRows(flat, layer, x);
    const ofRead = this.#arrays.get("adjoint/x", read.length);
    const after = await this.#parts.get({ part: "after", type: typeOf(this.#config, layer) }, true, layer);
    for (const { start, end } of this.#pieces(queries.length)) {
      const feeds = {
        ...this.#parts.parameterFeeds(after, parameters, layer),
        x: this.#rows(read, start, end, [hiddenSize]),
        o: this.#rows(o, start, end, this.#headShape("q", layer)),
        [upstreamOf("y")]: this.#rows(adjoint, start, end, [hiddenSize]),
      };
      await this.#parts.runBackward(after, layer, gradients, feeds, {
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
    const convolution = await this.#convolution(flat, queries, parameters, layer);
    if (convolution === undefined) await this.#attention.backward(blocks, { q, k, v }, o, ofO, adjoints);
    else {
      const name = nameIn(layer, convolutionWeight);
      const back = (weight?: Float32Array) =>
        convolveBackward(convolution, q, k, { o: ofO, c: adjoints.q, u: adjoints.k, weight });
      if (this.#parts.trained.has(name)) await gradients.change(name, back);
      else back();
    }

    for (const { names, ...of } of this.#projections(flat, layer, x)) {
      const { input, positions, tokens } = of;
      const part = await this.#parts.get({ part: "projections", names, type: typeOf(this.#config, layer) }, true, layer);
      const ofInput = this.#arrays.get("adjoint/x", input.length);
      for (const piece of this.#pieces(positions.length)) {
        const { start, end } = piece;
        const feeds = this.#projectionFeeds(part, parameters, layer, of, piece);
        for (const name of names) feeds[upstreamOf(name)] = this.#rows(adjoints[name], start, end, this.#headShape(name, layer));
        await this.#parts.runBackward(part, layer, gradients, feeds, {
          [gradientOf("x")]: this.#rows(ofInput, start, end, [hiddenSize]),
        });
      }
      addRows(below, tokens, ofInput, hiddenSize);
    }
    return below;
  }

  /** The array for the result of attention, or of a convolution, which loops over numbers. */
  #attended(slot: number, layer: number, tokens: number): Float32Array {
    const length = tokens * this.#width("q", layer);
    if (typeOf(this.#config, layer) === "conv") return this.#arrays.get(`convolved/${slot}`, length);
    return this.#arrays.kept(`attended/${slot}`, length);
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
    parameters: Placed,
    layer: number,
    { input, positions, rotations }: { input: Float32Array; positions: BigInt64Array; rotations: Record<string, Feed> },
    { start, end }: Piece,
  ): Record<string, Feed> {
    const feeds = {
      ...this.#parts.parameterFeeds(part, parameters, layer),
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

  /** Tokens from `start` up to, not including, `end` of an array that holds them one after another. */
  #rows(array: Float32Array, start: number, end: number, shape: readonly number[]): FloatValue {
    const width = shape.reduce((product, size) => product * size, 1);
    return { data: array.subarray(start * width, end * width), shape: [1, end - start, ...shape] };
  }

  #pieces(count: number): readonly Piece[] {
    return piecesOf(count, this.#options.pieceTokens ?? pieceTokens(this.#config));
  }

  #width(name: keyof QueriesKeysValues, layer: number): number {
    const [count, size] = this.#headShape(name, layer);
    return count * size;
  }

  /** A convolution has one head of gates and one of values, and nothing else. */
  #headShape(name: keyof QueriesKeysValues, layer: number): readonly [number, number] {
    const { heads, kvHeads, headDim, hiddenSize } = this.#config;
    if (typeOf(this.#config, layer) === "conv") return [name === "v" ? 0 : 1, hiddenSize];
    return [name === "q" ? heads : kvHeads, headDim];
  }

  /** @returns undefined for a layer of attention */
  async #convolution(
    { parents }: FlatBatch,
    queries: Int32Array,
    parameters: Placed,
    layer: number,
  ): Promise<Convolution | undefined> {
    if (typeOf(this.#config, layer) !== "conv") return undefined;
    const weight = await arrayOf(parametersOf(parameters)(nameIn(layer, convolutionWeight)), this.#provider);
    return { parents, queries, weight, kernel: this.#config.convKernel ?? 1 };
  }
}

const convolutionWeight = "conv.conv.weight";
