import { z } from "zod";
import { ModelError } from "../../../src/core/errors.ts";
import {
  type Architecture,
  architectures,
  isArchitecture,
  type Layers,
  type LayerType,
  layerFields,
  moduleName,
  size,
  traitsOf,
  unsupported,
} from "./architectures.ts";
import { formatScaling, parseRope, parseRopes, type Rope, ropeFields } from "./rope.ts";

/** A decoder-only transformer of the Llama family: what differs between its members is a setting here. */
export interface ModelConfig {
  readonly architecture: Architecture;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Each key/value head serves heads / kvHeads query heads. */
  readonly kvHeads: number;
  /** Even, as pairs are rotated; independent of hiddenSize / heads. */
  readonly headDim: number;
  readonly maxPositionEmbeddings: number;
  readonly rmsNormEps: number;
  readonly rope: Rope;
  /** Biases on the query, key and value projections (Qwen2). */
  readonly attentionBias: boolean;
  /** RMS norms of queries and keys per head, before the rotation (Qwen3). */
  readonly qkNorm: boolean;
  /** The type of each layer; "full" for all if left out. */
  readonly layerTypes?: readonly LayerType[];
  /** Tokens that queries of a "sliding" layer see, themselves included. */
  readonly window?: number;
  /** The rotary positions of "sliding" layers; `rope` if left out. */
  readonly slidingRope?: Rope;
  /** Tokens that a "conv" layer adds up, itself included. */
  readonly convKernel?: number;
  /** Gate of the MLP: SiLU if left out, or GELU by its tanh (Gemma). */
  readonly activation?: "gelu";
  /** Norms behind attention and the MLP too, before they are added (Gemma 2 and 3). */
  readonly sandwichNorms?: true;
  /** Norms multiply by 1 + weight (Gemma). */
  readonly normOffset?: true;
  /** Embeddings are multiplied by this before the first layer; 1 if left out. */
  readonly embeddingScale?: number;
  /** Scores are multiplied by this; 1/√headDim if left out. */
  readonly attentionScale?: number;
  /** The output projection is the embedding; there is no `lm_head.weight`. */
  readonly tieWordEmbeddings: boolean;
  readonly eosTokenIds: readonly number[];
  /** An adapter on top, which `config.json` knows nothing of; none if left out. */
  readonly lora?: Lora;
}

/** Low-rank adaptation (arXiv:2106.09685): W·x becomes W·x + alpha/rank · B(A·x) in the target modules. */
export interface Lora {
  readonly rank: number;
  readonly alpha: number;
  /** Last parts of module names, as in PEFT: "q_proj", "down_proj" … */
  readonly targets: readonly string[];
  /** How many layers have it, counted from the last. All if left out. */
  readonly layers?: number;
}

const configSchema = z.looseObject({
  ...ropeFields.shape,
  ...layerFields.shape,
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size.nullish(),
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  max_position_embeddings: size,
  rms_norm_eps: z.number().positive().default(1e-6),
  norm_eps: z.number().positive().default(1e-5),
  block_ff_dim: size.nullish(),
  block_auto_adjust_ff_dim: z.boolean().default(true),
  block_ffn_dim_multiplier: z.number().positive().nullish(),
  block_multiple_of: size.default(256),
  conv_L_cache: size.default(3),
  conv_bias: z.boolean().default(false),
  tie_embedding: z.boolean().nullish(),
  tie_word_embeddings: z.boolean().nullish(),
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  hidden_act: z.string().nullish(),
  hidden_activation: z.string().nullish(),
  query_pre_attn_scalar: z.number().positive().default(256),
  attn_logit_softcapping: z.number().nullish(),
  final_logit_softcapping: z.number().nullish(),
  use_bidirectional_attention: z.boolean().nullish(),
  is_causal: z.boolean().nullish(),
  transformers_weights: z.string().nullish(),
  per_layer_config: z.unknown().optional(),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
});
type ConfigFile = z.infer<typeof configSchema>;

/**
 * Reads a `config.json`, older style (`rope_theta`, `rope_scaling`) or newer (`rope_parameters`).
 * @param file names the source in errors
 * @throws ModelError if it is malformed or describes something that the engine does not compute
 */
export function parseModelConfig(json: unknown, file: string): ModelConfig {
  const { model_type: architecture, quantization_config: quantization } = z
    .looseObject({ model_type: z.unknown().optional(), quantization_config: z.unknown().optional() })
    .catch({})
    .parse(json);
  if (!isArchitecture(architecture)) {
    const hint =
      typeof architecture === "string" && Object.hasOwn(unsupported, architecture) ? unsupported[architecture] : undefined;
    throw new ModelError(`model_type in ${file}`, architecture, { expected: Object.keys(architectures), hint });
  }
  if (quantization !== undefined && quantization !== null) {
    const hint = "Quantised weights are not supported: use the float version of the model.";
    throw new ModelError(`quantization_config in ${file}`, quantization, { expected: "none", hint });
  }
  const parsed = configSchema.safeParse(json);
  if (!parsed.success) throw new ModelError(file, "malformed", { expected: z.prettifyError(parsed.error) });
  const config = parsed.data;
  const {
    attentionBias,
    qkNorm,
    headDim: customary,
    layers: layersOf,
    theta = 10_000,
    slidingTheta,
    gemma,
    tied,
  } = traitsOf(architecture);
  const layers = layersOf(config);
  refuseUnsupported(config, architecture, layers, file);
  const heads = config.num_attention_heads;
  const kvHeads = config.num_key_value_heads ?? heads;
  if (heads % kvHeads !== 0) {
    throw new ModelError(`num_key_value_heads in ${file}`, kvHeads, { expected: `a divisor of num_attention_heads, ${heads}` });
  }
  const headDim = config.head_dim ?? customary ?? config.hidden_size / heads;
  if (headDim % 2 !== 0) {
    const field = config.head_dim == null ? "hidden_size / num_attention_heads" : "head_dim";
    throw new ModelError(`${field} in ${file}`, headDim, { expected: "an even number" });
  }
  return {
    architecture,
    vocabSize: config.vocab_size,
    hiddenSize: config.hidden_size,
    intermediateSize: intermediateSizeOf(config, architecture, file),
    layers: config.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    maxPositionEmbeddings: config.max_position_embeddings,
    rmsNormEps: architecture === "lfm2" ? config.norm_eps : config.rms_norm_eps,
    ...(slidingTheta === undefined
      ? { rope: parseRope(config, file, theta) }
      : parseRopes(config, file, { full: theta, sliding: slidingTheta })),
    attentionBias,
    qkNorm,
    ...(layers.types && { layerTypes: layers.types }),
    ...(layers.window !== undefined && { window: layers.window }),
    ...(layers.types?.includes("conv") && { convKernel: config.conv_L_cache }),
    ...(gemma && {
      ...{ activation: "gelu", sandwichNorms: true, normOffset: true },
      embeddingScale: Math.sqrt(config.hidden_size),
      attentionScale: 1 / Math.sqrt(config.query_pre_attn_scalar),
    }),
    tieWordEmbeddings: config.tie_embedding ?? config.tie_word_embeddings ?? tied ?? false,
    eosTokenIds: [config.eos_token_id ?? []].flat(),
  };
}

/** As it is in the file; LFM2's may be two thirds of that times a factor, rounded up. */
function intermediateSizeOf(config: ConfigFile, architecture: Architecture, file: string): number {
  const given = (architecture === "lfm2" ? config.block_ff_dim : undefined) ?? config.intermediate_size;
  if (given == null) throw new ModelError(`intermediate_size in ${file}`, given, { expected: "the width of the MLP" });
  if (architecture !== "lfm2" || !config.block_auto_adjust_ff_dim) return given;
  const adjusted = Math.floor((config.block_ffn_dim_multiplier ?? 1) * Math.floor((2 * given) / 3));
  return config.block_multiple_of * Math.ceil(adjusted / config.block_multiple_of);
}

/** The `config.json` of a model, in the style that every version of `transformers` reads. */
export function formatModelConfig(config: ModelConfig): Record<string, unknown> {
  const { className, fields } = traitsOf(config.architecture);
  return {
    architectures: [className],
    model_type: config.architecture,
    vocab_size: config.vocabSize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    ...(config.activation === "gelu" ? { hidden_activation: geluName } : { hidden_act: "silu" }),
    max_position_embeddings: config.maxPositionEmbeddings,
    rms_norm_eps: config.rmsNormEps,
    ...formatRopeBeside(config),
    tie_word_embeddings: config.tieWordEmbeddings,
    ...fields,
    ...formatLayers(config),
    bos_token_id: null,
    eos_token_id: config.eosTokenIds.length === 0 ? null : config.eosTokenIds,
  };
}

/** The rotary settings beside `rope_parameters`: transformers 4, and what reads as it did, look for them nowhere else and would take defaults. */
export function formatRopeBeside({ rope, slidingRope }: ModelConfig): Record<string, unknown> {
  return {
    ...{ rope_theta: rope.theta, rope_scaling: formatScaling(rope) },
    ...(slidingRope && { rope_local_base_freq: slidingRope.theta }),
  };
}

function formatLayers(config: ModelConfig): Record<string, unknown> {
  const { layerTypes, window, rope, slidingRope, attentionScale, convKernel } = config;
  const types = layerTypes?.map(fileType);
  return {
    ...(window !== undefined && { use_sliding_window: true, sliding_window: window, layer_types: types }),
    ...(config.architecture === "lfm2" && { layer_types: types, norm_eps: config.rmsNormEps, block_auto_adjust_ff_dim: false }),
    ...(convKernel !== undefined && { conv_L_cache: convKernel }),
    ...(layerTypes?.includes("unrotated") && { no_rope_layers: layerTypes.map((type) => (type === "unrotated" ? 0 : 1)) }),
    ...(slidingRope && {
      rope_parameters: { full_attention: formatRope(rope), sliding_attention: formatRope(slidingRope) },
    }),
    ...(attentionScale !== undefined && { query_pre_attn_scalar: Math.round(1 / attentionScale ** 2) }),
  };
}

function formatRope(rope: Rope): Record<string, unknown> {
  return { rope_theta: rope.theta, ...(formatScaling(rope) ?? { rope_type: "default" }) };
}

/** As `layer_types` names it. */
function fileType(type: LayerType): string {
  return { full: "full_attention", unrotated: "full_attention", sliding: "sliding_attention", conv: "conv" }[type];
}

/** GELU by its tanh. */
const geluName = "gelu_pytorch_tanh";

/** Every parameter's shape by its Hugging Face name, in the order of the forward pass. Matrices are [outputs, inputs]. */
export function parameterShapes(config: ModelConfig): Map<string, readonly number[]> {
  const { hiddenSize, intermediateSize, vocabSize } = config;
  const shapes = new Map<string, readonly number[]>([["model.embed_tokens.weight", [vocabSize, hiddenSize]]]);
  for (let layer = 0; layer < config.layers; layer++) {
    const add = (module: string, ...shape: number[]) => {
      const [, name, kind] = /^(.*)\.(weight|bias)$/.exec(module) ?? [];
      shapes.set(`model.layers.${layer}.${moduleName(config.architecture, name)}.${kind}`, shape);
    };
    add("input_layernorm.weight", hiddenSize);
    if (config.layerTypes?.[layer] === "conv") {
      add("conv.in_proj.weight", 3 * hiddenSize, hiddenSize);
      add("conv.conv.weight", hiddenSize, 1, config.convKernel ?? 1);
      add("conv.out_proj.weight", hiddenSize, hiddenSize);
    } else addAttention(config, add);
    add("post_attention_layernorm.weight", hiddenSize);
    if (config.sandwichNorms) add("pre_feedforward_layernorm.weight", hiddenSize);
    add("mlp.gate_proj.weight", intermediateSize, hiddenSize);
    add("mlp.up_proj.weight", intermediateSize, hiddenSize);
    add("mlp.down_proj.weight", hiddenSize, intermediateSize);
    if (config.sandwichNorms) add("post_feedforward_layernorm.weight", hiddenSize);
  }
  shapes.set(`${moduleName(config.architecture, "model.norm")}.weight`, [hiddenSize]);
  if (!config.tieWordEmbeddings) shapes.set("lm_head.weight", [vocabSize, hiddenSize]);
  return shapes;
}

function addAttention(config: ModelConfig, add: (name: string, ...shape: number[]) => void): void {
  const { hiddenSize, headDim, heads, kvHeads } = config;
  const widths = { q: heads * headDim, k: kvHeads * headDim, v: kvHeads * headDim };
  for (const projection of ["q", "k", "v"] as const) {
    add(`self_attn.${projection}_proj.weight`, widths[projection], hiddenSize);
    if (config.attentionBias) add(`self_attn.${projection}_proj.bias`, widths[projection]);
  }
  if (config.qkNorm) {
    add("self_attn.q_norm.weight", headDim);
    add("self_attn.k_norm.weight", headDim);
  }
  add("self_attn.o_proj.weight", hiddenSize, heads * headDim);
}

function refuseUnsupported(config: ConfigFile, architecture: Architecture, { types }: Layers, file: string): void {
  const refuse = (field: string, value: unknown, expected: string | readonly unknown[]) => {
    throw new ModelError(`${field} in ${file}`, value, { expected, hint: "The local engine does not compute anything else." });
  };
  const { gemma } = traitsOf(architecture);
  const [field, activation] = gemma ? (["hidden_activation", geluName] as const) : (["hidden_act", "silu"] as const);
  if ((config[field] ?? activation) !== activation) refuse(field, config[field], [activation]);
  if (gemma) {
    for (const capped of ["attn_logit_softcapping", "final_logit_softcapping"] as const)
      if (config[capped] != null) refuse(capped, config[capped], [null]);
    if (config.use_bidirectional_attention) refuse("use_bidirectional_attention", true, [false]);
    if (config.sliding_window === null) refuse("sliding_window", null, "a number of tokens");
  }
  // Fields of every model in transformers 5.
  if (config.is_causal === false) refuse("is_causal", false, [true]);
  for (const field of ["transformers_weights", "per_layer_config"] as const)
    if (config[field] != null) refuse(field, config[field], "nothing");
  for (const field of ["layer_types", "no_rope_layers"] as const) {
    const length = config[field]?.length;
    if (length !== undefined && length < config.num_hidden_layers)
      refuse(`the length of ${field}`, length, `${config.num_hidden_layers}, as num_hidden_layers says`);
  }
  if (architecture === "smollm3" && config.use_sliding_window) refuse("use_sliding_window", true, [false]);
  if (types?.includes("conv") && config.hidden_size % (config.num_key_value_heads ?? config.num_attention_heads) !== 0)
    refuse("hidden_size", config.hidden_size, "a multiple of num_key_value_heads");
  if (config.conv_bias) refuse("conv_bias", true, [false]);
  const other = config.layer_types?.findIndex((type, layer) => type !== fileType(types?.[layer] ?? "full")) ?? -1;
  if (other >= 0) refuse("layer_types", config.layer_types?.[other], [fileType(types?.[other] ?? "full")]);
  if (config.attention_bias && architecture !== "qwen2") refuse("attention_bias", true, [false]);
  if (config.mlp_bias) refuse("mlp_bias", true, [false]);
}

export function parameterCount(config: ModelConfig): number {
  return [...parameterShapes(config).values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
}
