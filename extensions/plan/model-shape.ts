import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ConfigError } from "../../src/core/errors.ts";
import { parseJson } from "../../src/core/json.ts";
import { didYouMean } from "../../src/core/settings.ts";
import { hubNames, type PublishedName, publishedSizes } from "../../src/engines/local/published-sizes.ts";

/** The sizes of a dense decoder-only transformer of the Llama family. */
export interface ModelShape {
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly vocabulary: number;
  /** Whether the head is the embedding. */
  readonly tied: boolean;
}

type Row = readonly [
  layers: number,
  hidden: number,
  intermediate: number,
  heads: number,
  kvHeads: number,
  headDim: number,
  vocabulary: number,
  tied: boolean,
];

/** As their `config.json` on the Hugging Face Hub says: those that no laptop trains. */
const large: Readonly<Record<string, Row>> = {
  "Qwen/Qwen3-8B": [36, 4096, 12_288, 32, 8, 128, 151_936, false],
  "Qwen/Qwen3-14B": [40, 5120, 17_408, 40, 8, 128, 151_936, false],
  "Qwen/Qwen3-32B": [64, 5120, 25_600, 64, 8, 128, 151_936, false],
  "Qwen/Qwen2.5-7B-Instruct": [28, 3584, 18_944, 28, 4, 128, 152_064, false],
  "Qwen/Qwen2.5-14B-Instruct": [48, 5120, 13_824, 40, 8, 128, 152_064, false],
  "Qwen/Qwen2.5-32B-Instruct": [64, 5120, 27_648, 40, 8, 128, 152_064, false],
  "meta-llama/Llama-3.2-3B-Instruct": [28, 3072, 8192, 24, 8, 128, 128_256, true],
  "meta-llama/Llama-3.1-8B-Instruct": [32, 4096, 14_336, 32, 8, 128, 128_256, false],
  "meta-llama/Llama-3.1-70B-Instruct": [80, 8192, 28_672, 64, 8, 128, 128_256, false],
};

/** Those that may be trained here, by their names on the Hub. */
const small: Readonly<Record<string, object>> = Object.fromEntries(
  (Object.keys(publishedSizes) as PublishedName[]).map((name) => [hubNames[name], publishedSizes[name]]),
);

const knownModels: readonly string[] = [...Object.keys(small), ...Object.keys(large)];

const size = z.int().positive();
const fileSchema = z.looseObject({
  hidden_size: size,
  intermediate_size: size,
  num_hidden_layers: size,
  num_attention_heads: size,
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  vocab_size: size,
  tie_word_embeddings: z.boolean().default(false),
  num_experts: z.unknown().optional(),
  num_local_experts: z.unknown().optional(),
});

/**
 * Returns the shape of a model: a folder with `config.json`, or one of the known names.
 * @throws ConfigError if it is neither, or a mixture of experts
 */
export function modelShape(model: string): ModelShape {
  const file = join(model, "config.json");
  if (existsSync(file)) return shapeIn(file, model);
  const published = small[model];
  if (published !== undefined) return shapeOf(fileSchema.parse(published), model);
  const row = large[model];
  if (row === undefined) {
    throw new ConfigError("--model", model, {
      expected: "a folder with config.json, or a known model",
      hint: didYouMean(model, knownModels) ?? `Known are ${knownModels.join(", ")}.`,
    });
  }
  const [layers, hidden, intermediate, heads, kvHeads, headDim, vocabulary, tied] = row;
  return { name: model, layers, hidden, intermediate, heads, kvHeads, headDim, vocabulary, tied };
}

function shapeIn(file: string, name: string): ModelShape {
  const failed = (expected: string, cause?: unknown) => new ConfigError("--model", file, { expected, cause });
  const config = parseJson(readFileSync(file, "utf8"), fileSchema, failed);
  if (config.num_experts !== undefined || config.num_local_experts !== undefined)
    throw failed("a dense model: mixtures of experts have other costs");
  return shapeOf(config, name);
}

function shapeOf(config: z.output<typeof fileSchema>, name: string): ModelShape {
  const heads = config.num_attention_heads;
  return {
    name,
    layers: config.num_hidden_layers,
    hidden: config.hidden_size,
    intermediate: config.intermediate_size,
    heads,
    kvHeads: config.num_key_value_heads ?? heads,
    headDim: config.head_dim ?? config.hidden_size / heads,
    vocabulary: config.vocab_size,
    tied: config.tie_word_embeddings,
  };
}

/** Parameters of one layer's matrices; norms are left out. */
export function layerParameters({ hidden, intermediate, heads, kvHeads, headDim }: ModelShape): number {
  return hidden * headDim * (2 * heads + 2 * kvHeads) + 3 * hidden * intermediate;
}

export function parameters(shape: ModelShape): number {
  const embeddings = shape.vocabulary * shape.hidden * (shape.tied ? 1 : 2);
  return shape.layers * layerParameters(shape) + embeddings;
}

/** Parameters of a LoRA adapter on all linear modules of the layers. */
export function adapterParameters({ layers, hidden, intermediate, heads, kvHeads, headDim }: ModelShape, rank: number): number {
  const attention = 2 * (hidden + heads * headDim) + 2 * (hidden + kvHeads * headDim);
  return layers * rank * (attention + 3 * (hidden + intermediate));
}

/**
 * Floating-point operations of one forward pass over a token: 2 for each weight of the matrices, and attention's 4·L·H·d for each token that is
 * looked at (PaLM, arXiv:2204.02311, appendix B, without its backward half).
 * @param attended tokens that a token looks at, on average
 */
export function forwardFlops(shape: ModelShape, attended: number): number {
  const matrices = shape.layers * layerParameters(shape) + shape.vocabulary * shape.hidden;
  return 2 * matrices + 4 * shape.layers * shape.heads * shape.headDim * attended;
}

/** Bytes of keys and values of one token, in 16-bit numbers. */
export function cacheBytes({ layers, kvHeads, headDim }: ModelShape): number {
  return 4 * layers * kvHeads * headDim;
}
