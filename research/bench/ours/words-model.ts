/** Writes a random model whose tokens are words, for a task of words alone: words-model.ts FOLDER, of SmolLM2-135M's shape, with as many words as it has tokens */
import { fileURLToPath } from "node:url";
import { addedToken } from "../../../extensions/local/model/gguf/tokenizer.ts";
import type { ModelConfig } from "../../../extensions/local/model/model-config.ts";
import { type Model, saveModel } from "../../../extensions/local/model/model-folder.ts";
import { quickModel } from "../model.ts";
import { shapeOf } from "../shapes.ts";
import { words } from "../words.ts";

export function wordsModel(config: ModelConfig): Model {
  const specials = ["<eos>", "<pad>"];
  const further = Array.from({ length: config.vocabSize - words.length - specials.length }, (_, i) => `w${words.length + i}`);
  const vocabulary = [...words, ...specials, ...further];
  const tokenizer = {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specials.map((content) => addedToken(content, vocabulary.indexOf(content), true)),
    normalizer: null,
    pre_tokenizer: { type: "WhitespaceSplit" },
    post_processor: null,
    decoder: null,
    model: { type: "WordLevel", vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])), unk_token: words[0] },
  };
  const tokenizerConfig = {
    tokenizer_class: "PreTrainedTokenizerFast",
    eos_token: "<eos>",
    pad_token: "<pad>",
    // A request is its words, an answer ends with <eos>.
    chat_template:
      "{%- for message in messages -%}{{- message.content -}}{%- if message.role == 'assistant' -%}{{- '<eos>' -}}{%- endif -%}{%- endfor -%}",
  };
  const files = { "tokenizer.json": tokenizer, "tokenizer_config.json": tokenizerConfig };
  const companions = new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(JSON.stringify(content))]));
  const eosTokenIds = [vocabulary.indexOf("<eos>")];
  return { ...quickModel({ ...config, eosTokenIds }), companions };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await saveModel(process.argv[2] ?? "", wordsModel(shapeOf("smollm2")), { dtype: "float32" });
