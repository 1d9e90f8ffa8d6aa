import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readAdapter, readAdapterSettings, writeAdapter } from "./adapter-folder.ts";
import { adapterShapes, resolveLora } from "./lora.ts";
import { loadModel } from "./model-folder.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";

const folder = mkdtempSync(join(tmpdir(), "adapter-"));
afterAll(() => rmSync(folder, { recursive: true }));
const { config } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
const all = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
const plain = { peft_type: "LORA", r: 2, lora_alpha: 4, target_modules: ["q_proj"] };

const settings = (changes: object) => {
  writeFileSync(join(folder, "adapter_config.json"), JSON.stringify({ ...plain, ...changes }));
  return readAdapterSettings(folder, config);
};

test.each<readonly [object, object]>([
  [{}, { rank: 2, alpha: 4, targets: ["q_proj"] }],
  [
    { target_modules: ["down_proj", "q_proj"], lora_alpha: 0.5 },
    { alpha: 0.5, targets: ["q_proj", "down_proj"] },
  ],
  [{ target_modules: "all-linear" }, { targets: all }],
  [{ target_modules: [0, 1].map((layer) => `model.layers.${layer}.self_attn.v_proj`) }, { targets: ["v_proj"] }],
  [{ target_modules: ["self_attn.k_proj"] }, { targets: ["k_proj"] }],
  [{ layers_to_transform: [] }, { targets: ["q_proj"] }],
  [
    {
      layers_to_transform: null,
      bias: "none",
      init_lora_weights: "gaussian",
      use_dora: false,
      modules_to_save: null,
      rank_pattern: {},
    },
    { rank: 2 },
  ],
  [{ layers_to_transform: [1] }, { layers: 1 }],
  [{ layers_to_transform: 1 }, { layers: 1 }],
  [{ task_type: "CAUSAL_LM", lora_dropout: 0.1, peft_version: "0.21" }, { rank: 2 }],
])("%o is an adapter that is computed", async (changes, expected) => {
  expect(config.layers).toBe(2);
  expect(await settings(changes)).toMatchObject(expected);
});

test("all layers, in any order, are no limit", async () => {
  expect(await settings({ layers_to_transform: [1, 0] })).not.toHaveProperty("layers");
});

test.each<readonly [object, RegExp]>([
  [{ layers_to_transform: [0] }, /layers_to_transform in .* is \[0\]; expected the last layers of the model, or none/],
  [{ use_dora: true }, /use_dora in .* is true; expected nothing.*plain LoRA/],
  [{ rank_pattern: { q_proj: 4 } }, /rank_pattern in/],
  [{ alpha_pattern: ["x"] }, /alpha_pattern in/],
  [{ peft_type: "IA3" }, /expected .*expected "LORA", not "IA3"/s],
  [{ bias: "all" }, /bias/],
  [{ init_lora_weights: "pissa" }, /init_lora_weights/],
  [{ r: 0 }, /not supported/],
  [
    { target_modules: ["q_proj", "x_proj"] },
    /target_modules in .* is "x_proj"; expected linear modules of this model's layers: q_proj, k_proj/,
  ],
  [{ target_modules: ["roj"] }, /target_modules in .* is "roj"/],
  [
    { target_modules: ["model.layers.0.self_attn.q_proj"] },
    /the same modules in every layer: model.layers.1.self_attn.q_proj is missing/,
  ],
])("%o is refused by its field", async (changes, message) => {
  await expect(settings(changes)).rejects.toThrow(message);
});

test("where no modules are named, the tensors name them", async () => {
  const lora = resolveLora(config, { rank: 2, alpha: 4, targets: ["o_proj", "up_proj"] });
  const adapted = { ...config, lora };
  const adapter = new Map(
    [...adapterShapes(adapted)].map(([name, [a, b]], i) => [name, Float32Array.from({ length: a * b }, (_, j) => i + j / 8)]),
  );
  await writeAdapter(folder, { config: adapted, adapter, base: "base" });
  expect(await readAdapter(folder, adapted)).toEqual(adapter);
  expect(await settings({ target_modules: null })).toEqual(lora);
  expect(await settings({ target_modules: ".*" })).toEqual(lora);
  await expect(readAdapter(folder, { ...config, lora: { ...lora, rank: 3 } })).rejects.toThrow(
    /^lora.rank is 3; expected 2, as in/,
  );
});

test("tensors of another module, or of another size, are named", async () => {
  const adapted = { ...config, lora: await settings({}) };
  const shapes = adapterShapes(adapted);
  const file = join(folder, "adapter_model.safetensors");
  const tensors = new Map(
    [...shapes].map(([name, shape]) => [`base_model.model.${name}`, { shape, data: new Float32Array(shape[0] * shape[1]) }]),
  );
  await writeSafetensors(file, new Map(tensors).set("base_model.model.extra", { shape: [1], data: Float32Array.of(1) }), {
    dtype: "float32",
  });
  await expect(readAdapter(folder, adapted)).rejects.toThrow(/^tensor base_model.model.extra in .* is "unexpected"/);
  const [[name, { shape, data }]] = tensors;
  await writeSafetensors(file, new Map(tensors).set(name, { shape: shape.toReversed(), data }), { dtype: "float32" });
  await expect(readAdapter(folder, adapted)).rejects.toThrow(`expected [${shape}]. The adapter belongs to another model`);
  tensors.delete(name);
  await writeSafetensors(file, tensors, { dtype: "float32" });
  await expect(readAdapter(folder, adapted)).rejects.toThrow(/shape of tensor .* is missing/);
});

test("an adapter's file is PEFT's, with the base that it is for", async () => {
  const own = join(folder, "own");
  const written = async (layers?: number) => {
    const lora = resolveLora(config, { rank: 2, alpha: 3, targets: ["up_proj", "q_proj"], layers });
    const adapter = new Map([...adapterShapes({ ...config, lora })].map(([name, [a, b]]) => [name, new Float32Array(a * b)]));
    await writeAdapter(own, { config: { ...config, lora }, adapter, base: "the base" });
    return JSON.parse(readFileSync(join(own, "adapter_config.json"), "utf8"));
  };
  const file = {
    ...{ peft_type: "LORA", task_type: "CAUSAL_LM", base_model_name_or_path: "the base", r: 2, lora_alpha: 3 },
    ...{ target_modules: ["q_proj", "up_proj"], lora_dropout: 0, bias: "none", fan_in_fan_out: false },
    ...{ init_lora_weights: true, inference_mode: true },
  };
  expect(await written()).toEqual(file);
  expect(await written(1)).toEqual({ ...file, layers_to_transform: [1] });
  expect([...(await readSafetensors(join(own, "adapter_model.safetensors"))).keys()]).toEqual(
    ["self_attn.q_proj", "mlp.up_proj"].flatMap((module) =>
      ["A", "B"].map((matrix) => `base_model.model.model.layers.1.${module}.lora_${matrix}.weight`),
    ),
  );
});

test("what is not there, is no JSON or is written where nothing can be is refused with what was expected", async () => {
  const none = join(folder, "none");
  await expect(readAdapterSettings(none, config)).rejects.toThrow(
    /adapter_config\.json is "not readable .*expected a folder with adapter_config\.json and adapter_model\.safetensors\.$/,
  );
  writeFileSync(join(folder, "adapter_config.json"), "{");
  await expect(readAdapterSettings(folder, config)).rejects.toThrow(/adapter_config\.json is "malformed"; expected JSON/);
  const lora = resolveLora(config, { rank: 1, alpha: 1, targets: ["q_proj"] });
  const file = join(folder, "adapter_config.json");
  await expect(writeAdapter(file, { config: { ...config, lora }, adapter: new Map(), base: "" })).rejects.toThrow(
    /^adapter folder .* is "not writable"\. Choose another folder\.$/,
  );
  await expect(writeAdapter(folder, { config, adapter: new Map(), base: "" })).rejects.toThrow("a model without an adapter");
});

test("an adapter of other settings is refused by the first that differs", async () => {
  const lora = await settings({ layers_to_transform: [1] });
  const wanted = (changes: object) => readAdapter(folder, { ...config, lora: { ...lora, ...changes } });
  const hint = "Settings must be those of the adapter that training continues.";
  for (const [changes, message] of [
    [{ rank: 3 }, `lora.rank is 3; expected 2, as in ${folder}. ${hint}`],
    [{ alpha: 5 }, `lora.alpha is 5; expected 4, as in ${folder}. ${hint}`],
    [{ targets: ["k_proj"] }, `lora.targets is ["k_proj"]; expected ["q_proj"], as in ${folder}. ${hint}`],
    [{ layers: undefined }, `lora.layers is missing; expected 1, as in ${folder}. ${hint}`],
  ] as const)
    await expect(wanted(changes)).rejects.toThrow(message);
});
