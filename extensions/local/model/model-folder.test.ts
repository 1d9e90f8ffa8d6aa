import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ModelError } from "../../../src/core/errors.ts";
import { randomStream } from "../../../src/core/random.ts";
import { type ModelConfig, parameterShapes } from "./model-config.ts";
import { initialiseModel, loadModel, readModelConfig, saveModel, storedType } from "./model-folder.ts";
import { readSafetensors, type Tensor, writeSafetensors } from "./safetensors.ts";

const golden = (name: string) => new URL(`../../../test/golden/models/${name}`, import.meta.url).pathname;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "model-"));
});
afterAll(() => rm(folder, { recursive: true }));

const tiny: ModelConfig = {
  architecture: "qwen3",
  vocabSize: 50,
  hiddenSize: 16,
  intermediateSize: 24,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  maxPositionEmbeddings: 64,
  rmsNormEps: 1e-6,
  rope: { theta: 10_000, scaling: undefined },
  attentionBias: false,
  qkNorm: true,
  tieWordEmbeddings: true,
  eosTokenIds: [3],
};

test("a Qwen3 folder is read with its settings", async () => {
  const { config, parameters } = await loadModel(golden("qwen3"));
  expect(config).toMatchObject({
    architecture: "qwen3",
    headDim: 32,
    heads: 4,
    kvHeads: 2,
    qkNorm: true,
    tieWordEmbeddings: true,
  });
  expect(config).toMatchObject({
    rope: { theta: 1e6, scaling: undefined },
    eosTokenIds: [2],
    rmsNormEps: 1e-6,
    attentionBias: false,
  });
  expect([...parameters.keys()]).toEqual([...parameterShapes(config).keys()]);
});

test("bfloat16 weights are the float32 ones, rounded", async () => {
  const full = await loadModel(golden("qwen3"));
  const rounded = await loadModel(golden("qwen3-bf16"));
  await saveModel(join(folder, "bf16"), full, { dtype: "bfloat16" });
  expect((await loadModel(join(folder, "bf16"))).parameters).toEqual(rounded.parameters);
});

test("a saved model is read back whole: weights, unknown config fields, tokenizer files, stop tokens", async () => {
  const companions = new Map<string, Uint8Array>([
    ["tokenizer.json", Buffer.from("{}")],
    ["generation_config.json", Buffer.from('{"eos_token_id":[7,8]}')],
    ["chat_template.json", Buffer.from('{"chat_template":"in JSON"}')],
    ["additional_chat_templates/tool_use.jinja", Buffer.from("with tools")],
  ]);
  const model = {
    ...initialiseModel(tiny, randomStream(1, "weights"), companions),
    configFile: { ...initialiseModel(tiny, randomStream(1)).configFile, custom: 1 },
  };
  await saveModel(join(folder, "whole"), model, { dtype: "float32" });
  const read = await loadModel(join(folder, "whole"));
  expect(read.parameters).toEqual(model.parameters);
  expect(read.configFile).toEqual({ ...model.configFile, torch_dtype: "float32" });
  expect(read.companions).toEqual(companions);
  expect(read.config).toEqual({ ...tiny, eosTokenIds: [7, 8] });
});

test("rotary settings of transformers 5 are written where transformers 4 looks for them too", async () => {
  for (const [name, expected] of [
    ["mistral", { rope_theta: 1e6, rope_scaling: null }],
    ["gemma3_text", { rope_theta: 1e6, rope_scaling: { rope_type: "linear", factor: 8 }, rope_local_base_freq: 1e4 }],
  ] as const) {
    const model = await loadModel(golden(name));
    await saveModel(join(folder, name), model, { dtype: "float32" });
    const { config, configFile } = await loadModel(join(folder, name));
    expect(configFile).toEqual({ ...model.configFile, ...expected });
    expect(config).toEqual(model.config);
  }
});

test("random weights have deviation 1/√inputs, norms are 1, and the seed decides them", () => {
  const { parameters } = initialiseModel({ ...tiny, vocabSize: 2000 }, randomStream(5, "weights"));
  const embedding = parameters.get("model.embed_tokens.weight")?.data ?? expect.unreachable();
  const deviation = Math.sqrt(embedding.reduce((sum, x) => sum + x * x, 0) / embedding.length);
  expect(deviation).toBeCloseTo(1 / 4, 2); // 32,000 numbers: relative error 0.4 %
  expect(new Set(parameters.get("model.norm.weight")?.data)).toEqual(new Set([1]));
  expect(initialiseModel({ ...tiny, vocabSize: 2000 }, randomStream(5, "weights")).parameters).toEqual(parameters);
  expect(initialiseModel({ ...tiny, vocabSize: 2000 }, randomStream(6, "weights")).parameters).not.toEqual(parameters);
});

test("a stored copy of a tied embedding is ignored, and another matrix in its place refused", async () => {
  const path = join(folder, "tied-copy");
  const model = initialiseModel(tiny, randomStream(1));
  await saveModel(path, model, { dtype: "float32" });
  const embedding = model.parameters.get("model.embed_tokens.weight") ?? expect.unreachable();
  const write = (head: Tensor) =>
    writeSafetensors(join(path, "model.safetensors"), new Map(model.parameters).set("lm_head.weight", head), {
      dtype: "float32",
    });
  await write(embedding);
  expect((await loadModel(path)).parameters).toEqual(model.parameters);
  const other = embedding.data.slice();
  other[799] += 1;
  await write({ ...embedding, data: other });
  await expect(loadModel(path)).rejects.toThrow(/lm_head.weight in .* expected the same numbers, as tie_word_embeddings is true/);
});

test("missing, unexpected and mis-shaped tensors are named", async () => {
  const path = join(folder, "damaged");
  await cp(golden("qwen3"), path, { recursive: true });
  const file = join(path, "model.safetensors");
  const weights = await readSafetensors(file);
  const norm = "model.layers.1.self_attn.q_norm.weight";
  const cases = [
    [new Map([...weights].filter(([name]) => name !== norm)), `tensor ${norm} in ${path} is missing; expected shape [32]`],
    [new Map(weights).set("extra", { shape: [1], data: Float32Array.of(1) }), `tensor extra in ${path} is "unexpected"`],
    [
      new Map(weights).set(norm, { shape: [31], data: new Float32Array(31) }),
      `shape of tensor ${norm} in ${path} is [31]; expected [32]`,
    ],
  ] as const;
  for (const [damaged, message] of cases) {
    await writeSafetensors(file, damaged, { dtype: "float32" });
    await expect(loadModel(path)).rejects.toThrow(message);
    await expect(loadModel(path)).rejects.toThrow(ModelError);
  }
});

test("a model with an adapter beside its weights, which transformers would add to them, is refused", async () => {
  const path = join(folder, "with-adapter");
  await cp(golden("qwen2"), path, { recursive: true });
  await cp(new URL("../../../test/golden/lora", import.meta.url).pathname, path, { recursive: true });
  await expect(loadModel(path)).rejects.toThrow(/adapter_config.json in .* is "unexpected".* name it in engine.lora.from/);
  await rm(join(path, "config.json"));
  await expect(loadModel(path)).rejects.toThrow(/adapter_config.json in .* is "unexpected"/);
});

test("a folder that is none, and a config that is not JSON, say what to check", async () => {
  await expect(loadModel(join(folder, "nowhere"))).rejects.toThrow(
    /model folder .*nowhere is "not readable"; expected a folder with config.json/,
  );
  const path = join(folder, "no-json");
  await cp(golden("qwen3"), path, { recursive: true });
  await writeFile(join(path, "config.json"), (await readFile(join(path, "config.json"), "utf8")).slice(0, -10));
  await expect(loadModel(path)).rejects.toThrow(/config.json is "malformed"/);
});

test("a folder that cannot be written is refused, and one that is read lists what it lacks", async () => {
  const file = join(folder, "a file");
  await writeFile(file, "");
  const model = initialiseModel(tiny, randomStream(1));
  await expect(saveModel(file, model, { dtype: "float32" })).rejects.toThrow(
    `model folder ${file} is "not writable". Choose another folder.`,
  );
  await expect(readModelConfig(join(folder, "none.json"))).rejects.toThrow(
    /none\.json is "not readable \(.*\)"; expected a JSON file\. Check the model folder\.$/,
  );
});

test("weights are written in the type that their settings name, and have another name in newer files", async () => {
  const model = initialiseModel(tiny, randomStream(1));
  expect(storedType(model)).toBe("float32");
  expect([{ dtype: "bfloat16", torch_dtype: "float16" }, { torch_dtype: "float16" }, { dtype: "int8" }].map(stored)).toEqual([
    ...["bfloat16", "float16", "float32"],
  ]);
  await saveModel(
    join(folder, "newer"),
    { ...model, configFile: { ...model.configFile, dtype: "float32" } },
    { dtype: "float16" },
  );
  const { configFile } = await loadModel(join(folder, "newer"));
  expect([configFile.dtype, configFile.torch_dtype, storedType({ configFile })]).toEqual(["float16", undefined, "float16"]);
});
const stored = (configFile: Record<string, unknown>) => storedType({ configFile });

test("biases begin at 0, and Gemma's norms at 0, since 1 is added to them", () => {
  const valuesOf = (changes: Partial<ModelConfig>, kind: RegExp) => {
    const { parameters } = initialiseModel({ ...tiny, ...changes }, randomStream(1));
    const some = [...parameters].filter(([name]) => kind.test(name));
    expect(some.length).toBeGreaterThan(0);
    return new Set(some.flatMap(([, { data }]) => [...data]));
  };
  expect(valuesOf({ attentionBias: true }, /bias$/)).toEqual(new Set([0]));
  expect(valuesOf({}, /norm\.weight$/)).toEqual(new Set([1]));
  expect(valuesOf({ normOffset: true }, /norm\.weight$/)).toEqual(new Set([0]));
});
