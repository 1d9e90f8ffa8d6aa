import { z } from "zod";

/**
 * Decoders of the Llama family, by `model_type` in `config.json`: all that differs between them. One entry is what another one needs
 * (docs/models.md shows how).
 */
interface Traits {
  /** The class of `transformers` that computes the same; `architectures` in `config.json`. */
  readonly className: string;
  /** Biases on the query, key and value projections. */
  readonly attentionBias: boolean;
  /** RMS norms of queries and keys per head, before the rotation. */
  readonly qkNorm: boolean;
  /** Where `config.json` has no `head_dim`; hidden_size / num_attention_heads if left out. */
  readonly headDim?: number;
  /** Returns what the layers see and how they rotate, as `transformers` reads the file. */
  readonly layers: (file: LayerFields) => Layers;
  /** Base of rotary positions where the file has none; 10,000 if left out. */
  readonly theta?: number;
  /** The same of layers with a window, which have rotary settings of their own (Gemma 3). */
  readonly slidingTheta?: number;
  /** Gemma's decoder: see `activation`, `sandwichNorms`, `normOffset` and `embeddingScale` of `ModelConfig`. */
  readonly gemma?: true;
  /** Where the file does not say whether the output projection is the embedding; not if left out. */
  readonly tied?: true;
  /** Modules whose names differ from Llama's, by Llama's. */
  readonly names?: Readonly<Record<string, string>>;
  /** The fields that a `config.json` must have for it beside the sizes, since `transformers` would assume something else. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A layer: with attention to everything before it, to a window of that, or to everything without rotary positions; or a short convolution. */
export type LayerType = "full" | "sliding" | "unrotated" | "conv";

export interface Layers {
  /** One for each layer; "full" for all if left out. */
  readonly types?: readonly LayerType[];
  /** Tokens that a "sliding" layer's queries see, themselves included. */
  readonly window?: number;
}

/** Beyond this a file is damaged: no model has it. */
export const size = z
  .int()
  .positive()
  .max(2 ** 31 - 1);

/** The fields of `config.json` about layers. To list the tensors of a billion of them would take hours. */
export const layerFields = z.object({
  num_hidden_layers: size.max(10_000),
  layer_types: z.array(z.string()).nullish(),
  sliding_window: size.nullish(),
  sliding_window_pattern: size.nullish(),
  use_sliding_window: z.boolean().default(false),
  max_window_layers: z.int().nullish(),
  no_rope_layers: z.array(z.int()).nullish(),
  no_rope_layer_interval: size.nullish(),
  full_attn_idxs: z.array(z.int()).nullish(),
});
type LayerFields = z.infer<typeof layerFields>;

export const architectures = {
  qwen3: { className: "Qwen3ForCausalLM", attentionBias: false, qkNorm: true, headDim: 128, layers: qwenLayers },
  qwen2: { className: "Qwen2ForCausalLM", attentionBias: true, qkNorm: false, layers: qwenLayers },
  llama: { className: "LlamaForCausalLM", attentionBias: false, qkNorm: false, layers: () => ({}) },
  mistral: {
    className: "MistralForCausalLM",
    attentionBias: false,
    qkNorm: false,
    layers: ({ num_hidden_layers, sliding_window = 4096 }) => windowed(sliding_window, num_hidden_layers, () => true),
    fields: { sliding_window: null },
  },
  gemma3_text: {
    className: "Gemma3ForCausalLM",
    attentionBias: false,
    qkNorm: true,
    headDim: 256,
    layers: gemmaLayers,
    theta: 1e6,
    slidingTheta: 1e4,
    gemma: true,
    tied: true,
  },
  smollm3: {
    className: "SmolLM3ForCausalLM",
    attentionBias: false,
    qkNorm: false,
    layers: smolLayers,
    theta: 2e6,
    tied: true,
    fields: { pad_token_id: null },
  },
  lfm2: {
    className: "Lfm2ForCausalLM",
    attentionBias: false,
    qkNorm: true,
    layers: lfmLayers,
    theta: 1e6,
    tied: true,
    names: {
      input_layernorm: "operator_norm",
      post_attention_layernorm: "ffn_norm",
      "self_attn.q_norm": "self_attn.q_layernorm",
      "self_attn.k_norm": "self_attn.k_layernorm",
      "self_attn.o_proj": "self_attn.out_proj",
      "mlp.gate_proj": "feed_forward.w1",
      "mlp.up_proj": "feed_forward.w3",
      "mlp.down_proj": "feed_forward.w2",
      "model.norm": "model.embedding_norm",
    },
  },
} as const satisfies Readonly<Record<string, Traits>>;

/** Families that people ask for: what the engine lacks for them, and what to take instead. */
export const unsupported: Readonly<Record<string, string>> = {
  gemma: "Gemma 1 is not computed: take Gemma 3's text models (270 M, 1 B).",
  gemma2: "Gemma 2 caps its logits by tanh, which is not computed: take Gemma 3's text models (270 M, 1 B).",
  gemma3: "Gemma 3 with images is not computed: take its text models (270 M, 1 B), whose model_type is gemma3_text.",
  gemma3n: "Gemma 3n's nested layers are not computed: take Gemma 3's text models (270 M, 1 B).",
  ...Object.fromEntries(
    ["qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_next"].map((name) => [
      name,
      "Its gated delta rule carries a state from token to token, which prefixes that samples share cannot be cut from: take Qwen3.",
    ]),
  ),
  ...Object.fromEntries(
    ["qwen2_moe", "qwen3_moe", "mixtral", "gpt_oss", "deepseek_v3", "lfm2_moe", "glm4_moe"].map((name) => [
      name,
      "Mixtures of experts are not computed: take a dense model.",
    ]),
  ),
};

export type Architecture = keyof typeof architectures;

export function isArchitecture(value: unknown): value is Architecture {
  return typeof value === "string" && Object.hasOwn(architectures, value);
}

/** One type for all, so that optional properties can be read from any. */
export function traitsOf(architecture: Architecture): Traits {
  return architectures[architecture];
}

export function moduleName(architecture: Architecture, name: string): string {
  return traitsOf(architecture).names?.[name] ?? name;
}

/** Those layers that `slides` names look back on a window; none where there is no window. */
function windowed(window: number | null, count: number, slides: (layer: number) => boolean): Layers {
  const types = Array.from({ length: count }, (_, layer): LayerType => (slides(layer) ? "sliding" : "full"));
  return window === null || !types.includes("sliding") ? {} : { types, window };
}

/** The first `max_window_layers` layers see everything. */
function qwenLayers({
  use_sliding_window,
  sliding_window = 4096,
  max_window_layers,
  num_hidden_layers,
  layer_types,
}: LayerFields): Layers {
  if (!use_sliding_window) return {};
  const slides = (layer: number) =>
    layer_types ? layer_types[layer] === "sliding_attention" : layer >= (max_window_layers ?? 28);
  return windowed(sliding_window, num_hidden_layers, slides);
}

/** Every sixth layer sees everything, unless the file says otherwise. */
function gemmaLayers({ sliding_window = 4096, sliding_window_pattern, num_hidden_layers, layer_types }: LayerFields): Layers {
  const slides = (layer: number) =>
    layer_types ? layer_types[layer] === "sliding_attention" : (layer + 1) % (sliding_window_pattern ?? 6) !== 0;
  return windowed(sliding_window, num_hidden_layers, slides);
}

/** Every fourth layer has no positions, unless the file says otherwise; 1 in its list is a layer that rotates. */
function smolLayers({ no_rope_layers, no_rope_layer_interval, num_hidden_layers }: LayerFields): Layers {
  const rotates = (layer: number) =>
    no_rope_layers ? no_rope_layers[layer] === 1 : (layer + 1) % (no_rope_layer_interval ?? 4) !== 0;
  return { types: Array.from({ length: num_hidden_layers }, (_, layer) => (rotates(layer) ? "full" : "unrotated")) };
}

/** Layers that the file does not name as attention are convolutions. */
function lfmLayers({ layer_types, full_attn_idxs, num_hidden_layers }: LayerFields): Layers {
  const attends = (layer: number) =>
    layer_types ? layer_types[layer] === "full_attention" : (full_attn_idxs?.includes(layer) ?? true);
  return { types: Array.from({ length: num_hidden_layers }, (_, layer) => (attends(layer) ? "full" : "conv")) };
}
