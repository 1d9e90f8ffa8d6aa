import { type ModelConfig, parseModelConfig } from "../src/engines/local/model/model-config.ts";
import { publishedSizes } from "../src/engines/local/published-sizes.ts";

const common = { rms_norm_eps: 1e-6, tie_word_embeddings: true, max_position_embeddings: 32_768 };

const small = { ...common, model_type: "qwen2", head_dim: 64, num_key_value_heads: 2, rope_theta: 1e4 };

/** Sizes of models, as their `config.json` has them: three between the default model and those on the Hub, then some of these. */
export const shapes = {
  "5m": {
    ...small,
    vocab_size: 1024,
    hidden_size: 256,
    intermediate_size: 768,
    num_hidden_layers: 6,
    num_attention_heads: 4,
  },
  "30m": {
    ...small,
    vocab_size: 8192,
    hidden_size: 512,
    intermediate_size: 1536,
    num_hidden_layers: 8,
    num_attention_heads: 8,
  },
  "100m": {
    ...small,
    vocab_size: 50_000,
    hidden_size: 768,
    intermediate_size: 2048,
    num_hidden_layers: 10,
    num_attention_heads: 12,
  },
  ...publishedSizes,
} as const;

export type ShapeName = keyof typeof shapes;

export function shapeOf(name: ShapeName): ModelConfig {
  return parseModelConfig(shapes[name], `config.json of ${name}`);
}
