import { type ModelConfig, parseModelConfig } from "../../extensions/local/model/model-config.ts";
import { publishedSizes, sized } from "../../extensions/local/published-sizes.ts";

const small = {
  ...{ rms_norm_eps: 1e-6, tie_word_embeddings: true, max_position_embeddings: 32_768 },
  ...{ model_type: "qwen2", head_dim: 64, rope_theta: 1e4 },
};

/** Sizes of models, as their `config.json` has them: three between the default model and those on the Hub, then some of these. */
export const shapes = {
  "5m": sized({ ...small, vocab_size: 1024 }, 256, 768, 6, 4, 2),
  "30m": sized({ ...small, vocab_size: 8192 }, 512, 1536, 8, 8, 2),
  "100m": sized({ ...small, vocab_size: 50_000 }, 768, 2048, 10, 12, 2),
  ...publishedSizes,
} as const;

export type ShapeName = keyof typeof shapes;

export function shapeOf(name: ShapeName): ModelConfig {
  return parseModelConfig(shapes[name], `config.json of ${name}`);
}
