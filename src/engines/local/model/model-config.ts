import { z } from "zod";
import { ModelError } from "../../../core/errors.ts";
import { type Architecture, architectures, isArchitecture, traitsOf } from "./architectures.ts";

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
  /** The output projection is the embedding; there is no `lm_head.weight`. */
  readonly tieWordEmbeddings: boolean;
  readonly eosTokenIds: readonly number[];
  /** An adapter on top, which `config.json` knows nothing of; none if left out. */
  readonly lora?: Lora;
}

/** Low-rank adaptation (arXiv:2106.09685): W·x becomes W·x + alpha/rank · B(A·x) in the target modules of every layer. */
export interface Lora {
  readonly rank: number;
  readonly alpha: number;
  /** Last parts of module names, as in PEFT: "q_proj", "down_proj" … */
  readonly targets: readonly string[];
}

export interface Rope {
  readonly theta: number;
  /** Llama 3's rescaling of low frequencies; undefined for plain rotary positions. */
  readonly scaling: Llama3Scaling | undefined;
}

export interface Llama3Scaling {
  readonly factor: number;
  readonly lowFreqFactor: number;
  readonly highFreqFactor: number;
  readonly originalMaxPositionEmbeddings: number;
}

const size = z.int().positive();
const ropeSchema = z.looseObject({
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  rope_theta: z.number().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
});
const llama3Schema = z.object({
  factor: z.number().positive(),
  low_freq_factor: z.number().positive(),
  high_freq_factor: z.number().positive(),
  original_max_position_embeddings: size,
});
const configSchema = z.looseObject({
  vocab_size: size,
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  max_position_embeddings: size,
  rms_norm_eps: z.number().positive().default(1e-6),
  rope_theta: z.number().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
  rope_scaling: ropeSchema.nullish(),
  rope_parameters: ropeSchema.nullish(),
  original_max_position_embeddings: size.nullish(),
  tie_word_embeddings: z.boolean().default(false),
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  hidden_act: z.string().default("silu"),
  attention_bias: z.boolean().default(false),
  mlp_bias: z.boolean().default(false),
  use_sliding_window: z.boolean().default(false),
  sliding_window: z.number().nullish(),
  max_window_layers: z.int().nullish(),
  layer_types: z.array(z.string()).nullish(),
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
    throw new ModelError(`model_type in ${file}`, architecture, { expected: Object.keys(architectures) });
  }
  if (quantization !== undefined && quantization !== null) {
    const hint = "Quantised weights are not supported: use the float version of the model.";
    throw new ModelError(`quantization_config in ${file}`, quantization, { expected: "none", hint });
  }
  const parsed = configSchema.safeParse(json);
  if (!parsed.success) throw new ModelError(file, "malformed", { expected: z.prettifyError(parsed.error) });
  const config = parsed.data;
  refuseUnsupported(config, architecture, file);
  const { attentionBias, qkNorm, headDim: customary } = traitsOf(architecture);
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
    intermediateSize: config.intermediate_size,
    layers: config.num_hidden_layers,
    heads,
    kvHeads,
    headDim,
    maxPositionEmbeddings: config.max_position_embeddings,
    rmsNormEps: config.rms_norm_eps,
    rope: parseRope(config, file),
    attentionBias,
    qkNorm,
    tieWordEmbeddings: config.tie_word_embeddings,
    eosTokenIds: [config.eos_token_id ?? []].flat(),
  };
}

/** The `config.json` of a model, in the style that every version of `transformers` reads. */
export function formatModelConfig(config: ModelConfig): Record<string, unknown> {
  const { scaling } = config.rope;
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
    hidden_act: "silu",
    max_position_embeddings: config.maxPositionEmbeddings,
    rms_norm_eps: config.rmsNormEps,
    rope_theta: config.rope.theta,
    rope_scaling:
      scaling === undefined
        ? null
        : {
            rope_type: "llama3",
            factor: scaling.factor,
            low_freq_factor: scaling.lowFreqFactor,
            high_freq_factor: scaling.highFreqFactor,
            original_max_position_embeddings: scaling.originalMaxPositionEmbeddings,
          },
    tie_word_embeddings: config.tieWordEmbeddings,
    ...fields,
    bos_token_id: null,
    eos_token_id: config.eosTokenIds.length === 0 ? null : config.eosTokenIds,
  };
}

/** Every parameter's shape by its Hugging Face name, in the order of the forward pass. Matrices are [outputs, inputs]. */
export function parameterShapes(config: ModelConfig): Map<string, readonly number[]> {
  const { hiddenSize, intermediateSize, headDim, vocabSize } = config;
  const queries = config.heads * headDim;
  const keys = config.kvHeads * headDim;
  const shapes = new Map<string, readonly number[]>([["model.embed_tokens.weight", [vocabSize, hiddenSize]]]);
  for (let layer = 0; layer < config.layers; layer++) {
    const add = (name: string, ...shape: number[]) => shapes.set(`model.layers.${layer}.${name}`, shape);
    add("input_layernorm.weight", hiddenSize);
    for (const [projection, width] of [
      ["q", queries],
      ["k", keys],
      ["v", keys],
    ] as const) {
      add(`self_attn.${projection}_proj.weight`, width, hiddenSize);
      if (config.attentionBias) add(`self_attn.${projection}_proj.bias`, width);
    }
    if (config.qkNorm) {
      add("self_attn.q_norm.weight", headDim);
      add("self_attn.k_norm.weight", headDim);
    }
    add("self_attn.o_proj.weight", hiddenSize, queries);
    add("post_attention_layernorm.weight", hiddenSize);
    add("mlp.gate_proj.weight", intermediateSize, hiddenSize);
    add("mlp.up_proj.weight", intermediateSize, hiddenSize);
    add("mlp.down_proj.weight", hiddenSize, intermediateSize);
  }
  shapes.set("model.norm.weight", [hiddenSize]);
  if (!config.tieWordEmbeddings) shapes.set("lm_head.weight", [vocabSize, hiddenSize]);
  return shapes;
}

function refuseUnsupported(config: ConfigFile, architecture: Architecture, file: string): void {
  const refuse = (field: string, value: unknown, expected: readonly unknown[]) => {
    throw new ModelError(`${field} in ${file}`, value, { expected, hint: "The local engine does not compute anything else." });
  };
  if (config.hidden_act !== "silu") refuse("hidden_act", config.hidden_act, ["silu"]);
  const window = traitsOf(architecture).slidingWindow(config);
  if (window !== null) refuse("sliding_window", window, [null]);
  const windowed = config.layer_types?.find((type) => type !== "full_attention");
  if (windowed !== undefined) refuse("layer_types", windowed, ["full_attention"]);
  if (config.attention_bias && architecture !== "qwen2") refuse("attention_bias", true, [false]);
  if (config.mlp_bias) refuse("mlp_bias", true, [false]);
}

/** As `transformers` reads it: `rope_scaling` goes before `rope_parameters`, what stands inside of them before what stands beside. */
function parseRope(config: ConfigFile, file: string): Rope {
  const [field, given] =
    config.rope_scaling != null && Object.keys(config.rope_scaling).length > 0
      ? (["rope_scaling", config.rope_scaling] as const)
      : (["rope_parameters", config.rope_parameters ?? {}] as const);
  const nested = Object.values(given).find((value) => typeof value === "object" && value !== null);
  if (nested !== undefined) {
    throw new ModelError(`${field} in ${file}`, given, { expected: "the same for all layers, as numbers by name" });
  }
  const theta = given.rope_theta ?? config.rope_theta ?? 10_000; // the default of transformers
  const rotated = given.partial_rotary_factor ?? config.partial_rotary_factor ?? 1;
  if (rotated !== 1) throw new ModelError(`partial_rotary_factor in ${file}`, rotated, { expected: [1] });
  const kind = given.rope_type ?? given.type ?? "default";
  const typeField = `rope_type in ${file}`;
  if (kind === "default") return { theta, scaling: undefined };
  if (kind !== "llama3") throw new ModelError(typeField, kind, { expected: ["default", "llama3"] });
  const llama3 = llama3Schema.safeParse(given);
  if (!llama3.success) throw new ModelError(typeField, kind, { expected: z.prettifyError(llama3.error) });
  return {
    theta,
    scaling: {
      factor: llama3.data.factor,
      lowFreqFactor: llama3.data.low_freq_factor,
      highFreqFactor: llama3.data.high_freq_factor,
      originalMaxPositionEmbeddings: config.original_max_position_embeddings ?? llama3.data.original_max_position_embeddings,
    },
  };
}
