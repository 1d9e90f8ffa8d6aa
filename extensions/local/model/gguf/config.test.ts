import { expect, test } from "vitest";
import { divisorsOf, llama3Rescaling } from "../rope.ts";
import { configOf, ggufArchitecture, ggufNames, isInterleaved } from "./config.ts";
import type { GgufValue } from "./reader.ts";

/** A file's settings under an architecture's own keys, and the shapes of its tensors. */
const sizes = {
  ...{ embedding_length: 64, block_count: 2, feed_forward_length: 96, context_length: 512, "attention.head_count": 4 },
  ...{ "attention.layer_norm_rms_epsilon": Math.fround(1e-5), "attention.head_count_kv": 2 },
};
function settings(
  name: string,
  changes: Readonly<Record<string, GgufValue | undefined>> = {},
  { names = ["output.weight"], divisors }: { readonly names?: readonly string[]; readonly divisors?: Float32Array } = {},
) {
  const own = Object.entries({ ...sizes, ...changes }).map(([key, value]) => [
    key.includes("ggml") ? key : `${name}.${key}`,
    value,
  ]);
  const metadata = new Map<string, GgufValue>([
    ["general.architecture", name],
    ...own.filter(([, value]) => value !== undefined),
  ] as [string, GgufValue][]);
  const tensors = new Map([["token_embd.weight", { shape: [300, 64] }]]);
  for (const each of names) tensors.set(each, { shape: [1] });
  return () => configOf({ metadata, tensors }, "m.gguf", divisors);
}

test("what llama.cpp writes of a model is its config.json", () => {
  expect(settings("llama")()).toEqual({
    ...{ model_type: "llama", vocab_size: 300, hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2 },
    ...{ num_attention_heads: 4, num_key_value_heads: 2, head_dim: 16, max_position_embeddings: 512, rms_norm_eps: 1e-5 },
    ...{ rope_theta: 10_000, rope_scaling: null, tie_word_embeddings: false, eos_token_id: [], bos_token_id: null },
    torch_dtype: "float32",
  });
});

test.each([
  ["qwen3", { "attention.key_length": 128 }, { model_type: "qwen3", head_dim: 128 }],
  ["qwen2", { "attention.head_count_kv": undefined }, { num_key_value_heads: 4 }],
  ["llama", { "rope.freq_base": Math.fround(5e5), "rope.dimension_count": 16 }, { rope_theta: 5e5 }],
  ["llama", { "rope.dimension_count": 8 }, { partial_rotary_factor: 0.5 }],
  ["llama", { "rope.scaling.type": "none" }, { rope_scaling: null }],
  ["llama", { "rope.scaling.type": "linear", "rope.scaling.factor": 4 }, { rope_scaling: { rope_type: "linear", factor: 4 } }],
  ["llama", { "rope.scaling.type": "yarn" }, { rope_scaling: { rope_type: "yarn", factor: 1 } }],
  [
    "llama",
    {
      "tokenizer.ggml.eos_token_id": 7,
      "tokenizer.ggml.eot_token_id": 9,
      "tokenizer.ggml.eom_token_id": 7,
      "tokenizer.ggml.bos_token_id": 1,
    },
    { eos_token_id: [7, 9], bos_token_id: 1 },
  ],
  [
    "gemma3",
    { "attention.sliding_window": 128 },
    {
      model_type: "gemma3_text",
      sliding_window: 128,
      rope_local_base_freq: 10_000,
      query_pre_attn_scalar: 16,
      final_logit_softcapping: null,
    },
  ],
  [
    "gemma3",
    { block_count: 62, "attention.key_length": 8, final_logit_softcapping: 30 },
    { query_pre_attn_scalar: 16, final_logit_softcapping: 30, sliding_window: null },
  ],
] as const)("%s with %o", (name, changes, expected) => {
  expect(settings(name, changes)()).toMatchObject(expected);
});

test("an output matrix that is not there is the embedding", () => {
  expect(settings("llama", {}, { names: [] })().tie_word_embeddings).toBe(true);
});

test("LFM2's layers are those that have queries; its heads of keys are those of its attention", () => {
  const changes = { "attention.head_count_kv": [0, 2], "shortconv.l_cache": 4 };
  expect(settings("lfm2", changes, { names: ["blk.1.attn_q.weight"] })()).toMatchObject({
    ...{ num_key_value_heads: 2, norm_eps: 1e-5, conv_L_cache: 4, block_auto_adjust_ff_dim: false },
    layer_types: ["conv", "full_attention"],
  });
  expect(settings("lfm2", { "attention.head_count_kv": [0, 0] })()).toMatchObject({ num_key_value_heads: 4, conv_L_cache: 3 });
});

test("frequencies that Llama 3's rescaling makes are that, and others are refused", () => {
  const scaling = llama3Rescaling(8, 256);
  const divisors = divisorsOf({ theta: 10_000, scaling }, 16);
  const original = { "rope.scaling.original_context_length": 256 };
  expect(settings("llama", original, { divisors })().rope_scaling).toEqual({
    ...{ rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 256 },
  });
  const refused = /rope_freqs.weight in m.gguf .*expected Llama 3's rescaling/;
  expect(settings("llama", original, { divisors: divisors.map((x, i) => (i === 3 ? 1.01 * x : x)) })).toThrow(refused);
  expect(settings("llama", original, { divisors: divisors.subarray(1) })).toThrow(refused);
  expect(settings("llama", {}, { divisors })).toThrow(refused); // of 8,192 positions
});

test.each([
  ["llama", { embedding_length: undefined }, /^llama.embedding_length in m.gguf is missing.*incomplete/],
  ["llama", { block_count: "two" }, /^llama.block_count in m.gguf is "two"; expected a number/],
  ["llama", { "rope.scaling.type": 3 }, /^llama.rope.scaling.type in m.gguf is 3; expected a text/],
  [
    "lfm2",
    { "attention.head_count_kv": ["2"] },
    /^lfm2.attention.head_count_kv in m.gguf is \["2"\]; expected a list of numbers/,
  ],
  ["llama", { context_length: Number.NaN }, /^llama.context_length in m.gguf .*expected a number/],
  ["mamba", {}, /^general.architecture in m.gguf is "mamba"; expected "llama", "qwen2", "qwen3", "gemma3", "smollm3" or "lfm2"/],
] as const)("%s with %o is refused by its field", (name, changes, message) => {
  expect(settings(name, changes)).toThrow(message);
});

test("names are llama.cpp's, with what Gemma and LFM2 have of their own", () => {
  const pairs = (architecture: Parameters<typeof ggufNames>[0], ...names: string[]) =>
    names.map((name) => ggufNames(architecture, 3).get(name));
  expect(pairs("qwen2", "model.layers.2.self_attn.q_proj.bias", "model.norm.weight", "lm_head.weight")).toEqual([
    ...["blk.2.attn_q.bias", "output_norm.weight", "output.weight"],
  ]);
  expect(pairs("llama", "model.layers.0.post_attention_layernorm.weight", "model.layers.3.mlp.up_proj.weight")).toEqual([
    ...["blk.0.ffn_norm.weight", undefined],
  ]);
  expect(
    pairs("gemma3_text", "model.layers.0.post_attention_layernorm.weight", "model.layers.0.pre_feedforward_layernorm.weight"),
  ).toEqual([...["blk.0.post_attention_norm.weight", "blk.0.ffn_norm.weight"]]);
  expect(
    pairs("lfm2", "model.embedding_norm.weight", "model.layers.1.feed_forward.w2.weight", "model.layers.1.conv.conv.weight"),
  ).toEqual([...["token_embd_norm.weight", "blk.1.ffn_down.weight", "blk.1.shortconv.conv.weight"]]);
  expect(
    (["mistral", "smollm3", "gemma3_text", "lfm2"] as const).map((each) => [ggufArchitecture(each), isInterleaved(each)]),
  ).toEqual([
    ...[
      ["llama", true],
      ["smollm3", true],
      ["gemma3", false],
      ["lfm2", false],
    ],
  ]);
});
