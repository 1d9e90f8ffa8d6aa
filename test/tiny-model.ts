import { randomStream } from "../src/core/random.ts";
import { initialiseModel, saveModel } from "../src/engines/local/model-folder.ts";
import { lettersTokenizer, lettersVocabulary } from "./letters.ts";

const text = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));

/** Writes a transformer of some thousand random parameters that speaks in letters. */
export async function writeTinyModel(folder: string): Promise<void> {
  const config = {
    architecture: "qwen3",
    vocabSize: lettersVocabulary,
    eosTokenIds: [lettersVocabulary - 1],
    hiddenSize: 32,
    intermediateSize: 64,
    layers: 2,
    heads: 2,
    kvHeads: 1,
    headDim: 16,
    maxPositionEmbeddings: 256,
    rmsNormEps: 1e-6,
    rope: { theta: 10_000, scaling: undefined },
    attentionBias: false,
    qkNorm: true,
    tieWordEmbeddings: true,
  } as const;
  const companions = new Map([
    ["tokenizer.json", text(lettersTokenizer.tokenizer)],
    ["tokenizer_config.json", text(lettersTokenizer.config)],
  ]);
  await saveModel(folder, initialiseModel(config, randomStream(1, "weights"), companions), { dtype: "float32" });
}
