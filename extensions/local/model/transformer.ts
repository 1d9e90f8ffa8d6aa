import type { Graph } from "../graph/graph.ts";
import type { Tensor } from "../graph/tensor.ts";
import { type LayerType, moduleName } from "./architectures.ts";
import { addAdapter, configOfLayer } from "./lora.ts";
import type { ModelConfig } from "./model-config.ts";
import type { GraphModel } from "./parameters.ts";
import { type Rotate, rotations } from "./rotation.ts";

/** Looks parameters, or their arrays, up by name. @throws RangeError for a name that the model does not have */
export function parametersOf<T>(all: ReadonlyMap<string, T>): (name: string) => T {
  return (name) => {
    const found = all.get(name);
    if (found === undefined) throw new RangeError(`no parameter ${name}`);
    return found;
  };
}

/**
 * Attention of one layer over rotated queries [B, H, T, size] and keys, and values [B, Hk, T, size].
 * Training attends within the rows; sampling also attends to cached keys and values.
 */
export type Attend = (layer: number, q: Tensor, k: Tensor, v: Tensor) => Tensor;

/**
 * Returns what a convolution adds up, of values u [B, T, D] of a layer: those of the token before each on its path, of the one
 * before that … as [B, T, D] each, nearest first; 0 where the path begins.
 */
export type LookBack = (layer: number, u: Tensor) => readonly Tensor[];

/** Tokens [B, T] and their positions [B, T], int64. */
export interface TokenInputs {
  readonly tokens: Tensor;
  readonly positions: Tensor;
}

export interface DecoderOptions {
  /**
   * Tokens [B, P], as flat indices row · T + token, whose final hidden states are read: of all others the last layer needs keys and values alone.
   * All tokens if left out. `attend` gets P queries in the last layer.
   */
  readonly queries?: TokenInputs;
  /** Needed where layers are convolutions. */
  readonly lookBack?: LookBack;
}

/** @returns the final hidden states [B, T, D], or [B, P, D] of the queries, after the last norm but without its weight */
export function decoder(
  model: GraphModel,
  { tokens, positions }: TokenInputs,
  attend: Attend,
  { queries, lookBack }: DecoderOptions = {},
): Tensor {
  const { g, config, weight } = model;
  const rotate = rotations(g, config);
  const embedded = g.gather(weight("model.embed_tokens.weight"), tokens);
  let x = config.embeddingScale === undefined ? embedded : g.mul(embedded, g.scalar(config.embeddingScale));
  for (let layer = 0; layer < config.layers; layer++) {
    const here: GraphModel = {
      ...model,
      config: configOfLayer(config, layer),
      weight: (name) => weight(`model.layers.${layer}.${name}`),
    };
    const asked = layer === config.layers - 1 ? queries : undefined;
    if (typeOf(config, layer) === "conv") {
      if (lookBack === undefined) throw new RangeError("a convolution that cannot look back");
      x = convolutionLayer(here, x, (u) => lookBack(layer, u), asked);
      continue;
    }
    const attendHere = (q: Tensor, k: Tensor, v: Tensor) => attend(layer, q, k, v);
    x = decoderLayer(here, { x, positions }, rotate(typeOf(config, layer)), attendHere, asked);
  }
  return g.rmsNormalise(x, config.rmsNormEps);
}

export function typeOf({ layerTypes }: ModelConfig, layer: number): LayerType {
  return layerTypes?.[layer] ?? "full";
}

/**
 * One layer of Qwen3's decoder (arXiv:2505.09388), and of Qwen2's and Llama's by configuration, over x [B, T, D]:
 *   x ← x + Wo·attention( rope(norm(Wq·norm(x))), rope(norm(Wk·norm(x))), Wv·norm(x) )
 *   x ← x + Wd·( silu(Wg·norm(x)) ∘ Wu·norm(x) )
 * Gemma's has GELU instead of silu, norms by 1 + w, and a norm of what is added: x ← x + norm(Wo·…), x ← x + norm(Wd·…).
 * Each W·x gains an adapter's s·B(A·x) where the configuration has one.
 * @returns [B, T, D], or [B, P, D] where only some tokens are queries
 */
function decoderLayer(
  layer: GraphModel,
  { x, positions }: LayerInput,
  rotate: Rotate,
  attend: (q: Tensor, k: Tensor, v: Tensor) => Tensor,
  queries: TokenInputs | undefined,
): Tensor {
  const { g, config } = layer;
  const [rows, length] = x.shape;
  const project = (input: LayerInput, names: readonly Projection[]) => projections(layer, input, rotate, names);
  const read = queries ? g.gather(g.reshape(x, [`${rows}*${length}`, config.hiddenSize]), queries.tokens) : x;
  const [q, k, v] = queries
    ? [...project({ x: read, positions: queries.positions }, ["q"]), ...project({ x, positions }, ["k", "v"])]
    : project({ x, positions }, ["q", "k", "v"]);
  const found = attend(q, k, v);
  const attended = read.shape[1] === 1 ? found : g.transpose(found, [0, 2, 1, 3]);
  return afterAttention(layer, read, attended);
}

/**
 * One convolutional layer of LFM2, whose convolution looks back on L tokens of a path, channel by channel:
 *   b, c, u = Wi·norm(x);   x ← x + Wo·( c ∘ Σ_d w_d ∘ (b ∘ u)[t − d] ),   d = 0 … L − 1;   then the MLP
 */
function convolutionLayer(
  layer: GraphModel,
  x: Tensor,
  lookBack: (u: Tensor) => readonly Tensor[],
  queries: TokenInputs | undefined,
): Tensor {
  const { g, config, weight } = layer;
  const [rows, length] = x.shape;
  const { c, u } = gatesAndValues(layer, x);
  const columns = g.split(weight("conv.conv.weight"), 2, Array(config.convKernel).fill(1)).toReversed();
  const [first, ...others] = [u, ...lookBack(u)].map((value, d) => g.mul(value, g.reshape(columns[d], [config.hiddenSize])));
  const mixed = g.mul(
    c,
    others.reduce((sum, term) => g.add(sum, term), first),
  );
  const ofQueries = (value: Tensor) =>
    queries ? g.gather(g.reshape(value, [`${rows}*${length}`, config.hiddenSize]), queries.tokens) : value;
  return afterMixing(layer, "conv.out_proj", ofQueries(x), ofQueries(mixed));
}

/**
 * Computes what a convolutional layer makes of x [B, T, D]: the gates c [B, T, D], and the values u [B, T, D] that are added up.
 */
export function gatesAndValues(layer: GraphModel, x: Tensor): { readonly c: Tensor; readonly u: Tensor } {
  const { g, config } = layer;
  const [product] = normedLinear(layer, x, "input_layernorm", ["conv.in_proj"]);
  const [b, c, u] = g.split(product, 2, Array(3).fill(config.hiddenSize));
  return { c, u: g.mul(b, u) };
}

/** Hidden states [B, T, D] and positions [B, T], int64. */
export interface LayerInput {
  readonly x: Tensor;
  readonly positions: Tensor;
}

/** A projection that a layer makes of its input for attention. */
export type Projection = "q" | "k" | "v";

/** @returns for each name the heads [B, H, T, size] that attention takes; queries and keys are rotated */
export function projections(
  layer: GraphModel,
  { x, positions }: LayerInput,
  rotate: Rotate,
  names: readonly Projection[],
): readonly Tensor[] {
  const { g, config, weight } = layer;
  const { heads, kvHeads, headDim, rmsNormEps } = config;
  const modules = names.map((name) => `self_attn.${name}_proj`);
  const products = normedLinear(layer, x, "input_layernorm", modules);
  return products.map((product, i) => {
    const name = names[i];
    const biased = config.attentionBias ? g.add(product, weight(`${modules[i]}.bias`)) : product;
    const apart = headsOf(g, biased, x, name === "q" ? heads : kvHeads, headDim);
    if (name === "v") return apart;
    const norm = `self_attn.${name}_norm`;
    const normed = config.qkNorm ? g.mul(g.rmsNormalise(apart, rmsNormEps), normWeight(layer, norm)) : apart;
    return rotate(normed, positions);
  });
}

/** Heads [B, H, T, size] of a product [B, T, H·size]. Of one token they lie as they are. */
function headsOf(g: Graph, product: Tensor, { shape: [rows, length] }: Tensor, heads: number, size: number): Tensor {
  if (length === 1) return g.reshape(product, [rows, heads, 1, size]);
  return g.transpose(g.reshape(product, [rows, length, heads, size]), [0, 2, 1, 3]);
}

/** The rest of a layer. @param x [B, T, D] its input @param attended [B, T, H, size] @returns [B, T, D] */
export function afterAttention(layer: GraphModel, x: Tensor, attended: Tensor): Tensor {
  const { g, config } = layer;
  const merged = g.reshape(attended, [x.shape[0], x.shape[1], config.heads * config.headDim]);
  return afterMixing(layer, "self_attn.o_proj", x, merged);
}

/** The rest of a layer. @param output the module behind attention, or a convolution @param mixed what that made of x */
export function afterMixing(layer: GraphModel, output: string, x: Tensor, mixed: Tensor): Tensor {
  const { g, config } = layer;
  const added = (value: Tensor, norm: string) =>
    config.sandwichNorms ? g.mul(g.rmsNormalise(value, config.rmsNormEps), normWeight(layer, norm)) : value;
  const between = g.add(x, added(linear(layer, mixed, output), "post_attention_layernorm"));
  const norm = config.sandwichNorms ? "pre_feedforward_layernorm" : "post_attention_layernorm";
  const [gate, up] = normedLinear(layer, between, norm, ["mlp.gate_proj", "mlp.up_proj"]);
  const activated = config.activation === "gelu" ? g.gelu(gate) : g.silu(gate);
  return g.add(between, added(linear(layer, g.mul(activated, up), "mlp.down_proj"), "post_feedforward_layernorm"));
}

/** Returns what a norm multiplies by. */
export function normWeight({ g, config, weight }: GraphModel, norm: string): Tensor {
  const given = weight(`${moduleName(config.architecture, norm)}.weight`);
  return config.normOffset ? g.add(given, g.scalar(1)) : given;
}

function linear(layer: GraphModel, input: Tensor, name: string): Tensor {
  const { g, config, weight } = layer;
  const module = moduleName(config.architecture, name);
  return addAdapter(layer, module, input, g.matmul(input, weight(`${module}.weight`), { transB: true }));
}

/** W·norm(x) for each module's W. */
function normedLinear(layer: GraphModel, input: Tensor, norm: string, names: readonly string[]): readonly Tensor[] {
  const { g, config, weight, foldNorms = foldsNorms(config) } = layer;
  const normalised = g.rmsNormalise(input, config.rmsNormEps);
  const scale = normWeight(layer, norm);
  const normed = g.mul(normalised, scale);
  if (!foldNorms) return names.map((name) => linear(layer, normed, name));
  const modules = names.map((name) => moduleName(config.architecture, name));
  const matrices = modules.map((module) => weight(`${module}.weight`));
  const joined = matrices.length === 1 ? matrices[0] : g.concat(matrices, 0);
  const product = g.matmul(normalised, g.mul(joined, scale), { transB: true });
  if (matrices.length === 1) return [addAdapter(layer, modules[0], normed, product)];
  const widths = matrices.map(({ shape }) => Number(shape[0]));
  return g.split(product, 2, widths).map((part, i) => addAdapter(layer, modules[i], normed, part));
}

/**
 * Where weights are inputs: a layer's matrices have about 12·D² entries, the two norms of 1,536 tokens 3,072·D, so the latter are less work
 * from D = 256 on. One joined product makes up for that at D = 512 still (research/notes/engine.md).
 */
function foldsNorms({ hiddenSize }: ModelConfig): boolean {
  return hiddenSize <= 512;
}

/** Logits [M, V] of hidden states [M, D] as `decoder` returns them. */
export function unembed(model: GraphModel, hidden: Tensor): Tensor {
  const { g, config, weight } = model;
  const head = config.tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  return g.matmul(g.mul(hidden, normWeight(model, "model.norm")), weight(head), { transB: true });
}

export function attentionScale(config: ModelConfig): number {
  return config.attentionScale ?? 1 / Math.sqrt(config.headDim);
}
