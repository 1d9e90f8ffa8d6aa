import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { capabilities } from "../../src/core/policy.ts";
import { publishedNames } from "../../src/hub/published.ts";
import { localEngine } from "./kind.ts";
import { writeBase } from "./model/adapted.ts";
import { publishedSizes } from "./published-sizes.ts";
import { localSettings } from "./settings.ts";

test("every published model whose size is known is found by its name", () => {
  expect(publishedNames).toEqual(expect.arrayContaining(Object.keys(publishedSizes)));
});

test("where less is allowed than there is, training is planned for what is allowed", async () => {
  vi.stubEnv("RETROGRADE_MEMORY", "16");
  const folder = mkdtempSync(join(tmpdir(), "retrograde-shape-"));
  const sizes = { vocab_size: 49152, hidden_size: 576, intermediate_size: 1536, num_hidden_layers: 30, num_attention_heads: 9 };
  const more = { num_key_value_heads: 3, max_position_embeddings: 8192, rms_norm_eps: 1e-5, tie_word_embeddings: true };
  writeFileSync(join(folder, "config.json"), JSON.stringify({ model_type: "llama", eos_token_id: 2, ...sizes, ...more }));
  const purpose = { use: { training: true, length: 512, concurrency: 8, trajectories: 64 } };
  // As usual it would take 7.0 GiB, with small passes 2.9.
  const inspect = (memory: number) =>
    localEngine.inspect?.(join(folder, "config.json"), folder, { device: "cpu", threads: 1, memory }, purpose.use);
  await inspect(3);
  await expect(inspect(2.8)).rejects.toThrow(/memory is 2.8; expected at least 2.9 GiB/);
});

test("models are GGUF files by their paths, and those of Ollama's store by their names", () => {
  const { names, find } = localEngine.models ?? expect.unreachable();
  expect(names).toEqual(["a GGUF file", '"ollama:NAME"']);
  expect(["a/model.gguf", "model.gguf.txt", "models/office"].map(find)).toEqual(["a/model.gguf", undefined, undefined]);
  vi.stubEnv("OLLAMA_MODELS", "/nowhere");
  expect(() => find("ollama:tiny")).toThrow("ollama:tiny is missing; expected a model in /nowhere.");
});

test("a GGUF file is its parts, and a folder has its weights where it says, or nowhere else", async () => {
  const { parts, elsewhere } = localEngine.models ?? expect.unreachable();
  expect(await parts("m-00002-of-00003.gguf")).toEqual([1, 2, 3].map((part) => `m-0000${part}-of-00003.gguf`));
  const folder = mkdtempSync(join(tmpdir(), "retrograde-elsewhere-"));
  expect(await elsewhere(folder)).toEqual({ places: [], isOwn: true });
  writeFileSync(join(folder, "base.json"), JSON.stringify({ model: "/base", precision: "int8" }));
  expect(await elsewhere(folder)).toEqual({ places: ["/base"], isOwn: false });
  writeFileSync(join(folder, "gguf.json"), JSON.stringify({ parts: ["/a.gguf", "/b.gguf"] }));
  expect(await elsewhere(folder)).toEqual({ places: ["/base", "/a.gguf", "/b.gguf"], isOwn: false });
  const own = mkdtempSync(join(tmpdir(), "retrograde-own-"));
  await writeBase(own, "/base", "float32");
  expect(await elsewhere(own)).toEqual({ places: ["/base"], isOwn: true });
});

test("fewer bits imply a correction of what the sampler draws, and a rounded base its sampler", () => {
  const implied = (settings: object) => localEngine.implies?.(settings as Record<string, unknown>);
  expect([implied({}), implied({ lora: {} }), implied({ sampling: { weights: "float32" }, lora: { base: "float32" } })]).toEqual([
    ...[undefined, undefined, undefined],
  ]);
  expect(implied({ sampling: { weights: "int8" } })).toEqual({ correction: {} });
  for (const base of ["int8", "int4"])
    expect(implied({ lora: { base } })).toEqual({ engine: { sampling: { weights: "int8" } }, correction: {} });
});

test("all that an engine may do is certain but on WebGPU, where what is sampled is not trained meanwhile", () => {
  const of = (device: "cpu" | "webgpu" | "cuda" | "auto") => localEngine.capabilities(localSettings.parse({ device }));
  const some = capabilities.filter((each) => each !== "frozen-policies");
  expect(some.length).toBe(capabilities.length - 1);
  expect([of("cpu"), of("cuda")]).toEqual([1, 2].map(() => ({ certain: [...capabilities], possible: [...capabilities] })));
  expect(of("webgpu")).toEqual({ certain: some, possible: some });
  expect(of("auto")).toEqual({ certain: some, possible: [...capabilities] });
});

test("settings that exclude each other are refused by their paths in a configuration", () => {
  const check = (settings: object) => () => localEngine.check?.({ ...localSettings.parse({}), ...settings });
  const lora = (base: "float32" | "int8" | "int4") => ({ rank: 1, alpha: 1, targets: "all-linear", base }) as const;
  for (const base of ["int8", "int4"] as const)
    expect(check({ lora: lora(base), sampling: { weights: "float32" } })).toThrow(
      'engine.sampling.weights is "float32"; expected "int8" where lora.base is "int8" or "int4". The frozen layers are held in no other form: set lora.base to "float32" to sample with float32.',
    );
  for (const device of ["cpu", "webgpu"])
    expect(check({ device, precision: "tf32" })).toThrow(
      'engine.precision is "tf32"; expected "float32", as device is not "cuda". ONNX Runtime multiplies in fewer bits on CUDA alone.',
    );
  for (const settings of [
    {},
    { lora: lora("float32"), sampling: { weights: "float32" } },
    { lora: lora("int8"), sampling: { weights: "int8" } },
    { lora: lora("int4") },
    { precision: "float32" },
    { device: "cuda", precision: "bfloat16" },
    { device: "auto", precision: "tf32" },
  ])
    expect(check(settings)).not.toThrow();
});

test("settings have their defaults, and bounds", () => {
  expect(localSettings.parse({ lora: {}, sampling: {} })).toEqual({
    device: "cpu",
    threads: 2,
    lora: { rank: 32, alpha: 32, targets: "all-linear", base: "float32" },
    sampling: { weights: "float32" },
  });
  const bounds = [
    {
      threads: 1,
      maxLength: 2,
      memory: 0.1,
      lora: { rank: 1, alpha: 0.1, targets: ["q_proj"], layers: 1 },
      sampling: { cacheGib: 0 },
    },
    { threads: 1024 },
  ];
  for (const settings of bounds) expect(localSettings.safeParse(settings).success).toBe(true);
  const refused = [
    ...[{ threads: 0 }, { threads: 1025 }, { threads: 1.5 }, { maxLength: 1 }, { memory: 0 }, { device: "rocm" }, { core: 1 }],
    ...[{ rank: 0 }, { alpha: 0 }, { targets: [] }, { targets: [""] }, { layers: 0 }, { base: "int2" }, { from: "" }].map(
      (lora) => ({
        lora,
      }),
    ),
    ...[{ weights: "int4" }, { cacheGib: -1 }, { cache: 1 }].map((sampling) => ({ sampling })),
  ];
  for (const settings of refused) expect([settings, localSettings.safeParse(settings).success]).toEqual([settings, false]);
});
