import { estimateMemory, type MemoryUse, totalBytes } from "./memory.ts";
import { type ModelConfig, parameterCount, parseModelConfig } from "./model/model-config.ts";
import type { BasePrecision } from "./model/rounded.ts";

/** The part of a `config.json` that a family shares. */
const common = { rms_norm_eps: 1e-6, tie_word_embeddings: true, max_position_embeddings: 32_768 };
const qwen2 = { ...common, model_type: "qwen2", vocab_size: 151_936, rope_theta: 1e6 };
const qwen3 = { ...qwen2, model_type: "qwen3", head_dim: 128, max_position_embeddings: 40_960 };
const smol = {
  ...{ ...common, model_type: "llama", vocab_size: 49_152, head_dim: 64, max_position_embeddings: 8192, rope_theta: 1e5 },
};
const llama = { ...smol, vocab_size: 128_256, max_position_embeddings: 131_072, rope_theta: 5e5 };
const gemma = {
  ...{ ...common, model_type: "gemma3_text", vocab_size: 262_144, head_dim: 256, rope_theta: 1e6, rope_local_base_freq: 1e4 },
  ...{ sliding_window: 512, query_pre_attn_scalar: 256 },
};

/** The `config.json` of one of them. */
export function sized<Family extends object>(
  family: Family,
  hidden: number,
  intermediate: number,
  layers: number,
  heads: number,
  kvHeads: number,
) {
  return {
    ...{ ...family, hidden_size: hidden, intermediate_size: intermediate, num_hidden_layers: layers },
    ...{ num_attention_heads: heads, num_key_value_heads: kvHeads },
  };
}

/** Sizes of published models, as their `config.json` has them, by the names that `--model` takes. */
export const publishedSizes = {
  "qwen2.5-0.5b": sized(qwen2, 896, 4864, 24, 14, 2),
  "qwen3-0.6b": sized(qwen3, 1024, 3072, 28, 16, 8),
  smollm2: sized(smol, 576, 1536, 30, 9, 3),
  "smollm2-360m": sized(smol, 960, 2560, 32, 15, 5),
  "llama-3.2-1b": sized(llama, 2048, 8192, 16, 32, 8),
  "qwen2.5-1.5b": sized(qwen2, 1536, 8960, 28, 12, 2),
  "qwen3-1.7b": sized(qwen3, 2048, 6144, 28, 16, 8),
  "qwen2.5-3b": sized(qwen2, 2048, 11_008, 36, 16, 2),
  "qwen3-4b": sized(qwen3, 2560, 9728, 36, 32, 8),
  gemma3: sized(gemma, 640, 2048, 18, 4, 1),
  "smollm2-1.7b": sized({ ...smol, rope_theta: 1.3e5 }, 2048, 8192, 24, 32, 32),
} as const;

export type PublishedName = keyof typeof publishedSizes;

/** The largest model of a family of which an adapter can be trained. */
export interface Largest {
  readonly name: PublishedName;
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
      if (bytes <= available) return { name, base, bytes };
    }
  return undefined;
}
