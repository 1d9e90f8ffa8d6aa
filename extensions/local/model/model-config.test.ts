import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { ModelError } from "../../../src/core/errors.ts";
import { architectures } from "./architectures.ts";
import { formatModelConfig, parameterShapes, parseModelConfig } from "./model-config.ts";

const qwen3 = z
  .record(z.string(), z.unknown())
  .parse(JSON.parse(await readFile(new URL("../../../test/golden/models/qwen3/config.json", import.meta.url), "utf8")));
const { rope_parameters: _, ...withoutRope } = qwen3;
/** Sizes alone: what differs between architectures has their defaults. */
const sizes = Object.fromEntries(
  Object.entries(withoutRope).filter(([name]) => !/layer|window|tie|hidden_act/.test(name) || name === "num_hidden_layers"),
);
const llama3 = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };

test("the older and the newer style of rotary settings mean the same", () => {
  const newer = parseModelConfig({ ...withoutRope, rope_parameters: { ...llama3, rope_theta: 5e5 } }, "config.json");
  const older = parseModelConfig({ ...withoutRope, rope_theta: 5e5, rope_scaling: llama3 }, "config.json");
  const oldest = parseModelConfig(
    { ...withoutRope, rope_theta: 5e5, rope_scaling: { ...llama3, rope_type: undefined, type: "llama3" } },
    "config.json",
  );
  const scaling = { factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositionEmbeddings: 64 };
  expect(newer.rope).toEqual({ theta: 5e5, scaling });
  expect(older).toEqual(newer);
  expect(oldest).toEqual(newer);
});

test("where rotary settings stand twice, or beside their group, they are read as transformers reads them", () => {
  const rope = (fields: object) => parseModelConfig({ ...withoutRope, ...fields }, "config.json").rope;
  const plain = { rope_type: "default", rope_theta: 3e4 };
  expect(rope({ rope_theta: 1e6, rope_parameters: plain }).theta).toBe(3e4);
  expect(rope({ rope_theta: 1e6, rope_scaling: {}, rope_parameters: plain }).theta).toBe(3e4);
  expect(rope({ rope_theta: 5e5, rope_scaling: llama3, rope_parameters: plain })).toMatchObject({
    theta: 5e5,
    scaling: { factor: 8 },
  });
  const elsewhere = rope({ rope_scaling: llama3, original_max_position_embeddings: 32 });
  expect(elsewhere.scaling).toMatchObject({ originalMaxPositionEmbeddings: 32 });
});

test("a layer's window and rotation are those of transformers", () => {
  const parse = (fields: object) => parseModelConfig({ model_type: "qwen3", ...sizes, ...fields }, "config.json");
  const gemma = { model_type: "gemma3_text", num_hidden_layers: 7 };
  const [sliding, full] = ["sliding_attention", "full_attention"];
  const usual = parse({ ...gemma, sliding_window: 512, rope_theta: 1e6, rope_local_base_freq: 2e4 });
  expect(usual).toMatchObject({ window: 512, rope: { theta: 1e6 }, slidingRope: { theta: 2e4 }, tieWordEmbeddings: true });
  expect(usual.layerTypes).toEqual([...Array.from({ length: 5 }, () => "sliding"), "full", "sliding"]);
  expect(parse(gemma)).toMatchObject({ window: 4096, rope: { theta: 1e6 }, slidingRope: { theta: 1e4 } });
  expect(parse({ ...gemma, sliding_window_pattern: 2 }).layerTypes?.slice(0, 3)).toEqual(["sliding", "full", "sliding"]);
  const two = { ...gemma, num_hidden_layers: 2, layer_types: [full, sliding] };
  expect(parse(two).layerTypes).toEqual(["full", "sliding"]);
  const linear = { rope_type: "linear", factor: 8 };
  expect(parse({ ...two, rope_scaling: linear }).rope.scaling).toEqual({ factor: 8 });
  const groups = { [full]: { ...linear, rope_theta: 3e6 }, [sliding]: { rope_type: "default", rope_theta: 2e4 } };
  const grouped = parse({ ...two, rope_parameters: groups });
  expect(grouped).toMatchObject({ rope: { theta: 3e6, scaling: { factor: 8 } }, slidingRope: { theta: 2e4 } });
  expect(grouped.slidingRope?.scaling).toBeUndefined();
  expect(parse({ ...two, query_pre_attn_scalar: 64 }).attentionScale).toBe(1 / 8);

  expect(parse({ model_type: "mistral", sliding_window: 512 })).toMatchObject({
    window: 512,
    layerTypes: ["sliding", "sliding"],
  });
  expect(parse({ model_type: "mistral" }).window).toBe(4096); // its default
  const beyond = { use_sliding_window: true, sliding_window: 512, max_window_layers: 1 };
  expect(parse(beyond)).toMatchObject({ window: 512, layerTypes: ["full", "sliding"] });
  expect(parse({ use_sliding_window: true, layer_types: [sliding, full] }).layerTypes).toEqual(["sliding", "full"]);

  const lfm = { model_type: "lfm2", num_hidden_layers: 3, norm_eps: 1e-5 };
  expect(parse({ ...lfm, full_attn_idxs: [1] })).toMatchObject({
    layerTypes: ["conv", "full", "conv"],
    convKernel: 3,
    rmsNormEps: 1e-5,
  });
  expect(parse({ ...lfm, layer_types: [full, "conv", full], conv_L_cache: 4 })).toMatchObject({
    ...{ layerTypes: ["full", "conv", "full"], convKernel: 4, rope: { theta: 1e6 }, tieWordEmbeddings: true },
  });
  expect(parse(lfm).convKernel).toBeUndefined();
  expect(parse({ ...lfm, intermediate_size: undefined, block_ff_dim: 6656 }).intermediateSize).toBe(4608); // LFM2-350M
  expect(parse({ ...lfm, intermediate_size: 100, block_auto_adjust_ff_dim: false }).intermediateSize).toBe(100);

  const smol = { model_type: "smollm3", num_hidden_layers: 5 };
  expect(parse(smol).layerTypes).toEqual(["full", "full", "full", "unrotated", "full"]);
  expect(parse({ ...smol, no_rope_layers: [0, 1, 1, 1, 0] }).layerTypes).toEqual([
    "unrotated",
    "full",
    "full",
    "full",
    "unrotated",
  ]);
  expect(parse({ ...smol, no_rope_layer_interval: 2 }).layerTypes?.[1]).toBe("unrotated");
});

test("windows that no layer has, and sizes that are left out, are those of transformers", () => {
  const parse = (fields: object) => parseModelConfig({ ...qwen3, ...fields }, "config.json");
  const beyond = { use_sliding_window: true, sliding_window: 4, max_window_layers: 2 }; // of two layers
  expect(parse(beyond)).toEqual(parse({}));
  expect(parse({ model_type: "llama", sliding_window: 4 })).toEqual(parse({ model_type: "llama" }));
  expect(parse({ head_dim: undefined }).headDim).toBe(128);
  expect(parse({ model_type: "qwen2", head_dim: undefined }).headDim).toBe(16);
});

test("what is written is read back as the same model", () => {
  for (const architecture of Object.keys(architectures)) {
    for (const rope of [{}, { rope_theta: 5e5, rope_scaling: llama3 }]) {
      const file = { ...sizes, ...rope, model_type: architecture, eos_token_id: [1, 2], sliding_window: 7, max_window_layers: 1 };
      const config = parseModelConfig(file, "config.json");
      expect(parseModelConfig(formatModelConfig(config), "config.json")).toEqual(config);
    }
  }
});

test("no padding token is assumed where transformers would take one beyond a small vocabulary", () => {
  expect(formatModelConfig(parseModelConfig({ ...sizes, model_type: "smollm3" }, "config.json")).pad_token_id).toBeNull();
});

test("architectures differ in biases and norms, and untied models have an output matrix", () => {
  const namesOf = (changes: object) => [...parameterShapes(parseModelConfig({ ...qwen3, ...changes }, "config.json")).keys()];
  expect(namesOf({}).filter((name) => /_norm\.weight|bias|lm_head/.test(name))).toEqual([
    "model.layers.0.self_attn.q_norm.weight",
    "model.layers.0.self_attn.k_norm.weight",
    "model.layers.1.self_attn.q_norm.weight",
    "model.layers.1.self_attn.k_norm.weight",
  ]);
  expect(namesOf({ model_type: "qwen2" }).filter((name) => /q_norm|bias/.test(name))).toHaveLength(6); // q, k, v of two layers
  expect(namesOf({ model_type: "llama", tie_word_embeddings: false }).at(-1)).toBe("lm_head.weight");
});

test("what the engine does not compute is refused by field and value", () => {
  const cases: [object, string][] = [
    [{ model_type: "gpt2" }, 'model_type in config.json is "gpt2"; expected "qwen3", "qwen2", "llama", "mistral"'],
    [{ model_type: "gemma3" }, "take its text models"],
    [{ model_type: "qwen3_5" }, "gated delta rule"],
    ...["qwen2_moe", "qwen3_moe", "mixtral", "gpt_oss", "deepseek_v3", "lfm2_moe", "glm4_moe"].map((name): [object, string] => [
      { model_type: name },
      "Mixtures of experts are not computed",
    ]),
    [
      {
        model_type: "lfm2",
        layer_types: undefined,
        full_attn_idxs: [],
        hidden_size: 66,
        num_attention_heads: 2,
        num_key_value_heads: 4,
      },
      "hidden_size in config.json is 66; expected a multiple of num_key_value_heads",
    ],
    [{ model_type: "gemma3_text", hidden_activation: "gelu" }, 'hidden_activation in config.json is "gelu"'],
    [{ model_type: "gemma3_text", final_logit_softcapping: 30 }, "final_logit_softcapping in config.json is 30"],
    [{ model_type: "gemma3_text", sliding_window: null }, "sliding_window in config.json is null"],
    [{ model_type: "lfm2", layer_types: undefined, full_attn_idxs: [], conv_bias: true }, "conv_bias in config.json is true"],
    [{ intermediate_size: undefined }, "intermediate_size in config.json is missing; expected the width of the MLP"],
    [{ model_type: "smollm3", use_sliding_window: true }, "use_sliding_window in config.json is true"],
    [{ quantization_config: { quant_method: "awq" } }, "quantization_config in config.json"],
    [{ layer_types: ["full_attention", "sliding_attention"] }, 'layer_types in config.json is "sliding_attention"'],
    [{ layer_types: ["full_attention"] }, "the length of layer_types in config.json is 1; expected 2, as num_hidden_layers says"],
    [{ model_type: "smollm3", no_rope_layers: [] }, "the length of no_rope_layers in config.json is 0"],
    [{ is_causal: false }, "is_causal in config.json is false; expected true"],
    [{ transformers_weights: "other.safetensors" }, 'transformers_weights in config.json is "other.safetensors"'],
    [{ per_layer_config: { 0: { sliding_window: 3 } } }, "per_layer_config in config.json is {"],
    [{ hidden_act: "gelu" }, 'hidden_act in config.json is "gelu"; expected "silu"'],
    [{ attention_bias: true }, "attention_bias in config.json is true"],
    [
      { rope_parameters: { rope_type: "yarn", rope_theta: 1e4 } },
      'rope_type in config.json is "yarn"; expected "default", "linear" or "llama3"',
    ],
    [{ rope_scaling: { type: "dynamic", factor: 2 } }, 'rope_type in config.json is "dynamic"'],
    [{ rope_parameters: { rope_type: "llama3" } }, "factor"],
    [{ rope_parameters: { full_attention: { rope_type: "default", rope_theta: 1e4 } } }, "the same for all layers"],
    [{ rope_parameters: { partial_rotary_factor: 0.5 } }, "partial_rotary_factor in config.json is 0.5; expected 1"],
    [{ partial_rotary_factor: 0.25 }, "partial_rotary_factor in config.json is 0.25; expected 1"],
    [{ head_dim: 15 }, "head_dim in config.json is 15; expected an even number"],
    [
      { model_type: "llama", head_dim: null, hidden_size: 66 },
      "hidden_size / num_attention_heads in config.json is 16.5; expected an even number",
    ],
    [{ num_key_value_heads: 3 }, "num_key_value_heads in config.json is 3; expected a divisor of num_attention_heads, 4"],
    [{ hidden_size: "64" }, "hidden_size"],
  ];
  for (const [changes, message] of cases) {
    expect(() => parseModelConfig({ ...qwen3, ...changes }, "config.json")).toThrow(message);
    expect(() => parseModelConfig({ ...qwen3, ...changes }, "config.json")).toThrow(ModelError);
  }
  expect(() => parseModelConfig("no object", "config.json")).toThrow("model_type in config.json is missing");
});

const llama = (changes: object = {}) => parseModelConfig({ ...sizes, model_type: "llama", ...changes }, "config.json");

test("a model's settings are all that its file says, and what its architecture adds", () => {
  const parsed = Object.keys(architectures).map((architecture) =>
    parseModelConfig({ ...sizes, model_type: architecture, sliding_window: 7 }, "config.json"),
  );
  expect(parsed.map((config) => JSON.stringify(config))).toMatchInlineSnapshot(`
    [
      "{"architecture":"qwen3","vocabSize":300,"hiddenSize":64,"intermediateSize":128,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.000001,"rope":{"theta":10000},"attentionBias":false,"qkNorm":true,"tieWordEmbeddings":false,"eosTokenIds":[2]}",
      "{"architecture":"qwen2","vocabSize":300,"hiddenSize":64,"intermediateSize":128,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.000001,"rope":{"theta":10000},"attentionBias":true,"qkNorm":false,"tieWordEmbeddings":false,"eosTokenIds":[2]}",
      "{"architecture":"llama","vocabSize":300,"hiddenSize":64,"intermediateSize":128,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.000001,"rope":{"theta":10000},"attentionBias":false,"qkNorm":false,"tieWordEmbeddings":false,"eosTokenIds":[2]}",
      "{"architecture":"mistral","vocabSize":300,"hiddenSize":64,"intermediateSize":128,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.000001,"rope":{"theta":10000},"attentionBias":false,"qkNorm":false,"layerTypes":["sliding","sliding"],"window":7,"tieWordEmbeddings":false,"eosTokenIds":[2]}",
      "{"architecture":"gemma3_text","vocabSize":300,"hiddenSize":64,"intermediateSize":128,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.000001,"rope":{"theta":1000000},"slidingRope":{"theta":10000},"attentionBias":false,"qkNorm":true,"layerTypes":["sliding","sliding"],"window":7,"activation":"gelu","sandwichNorms":true,"normOffset":true,"embeddingScale":8,"attentionScale":0.0625,"tieWordEmbeddings":true,"eosTokenIds":[2]}",
      "{"architecture":"smollm3","vocabSize":300,"hiddenSize":64,"intermediateSize":128,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.000001,"rope":{"theta":2000000},"attentionBias":false,"qkNorm":false,"layerTypes":["full","full"],"tieWordEmbeddings":true,"eosTokenIds":[2]}",
      "{"architecture":"lfm2","vocabSize":300,"hiddenSize":64,"intermediateSize":256,"layers":2,"heads":4,"kvHeads":2,"headDim":32,"maxPositionEmbeddings":512,"rmsNormEps":0.00001,"rope":{"theta":1000000},"attentionBias":false,"qkNorm":true,"layerTypes":["full","full"],"tieWordEmbeddings":true,"eosTokenIds":[2]}",
    ]
  `);
});

test("the file of each architecture has what transformers would otherwise assume", () => {
  const files = Object.keys(architectures).map((architecture) => {
    const config = parseModelConfig({ ...sizes, model_type: architecture, sliding_window: 7 }, "config.json");
    const { vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, ...rest } =
      formatModelConfig(config);
    expect([vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads]).toEqual([
      ...[config.vocabSize, config.hiddenSize, config.intermediateSize, config.layers, config.heads],
    ]);
    return JSON.stringify(rest);
  });
  expect(files).toMatchInlineSnapshot(`
    [
      "{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","num_key_value_heads":2,"head_dim":32,"hidden_act":"silu","max_position_embeddings":512,"rms_norm_eps":0.000001,"rope_theta":10000,"rope_scaling":null,"tie_word_embeddings":false,"bos_token_id":null,"eos_token_id":[2]}",
      "{"architectures":["Qwen2ForCausalLM"],"model_type":"qwen2","num_key_value_heads":2,"head_dim":32,"hidden_act":"silu","max_position_embeddings":512,"rms_norm_eps":0.000001,"rope_theta":10000,"rope_scaling":null,"tie_word_embeddings":false,"bos_token_id":null,"eos_token_id":[2]}",
      "{"architectures":["LlamaForCausalLM"],"model_type":"llama","num_key_value_heads":2,"head_dim":32,"hidden_act":"silu","max_position_embeddings":512,"rms_norm_eps":0.000001,"rope_theta":10000,"rope_scaling":null,"tie_word_embeddings":false,"bos_token_id":null,"eos_token_id":[2]}",
      "{"architectures":["MistralForCausalLM"],"model_type":"mistral","num_key_value_heads":2,"head_dim":32,"hidden_act":"silu","max_position_embeddings":512,"rms_norm_eps":0.000001,"rope_theta":10000,"rope_scaling":null,"tie_word_embeddings":false,"sliding_window":7,"use_sliding_window":true,"layer_types":["sliding_attention","sliding_attention"],"bos_token_id":null,"eos_token_id":[2]}",
      "{"architectures":["Gemma3ForCausalLM"],"model_type":"gemma3_text","num_key_value_heads":2,"head_dim":32,"hidden_activation":"gelu_pytorch_tanh","max_position_embeddings":512,"rms_norm_eps":0.000001,"rope_theta":1000000,"rope_scaling":null,"rope_local_base_freq":10000,"tie_word_embeddings":true,"use_sliding_window":true,"sliding_window":7,"layer_types":["sliding_attention","sliding_attention"],"rope_parameters":{"full_attention":{"rope_theta":1000000,"rope_type":"default"},"sliding_attention":{"rope_theta":10000,"rope_type":"default"}},"query_pre_attn_scalar":256,"bos_token_id":null,"eos_token_id":[2]}",
      "{"architectures":["SmolLM3ForCausalLM"],"model_type":"smollm3","num_key_value_heads":2,"head_dim":32,"hidden_act":"silu","max_position_embeddings":512,"rms_norm_eps":0.000001,"rope_theta":2000000,"rope_scaling":null,"tie_word_embeddings":true,"pad_token_id":null,"bos_token_id":null,"eos_token_id":[2]}",
      "{"architectures":["Lfm2ForCausalLM"],"model_type":"lfm2","num_key_value_heads":2,"head_dim":32,"hidden_act":"silu","max_position_embeddings":512,"rms_norm_eps":0.00001,"rope_theta":1000000,"rope_scaling":null,"tie_word_embeddings":true,"layer_types":["full_attention","full_attention"],"norm_eps":0.00001,"block_auto_adjust_ff_dim":false,"bos_token_id":null,"eos_token_id":[2]}",
    ]
  `);
  expect(formatModelConfig(llama({ eos_token_id: [] })).eos_token_id).toBeNull();
  expect(formatModelConfig(llama({ eos_token_id: 3 })).eos_token_id).toEqual([3]);
});

test("parameters have the names and shapes of each architecture, in the order of the forward pass", () => {
  const shapesOf = (changes: object) =>
    [...parameterShapes(parseModelConfig({ ...sizes, ...changes }, "config.json"))].map(([name, shape]) => `${name} ${shape}`);
  const one = { num_hidden_layers: 1, head_dim: 16, tie_word_embeddings: false };
  expect(shapesOf({ ...one, model_type: "qwen2" })).toMatchInlineSnapshot(`
    [
      "model.embed_tokens.weight 300,64",
      "model.layers.0.input_layernorm.weight 64",
      "model.layers.0.self_attn.q_proj.weight 64,64",
      "model.layers.0.self_attn.q_proj.bias 64",
      "model.layers.0.self_attn.k_proj.weight 32,64",
      "model.layers.0.self_attn.k_proj.bias 32",
      "model.layers.0.self_attn.v_proj.weight 32,64",
      "model.layers.0.self_attn.v_proj.bias 32",
      "model.layers.0.self_attn.o_proj.weight 64,64",
      "model.layers.0.post_attention_layernorm.weight 64",
      "model.layers.0.mlp.gate_proj.weight 128,64",
      "model.layers.0.mlp.up_proj.weight 128,64",
      "model.layers.0.mlp.down_proj.weight 64,128",
      "model.norm.weight 64",
      "lm_head.weight 300,64",
    ]
  `);
  expect(shapesOf({ ...one, model_type: "gemma3_text", tie_word_embeddings: true })).toMatchInlineSnapshot(`
    [
      "model.embed_tokens.weight 300,64",
      "model.layers.0.input_layernorm.weight 64",
      "model.layers.0.self_attn.q_proj.weight 64,64",
      "model.layers.0.self_attn.k_proj.weight 32,64",
      "model.layers.0.self_attn.v_proj.weight 32,64",
      "model.layers.0.self_attn.q_norm.weight 16",
      "model.layers.0.self_attn.k_norm.weight 16",
      "model.layers.0.self_attn.o_proj.weight 64,64",
      "model.layers.0.post_attention_layernorm.weight 64",
      "model.layers.0.pre_feedforward_layernorm.weight 64",
      "model.layers.0.mlp.gate_proj.weight 128,64",
      "model.layers.0.mlp.up_proj.weight 128,64",
      "model.layers.0.mlp.down_proj.weight 64,128",
      "model.layers.0.post_feedforward_layernorm.weight 64",
      "model.norm.weight 64",
    ]
  `);
  expect(
    shapesOf({ ...one, model_type: "lfm2", num_hidden_layers: 2, full_attn_idxs: [1], tie_word_embeddings: true }),
  ).toMatchInlineSnapshot(`
    [
      "model.embed_tokens.weight 300,64",
      "model.layers.0.operator_norm.weight 64",
      "model.layers.0.conv.in_proj.weight 192,64",
      "model.layers.0.conv.conv.weight 64,1,3",
      "model.layers.0.conv.out_proj.weight 64,64",
      "model.layers.0.ffn_norm.weight 64",
      "model.layers.0.feed_forward.w1.weight 256,64",
      "model.layers.0.feed_forward.w3.weight 256,64",
      "model.layers.0.feed_forward.w2.weight 64,256",
      "model.layers.1.operator_norm.weight 64",
      "model.layers.1.self_attn.q_proj.weight 64,64",
      "model.layers.1.self_attn.k_proj.weight 32,64",
      "model.layers.1.self_attn.v_proj.weight 32,64",
      "model.layers.1.self_attn.q_layernorm.weight 16",
      "model.layers.1.self_attn.k_layernorm.weight 16",
      "model.layers.1.self_attn.out_proj.weight 64,64",
      "model.layers.1.ffn_norm.weight 64",
      "model.layers.1.feed_forward.w1.weight 256,64",
      "model.layers.1.feed_forward.w3.weight 256,64",
      "model.layers.1.feed_forward.w2.weight 64,256",
      "model.embedding_norm.weight 64",
    ]
  `);
});

test("LFM2's width is two thirds of what its file says, times a factor, in whole multiples", () => {
  const width = (changes: object) =>
    parseModelConfig({ ...sizes, model_type: "lfm2", full_attn_idxs: [0, 1], ...changes }, "config.json").intermediateSize;
  // ⌊2·1000/3⌋ = 666.
  expect(width({ block_ff_dim: 1000 })).toBe(768);
  expect(width({ block_ff_dim: 1000, block_multiple_of: 100 })).toBe(700);
  expect(width({ block_ff_dim: 1000, block_multiple_of: 1, block_ffn_dim_multiplier: 1.5 })).toBe(999);
  expect(width({ block_ff_dim: 1000, block_auto_adjust_ff_dim: false })).toBe(1000);
  expect(llama({ block_ff_dim: 1000, intermediate_size: 10 }).intermediateSize).toBe(10);
});

test("what a file may say without a change is let in", () => {
  const same = [
    { quantization_config: null },
    { hidden_act: "silu", attention_bias: false, mlp_bias: false },
    { layer_types: ["full_attention", "full_attention", "full_attention"] },
    { is_causal: true, transformers_weights: null, per_layer_config: null },
    { num_key_value_heads: sizes.num_key_value_heads, partial_rotary_factor: 1 },
    { attn_logit_softcapping: 5 }, // Gemma's alone
  ];
  for (const changes of same) expect(llama(changes)).toEqual(llama());
  expect(llama({ num_key_value_heads: null }).kvHeads).toBe(4);
  expect(llama({ eos_token_id: null }).eosTokenIds).toEqual([]);
  expect(parseModelConfig({ ...qwen3, model_type: "qwen2", attention_bias: true }, "config.json").attentionBias).toBe(true);
});

test.each<[object, string]>([
  [
    { model_type: "gemma3_text", attn_logit_softcapping: 50 },
    "attn_logit_softcapping in config.json is 50; expected null. The local engine does not compute anything else.",
  ],
  [
    { model_type: "gemma3_text", use_bidirectional_attention: true },
    "use_bidirectional_attention in config.json is true; expected false.",
  ],
  [{ mlp_bias: true }, "mlp_bias in config.json is true; expected false."],
  [{ model_type: "gemma" }, "Gemma 1 is not computed: take Gemma 3's text models (270 M, 1 B)."],
  [{ model_type: "gemma2" }, "Gemma 2 caps its logits by tanh, which is not computed: take Gemma 3's text models (270 M, 1 B)."],
  [{ model_type: "gemma3n" }, "Gemma 3n's nested layers are not computed: take Gemma 3's text models (270 M, 1 B)."],
  ...["qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_next"].map((name): [object, string] => [
    { model_type: name },
    "Its gated delta rule carries a state from token to token, which prefixes that samples share cannot be cut from: take Qwen3.",
  ]),
  [
    { quantization_config: {} },
    "quantization_config in config.json is {}; expected none. Quantised weights are not supported: use the float version of the model.",
  ],
  [{ num_hidden_layers: 10_001 }, "num_hidden_layers"],
  [{ vocab_size: 2 ** 31 }, "vocab_size"],
])("%o is refused: %s", (changes, message) => {
  expect(() => parseModelConfig({ ...qwen3, ...changes }, "config.json")).toThrow(message);
});
