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
