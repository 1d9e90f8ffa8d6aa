import { estimateMemory, type MemoryUse, totalBytes } from "./memory.ts";
import { type ModelConfig, parameterCount, parseModelConfig } from "./model/model-config.ts";
import type { BasePrecision } from "./model/rounded.ts";

const common = { rms_norm_eps: 1e-6, tie_word_embeddings: true, max_position_embeddings: 32_768 };

const smol = {
  ...common,
  model_type: "llama",
  vocab_size: 49_152,
  head_dim: 64,
  max_position_embeddings: 8192,
  rope_theta: 1e5,
};

const qwen3 = {
  ...common,
  model_type: "qwen3",
  vocab_size: 151_936,
  num_key_value_heads: 8,
  head_dim: 128,
  max_position_embeddings: 40_960,
  rope_theta: 1e6,
};

/** Sizes of published models, as their `config.json` has them. */
export const publishedSizes = {
  "qwen2.5-0.5b": {
    ...common,
    model_type: "qwen2",
    vocab_size: 151_936,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
    num_key_value_heads: 2,
    rope_theta: 1e6,
  },
  "qwen3-0.6b": { ...qwen3, hidden_size: 1024, intermediate_size: 3072, num_hidden_layers: 28, num_attention_heads: 16 },
  "smollm2-135m": {
    ...smol,
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
  },
  "smollm2-360m": {
    ...smol,
    hidden_size: 960,
    intermediate_size: 2560,
    num_hidden_layers: 32,
    num_attention_heads: 15,
    num_key_value_heads: 5,
  },
  "llama-3.2-1b": {
    ...common,
    model_type: "llama",
    vocab_size: 128_256,
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 16,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    head_dim: 64,
    max_position_embeddings: 131_072,
    rope_theta: 5e5,
  },
  "qwen2.5-1.5b": {
    ...common,
    model_type: "qwen2",
    vocab_size: 151_936,
    hidden_size: 1536,
    intermediate_size: 8960,
    num_hidden_layers: 28,
    num_attention_heads: 12,
    num_key_value_heads: 2,
    rope_theta: 1e6,
  },
  "qwen3-1.7b": { ...qwen3, hidden_size: 2048, intermediate_size: 6144, num_hidden_layers: 28, num_attention_heads: 16 },
  "qwen2.5-3b": {
    ...common,
    model_type: "qwen2",
    vocab_size: 151_936,
    hidden_size: 2048,
    intermediate_size: 11_008,
    num_hidden_layers: 36,
    num_attention_heads: 16,
    num_key_value_heads: 2,
    rope_theta: 1e6,
  },
  "qwen3-4b": { ...qwen3, hidden_size: 2560, intermediate_size: 9728, num_hidden_layers: 36, num_attention_heads: 32 },
  "gemma3-270m": {
    ...common,
    model_type: "gemma3_text",
    vocab_size: 262_144,
    hidden_size: 640,
    intermediate_size: 2048,
    num_hidden_layers: 18,
    num_attention_heads: 4,
    num_key_value_heads: 1,
    head_dim: 256,
    rope_theta: 1e6,
    rope_local_base_freq: 1e4,
    sliding_window: 512,
    query_pre_attn_scalar: 256,
  },
  "smollm2-1.7b": {
    ...smol,
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 24,
    num_attention_heads: 32,
    num_key_value_heads: 32,
    rope_theta: 1.3e5,
  },
} as const;

export type PublishedName = keyof typeof publishedSizes;

/** Their names on the Hub. */
export const hubNames: Readonly<Record<PublishedName, string>> = {
  "qwen2.5-0.5b": "Qwen/Qwen2.5-0.5B-Instruct",
  "qwen3-0.6b": "Qwen/Qwen3-0.6B",
  "smollm2-135m": "HuggingFaceTB/SmolLM2-135M-Instruct",
  "smollm2-360m": "HuggingFaceTB/SmolLM2-360M-Instruct",
  "llama-3.2-1b": "meta-llama/Llama-3.2-1B-Instruct",
  "qwen2.5-1.5b": "Qwen/Qwen2.5-1.5B-Instruct",
  "qwen3-1.7b": "Qwen/Qwen3-1.7B",
  "qwen2.5-3b": "Qwen/Qwen2.5-3B-Instruct",
  "qwen3-4b": "Qwen/Qwen3-4B",
  "gemma3-270m": "google/gemma-3-270m-it",
  "smollm2-1.7b": "HuggingFaceTB/SmolLM2-1.7B-Instruct",
};

/** The largest model of a family of which an adapter can be trained. */
export interface Largest {
  readonly hubName: string;
  /** The precision that its base has to be held in. */
  readonly base: BasePrecision;
  readonly bytes: number;
}

/**
 * Finds the largest published model with the architecture and the vocabulary of another of which an adapter of rank 32 can be trained, its base in as
 * many bits as fit. Undefined if none fits, or the family is not known.
 */
export function largestOfFamily(
  { architecture, vocabSize }: ModelConfig,
  use: MemoryUse,
  available: number,
): Largest | undefined {
  const family = (Object.keys(publishedSizes) as PublishedName[])
    .map((name) => ({ name, config: parseModelConfig(publishedSizes[name], name) }))
    .filter(({ config }) => config.architecture === architecture && config.vocabSize === vocabSize)
    .sort((a, b) => parameterCount(b.config) - parameterCount(a.config));
  for (const { name, config } of family)
    for (const base of ["float32", "int8", "int4"] as const) {
      const lora = { rank: 32, alpha: 32, targets: "all-linear", base } as const;
      const bytes = totalBytes(estimateMemory(config, { ...use, training: true, lora, weights: undefined }));
      if (bytes <= available) return { hubName: hubNames[name], base, bytes };
    }
  return undefined;
}
