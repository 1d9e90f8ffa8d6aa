import type { ModelConfig } from "../../extensions/local/model/model-config.ts";
import { initialiseModel } from "../../extensions/local/model/model-folder.ts";
import { makeChat } from "../../src/chat/chat.ts";
import { makeTokenizer } from "../../src/chat/tokenizer.ts";
import type { Message } from "../../src/core/messages.ts";
import { randomStream } from "../../src/core/random.ts";
import { type TokenizerOptions, trainTokenizer } from "./tokenizer.ts";

/** 2.0 million parameters: 4 MB in 16 bits. */
const architecture: Omit<ModelConfig, "vocabSize" | "eosTokenIds"> = {
  architecture: "qwen3",
  hiddenSize: 192,
  intermediateSize: 640,
  layers: 4,
  heads: 6,
  kvHeads: 2,
  headDim: 32,
  maxPositionEmbeddings: 1024,
  rmsNormEps: 1e-6,
  rope: { theta: 10_000, scaling: undefined },
  attentionBias: false,
  qkNorm: true,
  tieWordEmbeddings: true,
};

/** A model from nothing: a tokenizer learned from conversations, and a Qwen3-shaped model with random weights. */
export function newModel(conversations: Iterable<readonly Message[]>, options: TokenizerOptions, seed: number) {
  const { tokenizer: tokenizerJson, config: tokenizerConfig } = trainTokenizer(conversations, options);
  const chat = makeChat(makeTokenizer({ tokenizer: tokenizerJson, config: tokenizerConfig }));
  const text = (json: unknown) => new TextEncoder().encode(`${JSON.stringify(json, null, 1)}\n`);
  const companions = new Map([
    ["tokenizer.json", text(tokenizerJson)],
    ["tokenizer_config.json", text(tokenizerConfig)],
    ["generation_config.json", text({ eos_token_id: [...chat.tokenizer.stopTokens] })],
  ]);
  const config = { ...architecture, vocabSize: chat.tokenizer.size, eosTokenIds: chat.tokenizer.stopTokens };
  return { start: initialiseModel(config, randomStream(seed, "weights"), companions), chat };
}
