import { randomStream } from "../src/core/random.ts";
import type { ActionInContext, TokenId } from "../src/core/trajectory.ts";
import type { ModelConfig } from "../src/engines/local/model-config.ts";
import { initialiseModel, saveModel } from "../src/engines/local/model-folder.ts";

/** Qwen3 with 5 million parameters: the size that the default environment is trained with, and a little more. */
const config: ModelConfig = {
  architecture: "qwen3",
  vocabSize: 1024,
  hiddenSize: 256,
  intermediateSize: 768,
  layers: 6,
  heads: 4,
  kvHeads: 2,
  headDim: 64,
  maxPositionEmbeddings: 4096,
  rmsNormEps: 1e-6,
  rope: { theta: 1e6, scaling: undefined },
  attentionBias: false,
  qkNorm: true,
  tieWordEmbeddings: true,
  eosTokenIds: [],
};

/** Writes a random model that both engines load. */
export async function writeBenchmarkModel(folder: string): Promise<void> {
  await saveModel(folder, initialiseModel(config, randomStream(1, "benchmark", "weights")), { dtype: "float32" });
}

export function randomTokens(length: number, ...names: readonly (string | number)[]): TokenId[] {
  const random = randomStream(1, "benchmark", ...names);
  return Array.from({ length }, () => random.integer(config.vocabSize));
}

/** Rows of unrelated random tokens: all but the first of each are trained, and nothing is shared. */
export function denseBatch(rows: number, length: number): ActionInContext[] {
  return Array.from({ length: rows }, (_, row) => {
    const tokens = randomTokens(length, "row", row);
    return { trajectory: String(row), turn: 0, context: tokens.slice(0, 1), action: tokens.slice(1) };
  });
}
