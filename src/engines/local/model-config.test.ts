import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { ModelError } from "../../core/errors.ts";
import { formatModelConfig, parameterShapes, parseModelConfig } from "./model-config.ts";

const qwen3 = z
  .record(z.string(), z.unknown())
  .parse(JSON.parse(await readFile(new URL("../../../test/golden/models/qwen3/config.json", import.meta.url), "utf8")));
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

test("what is written is read back as the same model", () => {
  for (const architecture of ["qwen3", "qwen2", "llama"]) {
    for (const rope of [{}, { rope_theta: 5e5, rope_scaling: llama3 }]) {
      const config = parseModelConfig({ ...withoutRope, ...rope, model_type: architecture, eos_token_id: [1, 2] }, "config.json");
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
    [{ model_type: "gpt2" }, 'model_type in config.json is "gpt2"; expected "qwen3", "qwen2" or "llama"'],
    [{ quantization_config: { quant_method: "awq" } }, "quantization_config in config.json"],
    [{ use_sliding_window: true, sliding_window: 4096 }, "use_sliding_window in config.json is true"],
    [{ layer_types: ["full_attention", "sliding_attention"] }, 'layer_types in config.json is "sliding_attention"'],
    [{ hidden_act: "gelu" }, 'hidden_act in config.json is "gelu"; expected "silu"'],
    [{ attention_bias: true }, "attention_bias in config.json is true"],
    [
      { rope_parameters: { rope_type: "yarn", rope_theta: 1e4 } },
      'rope_type in config.json is "yarn"; expected "default" or "llama3"',
    ],
    [{ rope_parameters: { rope_type: "llama3" } }, "factor"],
    [{ num_key_value_heads: 3 }, "num_key_value_heads in config.json is 3; expected a divisor of num_attention_heads, 4"],
    [{ hidden_size: "64" }, "hidden_size"],
  ];
  for (const [changes, message] of cases) {
    expect(() => parseModelConfig({ ...qwen3, ...changes }, "config.json")).toThrow(message);
    expect(() => parseModelConfig({ ...qwen3, ...changes }, "config.json")).toThrow(ModelError);
  }
  expect(() => parseModelConfig("no object", "config.json")).toThrow("model_type in config.json is missing");
});
