import { randomStream } from "../src/core/random.ts";
import type { ActionInContext, TokenId } from "../src/core/trajectory.ts";
import type { ModelConfig } from "../src/engines/local/model/model-config.ts";
import { initialiseModel, saveModel } from "../src/engines/local/model/model-folder.ts";

/** Qwen3 with 5 million parameters: the size that the default environment is trained with, and a little more. */
const small: ModelConfig = {
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

/** Random models by their number of parameters, which is also the name of the folder that `writeBenchmarkModel` makes. */
export const benchmarkModels: Readonly<Record<string, ModelConfig>> = {
  "5m": small,
  "27m": { ...small, vocabSize: 4096, hiddenSize: 512, intermediateSize: 1536, layers: 8, heads: 8, kvHeads: 4 },
};

/** Writes a random model that both engines load. @param companions further files of the folder, by name */
export async function writeBenchmarkModel(
  folder: string,
  config: ModelConfig,
  companions: ReadonlyMap<string, Uint8Array> = new Map(),
): Promise<void> {
  await saveModel(folder, initialiseModel(config, randomStream(1, "benchmark", "weights"), companions), { dtype: "float32" });
}

export function randomTokens(vocabSize: number, length: number, ...names: readonly (string | number)[]): TokenId[] {
  const random = randomStream(1, "benchmark", ...names);
  return Array.from({ length }, () => random.integer(vocabSize));
}

/** Rows of unrelated random tokens: all but the first of each are trained, and nothing is shared. */
export function denseBatch(vocabSize: number, rows: number, length: number): ActionInContext[] {
  return Array.from({ length: rows }, (_, row) => {
    const tokens = randomTokens(vocabSize, length, "row", row);
    return { trajectory: String(row), turn: 0, context: tokens.slice(0, 1), action: tokens.slice(1) };
  });
}
