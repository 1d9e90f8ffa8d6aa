import { type Architecture, moduleName } from "../architectures.ts";
import { formatScaling, isSameRescaling, llama3Rescaling } from "../rope.ts";
import type { Gguf, GgufTensor } from "./file.ts";
import { Metadata } from "./metadata.ts";

/** Architectures by llama.cpp's names, and whether it interleaves the rows of queries and keys (GPT-J's rotation). */
const known: Readonly<Record<string, { readonly is: Architecture; readonly interleaved?: true }>> = {
  llama: { is: "llama", interleaved: true },
  qwen2: { is: "qwen2" },
  qwen3: { is: "qwen3" },
  gemma3: { is: "gemma3_text" },
  smollm3: { is: "smollm3", interleaved: true },
  lfm2: { is: "lfm2" },
};

/** The architectures that are read, by llama.cpp's names. */
const ggufArchitectures: readonly string[] = Object.keys(known);

/** The name that llama.cpp has for an architecture. @returns undefined for one that it stores as another */
export function ggufArchitecture(architecture: Architecture): string | undefined {
  return architecture === "mistral" ? "llama" : ggufArchitectures.find((name) => known[name].is === architecture);
}

/** Whether the rows of queries and keys of an architecture are interleaved in its files. */
export function isInterleaved(architecture: Architecture): boolean {
  return known[ggufArchitecture(architecture) ?? ""]?.interleaved ?? false;
}

/**
 * The `config.json` that a GGUF file's metadata amounts to. Sizes that no tensor confirms are checked where the weights are read.
 * @throws ModelError naming the field that is missing or not computed
 */
export function configOf(gguf: DescribedGguf, file: string, frequencies: Float32Array | undefined): Record<string, unknown> {
  const fields = new Metadata(gguf, file);
  const name = fields.required("general.architecture", fields.text("general.architecture"));
  const architecture = Object.hasOwn(known, name) ? known[name].is : undefined;
  if (architecture === undefined)
    fields.refuse("general.architecture", ggufArchitectures, "docs/models.md says which architectures are computed.");
  const key = (field: string) => `${name}.${field}`;
  const number = (field: string) => fields.number(key(field));
  const needed = (field: string) => fields.required(key(field), number(field));
  const hidden = needed("embedding_length");
  const heads = needed("attention.head_count");
  const kvHeads = kvHeadsOf(fields, key("attention.head_count_kv")) ?? heads;
  const headDim = number("attention.key_length") ?? hidden / heads;
  const rotated = number("rope.dimension_count");
  const theta = number("rope.freq_base") ?? 10_000;
  return {
    model_type: architecture,
    vocab_size: vocabularyOf(gguf, fields),
    hidden_size: hidden,
    intermediate_size: needed("feed_forward_length"),
    num_hidden_layers: needed("block_count"),
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    max_position_embeddings: needed("context_length"),
    rms_norm_eps: short(needed("attention.layer_norm_rms_epsilon")),
    rope_theta: short(theta),
    rope_scaling: scalingOf(fields, key, { theta, headDim, frequencies }),
    ...(rotated !== undefined && rotated !== headDim && { partial_rotary_factor: rotated / headDim }),
    tie_word_embeddings: !gguf.tensors.has("output.weight"),
    eos_token_id: endIds(fields),
    bos_token_id: fields.number("tokenizer.ggml.bos_token_id") ?? null,
    torch_dtype: "float32",
    ...(architecture === "gemma3_text" && gemmaFields(fields, key, { hidden, heads, headDim })),
    ...(architecture === "lfm2" && lfmFields(gguf, fields, key)),
  };
}

/** A header, as far as it decides the settings. */
export interface DescribedGguf extends Pick<Gguf, "metadata"> {
  readonly tensors: ReadonlyMap<string, Pick<GgufTensor, "shape">>;
}

/** Tokens that end a message: the end of text, and of a turn where that is another. */
function endIds(fields: Metadata): number[] {
  const ids = ["eos", "eot", "eom"].flatMap((end) => fields.number(`tokenizer.ggml.${end}_token_id`) ?? []);
  return [...new Set(ids)];
}

/** LFM2's is a list, with 0 for convolutions. */
function kvHeadsOf(fields: Metadata, key: string): number | undefined {
  const value = fields.raw(key);
  return Array.isArray(value) ? Math.max(0, ...(fields.numbers(key) ?? [])) || undefined : fields.number(key);
}

function vocabularyOf({ tensors }: DescribedGguf, fields: Metadata): number {
  return fields.required("tensor token_embd.weight", tensors.get("token_embd.weight")?.shape[0]);
}

interface Rotation {
  readonly theta: number;
  readonly headDim: number;
  /** Divisors of the frequencies, from `rope_freqs.weight`. */
  readonly frequencies: Float32Array | undefined;
}

function scalingOf(fields: Metadata, key: (field: string) => string, { theta, headDim, frequencies }: Rotation): unknown {
  const type = fields.text(key("rope.scaling.type")) ?? "none";
  if (type !== "none") return { rope_type: type, factor: short(fields.number(key("rope.scaling.factor")) ?? 1) };
  if (frequencies === undefined) return null;
  const original = fields.number(key("rope.scaling.original_context_length"));
  const rope = { theta, scaling: llama3Rescaling(short(Math.max(...frequencies)), original) };
  if (!isSameRescaling(frequencies, rope, headDim))
    fields.refuse("rope_freqs.weight", "Llama 3's rescaling, or none", "Other rescaled positions are not computed.");
  return formatScaling(rope);
}

function gemmaFields(
  fields: Metadata,
  key: (field: string) => string,
  { hidden, heads, headDim }: { readonly hidden: number; readonly heads: number; readonly headDim: number },
): Record<string, unknown> {
  const window = fields.number(key("attention.sliding_window"));
  return {
    sliding_window: window ?? null,
    rope_local_base_freq: 10_000,
    // As llama.cpp has it: 27 B, by its 62 layers, scales by the width of a head that its hidden size would give.
    query_pre_attn_scalar: fields.number(key("block_count")) === 62 ? hidden / heads : headDim,
    final_logit_softcapping: fields.number(key("final_logit_softcapping")) ?? null,
  };
}

function lfmFields({ tensors }: DescribedGguf, fields: Metadata, key: (field: string) => string): Record<string, unknown> {
  const layers = fields.number(key("block_count")) ?? 0;
  const attends = (layer: number) => tensors.has(`blk.${layer}.attn_q.weight`);
  return {
    norm_eps: short(fields.number(key("attention.layer_norm_rms_epsilon")) ?? 1e-5),
    conv_L_cache: fields.number(key("shortconv.l_cache")) ?? 3,
    block_auto_adjust_ff_dim: false,
    layer_types: Array.from({ length: Math.min(layers, 10_000) }, (_, i) => (attends(i) ? "full_attention" : "conv")),
  };
}

/** A float32 as the short decimal number that it was made from: 9.999999747378752e-6 is 1e-5. */
function short(value: number): number {
  return Number(value.toPrecision(7));
}

/** Modules of a layer by llama.cpp's names, and Llama's. */
const layerModules = {
  attn_norm: "input_layernorm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_output: "self_attn.o_proj",
  attn_q_norm: "self_attn.q_norm",
  attn_k_norm: "self_attn.k_norm",
  "shortconv.in_proj": "conv.in_proj",
  "shortconv.conv": "conv.conv",
  "shortconv.out_proj": "conv.out_proj",
  ffn_norm: "post_attention_layernorm",
  ffn_gate: "mlp.gate_proj",
  ffn_up: "mlp.up_proj",
  ffn_down: "mlp.down_proj",
};
const gemmaModules = {
  post_attention_norm: "post_attention_layernorm",
  ffn_norm: "pre_feedforward_layernorm",
  post_ffw_norm: "post_feedforward_layernorm",
};

/** llama.cpp's name of every tensor of a model, by Hugging Face's. */
export function ggufNames(architecture: Architecture, layers: number): Map<string, string> {
  const norm = architecture === "lfm2" ? "token_embd_norm" : "output_norm";
  const names = new Map([
    ["model.embed_tokens.weight", "token_embd.weight"],
    [`${moduleName(architecture, "model.norm")}.weight`, `${norm}.weight`],
    ["lm_head.weight", "output.weight"],
  ]);
  const modules = Object.entries({ ...layerModules, ...(architecture === "gemma3_text" && gemmaModules) });
  for (let layer = 0; layer < layers; layer++)
    for (const [gguf, llama] of modules)
      for (const kind of ["weight", "bias"])
        names.set(`model.layers.${layer}.${moduleName(architecture, llama)}.${kind}`, `blk.${layer}.${gguf}.${kind}`);
  return names;
}
