import { expect, test } from "vitest";
import { parseModelConfig } from "../model-config.ts";
import { tokenizerFields } from "./tokenizer-fields.ts";

const config = (changes: object = {}) =>
  parseModelConfig(
    {
      ...{ model_type: "llama", vocab_size: 6, hidden_size: 8, intermediate_size: 8, num_hidden_layers: 1 },
      ...{ num_attention_heads: 2, max_position_embeddings: 8, ...changes },
    },
    "config.json",
  );
const tokenizer = {
  pre_tokenizer: { type: "ByteLevel", use_regex: true },
  added_tokens: [
    { id: 3, content: "<end>", special: true },
    { id: 4, content: "<tool>" },
  ],
  model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: ["a b", ["ab", "a"]] },
};
const bytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
const fields = (files: Readonly<Record<string, unknown>>, changes?: object) =>
  tokenizerFields(
    new Map(Object.entries({ "tokenizer.json": tokenizer, ...files }).map(([name, value]) => [name, bytes(value)])),
    config(changes),
  );

test("a tokenizer's fields are its tokens by id, their kinds, merges, named ids and templates", () => {
  const settings = {
    ...{ bos_token: "a", eos_token: { content: "<end>" }, pad_token: "nothing" },
    chat_template: [
      { name: "default", template: "T" },
      { name: "tool_use", template: "U" },
      { name: "rag", template: "R" },
    ],
  };
  expect(fields({ "tokenizer_config.json": settings })).toEqual({
    pre: "gpt-2",
    tokens: ["a", "b", "ab", "<end>", "<tool>", "[PAD5]"],
    types: [1, 1, 1, 3, 4, 5],
    merges: ["a b", "ab a"],
    ids: { bos: 0, eos: 3 },
    chatTemplates: new Map([
      ["default", "T"],
      ["tool_use", "U"],
    ]),
  });
});

test("ends are the model's before the tokenizer's, and templates those of files before those of settings", () => {
  const settings = { eos_token: "<end>", pad_token: "b", chat_template: "S" };
  const { ids, chatTemplates } = fields(
    { "tokenizer_config.json": settings, "additional_chat_templates/tool_use.jinja": "U" },
    { eos_token_id: [1, 2] },
  );
  expect([ids, [...chatTemplates]]).toEqual([
    { eos: 1, eot: 2, padding: 1 },
    [
      ["default", "S"],
      ["tool_use", "U"],
    ],
  ]);
  expect([...fields({ "tokenizer_config.json": settings, "chat_template.jinja": "F" }).chatTemplates]).toEqual([
    ["default", "F"],
  ]);
  const bare = fields({});
  expect([bare.ids, bare.chatTemplates.size]).toEqual([{}, 0]);
  expect(fields({ "tokenizer_config.json": { bos_token: null, chat_template: null } }).ids).toEqual({});
});

test("another kind of tokenizer, and cuts without a name, are refused with what writes them", () => {
  const refusal = (files: Readonly<Record<string, unknown>>) => {
    try {
      return fields(files);
    } catch (error) {
      return String(error);
    }
  };
  const unigram = { ...tokenizer, model: { ...tokenizer.model, type: "Unigram" } };
  expect(refusal({ "tokenizer.json": unigram })).toMatch(
    /^ModelError: tokenizer\.json as GGUF is "of another kind"; expected byte-level BPE\. .*model\.type/s,
  );
  expect(() => tokenizerFields(new Map(), config())).toThrow(/^tokenizer\.json as GGUF is missing; expected byte-level BPE/);
  const said =
    "expected one that llama.cpp has a name for. The bundled models cut texts in a way of their own, so llama.cpp would read other ids. Export with --to hf (transformers, vLLM) or --to onnx (transformers.js), serve the run with `retrograde-rl serve --inference`, or train a published model.";
  expect(refusal({ "tokenizer.json": { ...tokenizer, pre_tokenizer: { type: "Whitespace" } } })).toBe(
    `ModelError: pre_tokenizer of tokenizer.json as GGUF is "its own"; ${said}`,
  );
  expect(refusal({ "tokenizer.json": { ...tokenizer, model: { ...tokenizer.model, byte_fallback: true } } })).toBe(
    `ModelError: pre_tokenizer of tokenizer.json as GGUF is "gpt-2"; ${said}`,
  );
});
