import { initialiseModel, saveModel } from "../extensions/local/model/model-folder.ts";
import { makeTokenizer, type TokenizerFiles } from "../src/chat/tokenizer.ts";
import { randomStream } from "../src/core/random.ts";
import { lettersTokenizer } from "./letters.ts";

const text = (json: unknown) => new TextEncoder().encode(JSON.stringify(json));

/** Writes a transformer of some thousand random parameters. It speaks in letters, unless it is given another tokenizer's files. */
export async function writeTinyModel(
  folder: string,
  files: TokenizerFiles = lettersTokenizer,
  maxPositionEmbeddings = 256,
): Promise<void> {
  const { size, stopTokens } = makeTokenizer(files);
  const config = {
    architecture: "qwen3",
    vocabSize: size,
    eosTokenIds: stopTokens,
    hiddenSize: 32,
    intermediateSize: 64,
    layers: 2,
    heads: 2,
    kvHeads: 1,
    headDim: 16,
    maxPositionEmbeddings,
    rmsNormEps: 1e-6,
    rope: { theta: 10_000, scaling: undefined },
    attentionBias: false,
    qkNorm: true,
    tieWordEmbeddings: true,
  } as const;
  const companions = new Map([
    ["tokenizer.json", text(files.tokenizer)],
    ["tokenizer_config.json", text(files.config)],
  ]);
  await saveModel(folder, initialiseModel(config, randomStream(1, "weights"), companions), { dtype: "float32" });
}
