import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { ModelError } from "../../../core/errors.ts";
import { architectures } from "./architectures.ts";
import { formatModelConfig, parameterShapes, parseModelConfig } from "./model-config.ts";

const qwen3 = z
  .record(z.string(), z.unknown())
  .parse(JSON.parse(await readFile(new URL("../../../../test/golden/models/qwen3/config.json", import.meta.url), "utf8")));
const { rope_parameters: _, ...withoutRope } = qwen3;
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
  expect(elsewhere.scaling?.originalMaxPositionEmbeddings).toBe(32);
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
      const file = { ...withoutRope, ...rope, model_type: architecture, eos_token_id: [1, 2], sliding_window: null };
      const config = parseModelConfig(file, "config.json");
      expect(parseModelConfig(formatModelConfig(config), "config.json")).toEqual(config);
    }
  }
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
    [{ model_type: "gpt2" }, 'model_type in config.json is "gpt2"; expected "qwen3", "qwen2", "llama" or "mistral"'],
    [{ quantization_config: { quant_method: "awq" } }, "quantization_config in config.json"],
    [
      { use_sliding_window: true, sliding_window: 4096, max_window_layers: 1 },
      "sliding_window in config.json is 4096; expected null",
    ],
    [{ model_type: "mistral", sliding_window: 512 }, "sliding_window in config.json is 512; expected null"],
    [{ model_type: "mistral", sliding_window: undefined }, "sliding_window in config.json is 4096; expected null"], // its default
    [{ layer_types: ["full_attention", "sliding_attention"] }, 'layer_types in config.json is "sliding_attention"'],
    [{ hidden_act: "gelu" }, 'hidden_act in config.json is "gelu"; expected "silu"'],
    [{ attention_bias: true }, "attention_bias in config.json is true"],
    [
      { rope_parameters: { rope_type: "yarn", rope_theta: 1e4 } },
      'rope_type in config.json is "yarn"; expected "default" or "llama3"',
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
