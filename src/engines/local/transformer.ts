import type { Graph, Tensor } from "./graph.ts";
import type { ModelConfig } from "./model-config.ts";

/** A parameter by its Hugging Face name. */
export type Parameters = (name: string) => Tensor;

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

export interface TokenInputs {
  /** [B, T] */
  readonly tokens: Tensor;
  /** [B, T], int64 */
  readonly positions: Tensor;
}

/**
 * The decoder of Qwen3 (arXiv:2505.09388), and of Qwen2 and Llama by configuration:
 *   x ← x + Wo·attention( rope(norm(Wq·norm(x))), rope(norm(Wk·norm(x))), Wv·norm(x) )
 *   x ← x + Wd·( silu(Wg·norm(x)) ∘ Wu·norm(x) )
 * Norm weights are folded into the matrices that follow them, and matrices with the same input are joined: products over
 * the few rows of a matrix cost less than products over the many tokens.
 * @returns the final hidden states [B, T, D], after the last norm but without its weight
 */
export function decoder(
  g: Graph,
  config: ModelConfig,
  weight: Parameters,
  { tokens, positions }: TokenInputs,
  attend: Attend,
): Tensor {
  const [cosine, sine] = rotaryTables(g, config);
  const queryWidth = config.heads * config.headDim;
  const keyWidth = config.kvHeads * config.headDim;
  const [rows, length] = tokens.shape;

  let x = g.gather(weight("model.embed_tokens.weight"), tokens);
  for (let layer = 0; layer < config.layers; layer++) {
    const name = (suffix: string) => weight(`model.layers.${layer}.${suffix}`);
    const project = (input: Tensor, norm: string, matrices: readonly string[]) => {
      const joined = matrices.length === 1 ? name(matrices[0]) : g.concat(matrices.map(name), 0);
      return g.matmul(input, g.mul(joined, name(norm)), { transB: true });
    };
    const toHeads = (t: Tensor, heads: number) => g.transpose(g.reshape(t, [rows, length, heads, config.headDim]), [0, 2, 1, 3]);
    const normalisedHeads = (t: Tensor, norm: string) =>
      config.qkNorm ? g.mul(g.rmsNormalise(t, config.rmsNormEps), name(norm)) : t;

    const normed = g.rmsNormalise(x, config.rmsNormEps);
    const projections = ["q", "k", "v"].map((p) => `self_attn.${p}_proj`);
    let qkv = project(
      normed,
      "input_layernorm.weight",
      projections.map((p) => `${p}.weight`),
    );
    if (config.attentionBias)
      qkv = g.add(
        qkv,
        g.concat(
          projections.map((p) => name(`${p}.bias`)),
          0,
        ),
      );
    const [q, k, v] = g.split(qkv, 2, [queryWidth, keyWidth, keyWidth]);
    const rotate = (t: Tensor) => g.rotary(t, positions, cosine, sine);
    const attended = attend(
      layer,
      rotate(normalisedHeads(toHeads(q, config.heads), "self_attn.q_norm.weight")),
      rotate(normalisedHeads(toHeads(k, config.kvHeads), "self_attn.k_norm.weight")),
      toHeads(v, config.kvHeads),
    );
    const merged = g.reshape(g.transpose(attended, [0, 2, 1, 3]), [rows, length, queryWidth]);
    x = g.add(x, g.matmul(merged, name("self_attn.o_proj.weight"), { transB: true }));

    const gateUp = project(g.rmsNormalise(x, config.rmsNormEps), "post_attention_layernorm.weight", [
      "mlp.gate_proj.weight",
      "mlp.up_proj.weight",
    ]);
    const [gate, up] = g.split(gateUp, 2, [config.intermediateSize, config.intermediateSize]);
    x = g.add(x, g.matmul(g.mul(g.silu(gate), up), name("mlp.down_proj.weight"), { transB: true }));
  }
  return g.rmsNormalise(x, config.rmsNormEps);
}

/** Logits [M, V] of hidden states [M, D] as `decoder` returns them. */
export function unembed(g: Graph, config: ModelConfig, weight: Parameters, hidden: Tensor): Tensor {
  const head = config.tieWordEmbeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  return g.matmul(g.mul(hidden, weight("model.norm.weight")), weight(head), { transB: true });
}

export function attentionScale(config: ModelConfig): number {
  return 1 / Math.sqrt(config.headDim);
}

/** Cosines and sines [positions, headDim/2]: angle of pair i at position p is p·θ^(−2i/headDim) (arXiv:2104.09864). */
function rotaryTables(g: Graph, { headDim, maxPositionEmbeddings, rope }: ModelConfig): [Tensor, Tensor] {
  const half = headDim / 2;
  const cosine = new Float32Array(maxPositionEmbeddings * half);
  const sine = new Float32Array(maxPositionEmbeddings * half);
  for (let i = 0; i < half; i++) {
    const frequency = scaledFrequency(rope.theta ** ((-2 * i) / headDim), rope.scaling);
    for (let position = 0; position < maxPositionEmbeddings; position++) {
      cosine[position * half + i] = Math.cos(position * frequency);
      sine[position * half + i] = Math.sin(position * frequency);
    }
  }
  const shape = [maxPositionEmbeddings, half];
  return [g.constant(cosine, shape), g.constant(sine, shape)];
}

/** Llama 3's rope scaling: long wavelengths are stretched by `factor`, short ones kept, those between blended. */
function scaledFrequency(frequency: number, scaling: ModelConfig["rope"]["scaling"]): number {
  if (!scaling) return frequency;
  const { factor, lowFreqFactor, highFreqFactor, originalMaxPositionEmbeddings: original } = scaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < original / highFreqFactor) return frequency;
  if (wavelength > original / lowFreqFactor) return frequency / factor;
  const blend = (original / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
  return ((1 - blend) * frequency) / factor + blend * frequency;
}
