import { type ModelConfig, parseModelConfig } from "../src/engines/local/model/model-config.ts";

const common = { rms_norm_eps: 1e-6, tie_word_embeddings: true, max_position_embeddings: 32_768 };

/** Sizes of models on the Hub, as their `config.json` has them. */
export const shapes = {
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
  "qwen3-0.6b": {
    ...common,
    model_type: "qwen3",
    vocab_size: 151_936,
    hidden_size: 1024,
    intermediate_size: 3072,
    num_hidden_layers: 28,
    num_attention_heads: 16,
    num_key_value_heads: 8,
    head_dim: 128,
    max_position_embeddings: 40_960,
    rope_theta: 1e6,
  },
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
} as const;

export type ShapeName = keyof typeof shapes;

export function shapeOf(name: ShapeName): ModelConfig {
  return parseModelConfig(shapes[name], `config.json of ${name}`);
}
