import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { loadModel, type Model } from "../model-folder.ts";
import { readGguf } from "./file.ts";
import { ggufFolder } from "./folder.ts";
import { encode, writeGguf } from "./write.ts";

const root = new URL("../../../../", import.meta.url).pathname;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gguf-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The models of golden numbers have no tokenizer: a bundled model's is put beside them. */
async function goldenModel(name: string): Promise<Model> {
  const model = await loadModel(`${root}test/golden/models/${name}`);
  const { vocabSize } = model.config;
  const tokens = Array.from({ length: vocabSize }, (_, id) => `t${id}`);
  const tokenizer = {
    added_tokens: [{ id: 2, content: "t2", special: true }],
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [["t", "1"]] },
  };
  const templates = ["default", "tool_use", "rag"].map((name) => ({ name, template: `{{ messages }} ${name}` }));
  const config = { eos_token: "t2", chat_template: templates };
  const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
  return {
    ...model,
    companions: new Map([
      ["tokenizer.json", bytes(tokenizer)],
      ["tokenizer_config.json", bytes(config)],
    ]),
  };
}

/** Gemma with the window's pattern and the scale that llama.cpp assumes. */
function usual(model: Model): Model {
  const { architecture, layers, headDim } = model.config;
  if (architecture !== "gemma3_text") return model;
  const layerTypes = Array.from({ length: layers }, (_, i) => ((i + 1) % 6 === 0 ? ("full" as const) : ("sliding" as const)));
  return { ...model, config: { ...model.config, layerTypes, attentionScale: 1 / Math.sqrt(headDim) } };
}

test("settings that the format has no place for are refused by name", async () => {
  const model = await goldenModel("gemma3_text");
  await expect(writeGguf(join(folder, "no.gguf"), model, { type: "F16", name: "no" })).rejects.toThrow(
    /layerTypes as GGUF .*sliding.*--to hf/,
  );
});

test.each(["llama", "qwen2", "qwen3", "gemma3_text", "lfm2", "mistral"])(
  "%s comes back from GGUF as it went in: settings, names, order of rows",
  async (name) => {
    const model = usual(await goldenModel(name));
    const file = join(folder, `${name}.gguf`);
    await writeGguf(file, model, { type: "F32", name });
    const back = await loadModel(await ggufFolder(file, join(folder, "cache")));
    const { architecture, ...settings } = model.config;
    expect(back.config).toMatchObject({
      ...settings,
      architecture: architecture === "mistral" ? "llama" : architecture,
      eosTokenIds: model.config.eosTokenIds.length > 0 ? model.config.eosTokenIds : [2],
    });
    const settingsFile = z.object({ chat_template: z.unknown() });
    expect(settingsFile.parse(JSON.parse(String(back.companions.get("tokenizer_config.json")))).chat_template).toEqual([
      { name: "default", template: "{{ messages }} default" },
      { name: "tool_use", template: "{{ messages }} tool_use" },
    ]);
    expect([...back.parameters.keys()]).toEqual([...model.parameters.keys()]);
    for (const [key, { shape, data }] of model.parameters) {
      const found = back.parameters.get(key) ?? expect.unreachable();
      expect(found.shape, key).toEqual(shape);
      // Gemma's norms are stored as 1 + w, which rounds.
      const most = data.reduce((largest, value, i) => Math.max(largest, Math.abs(value - found.data[i])), 0);
      expect(most, key).toBeLessThanOrEqual(architecture === "gemma3_text" && key.endsWith("norm.weight") ? 2e-7 : 0);
    }
  },
);

test("Q8_0 and F16 are read back within half a step, and vectors are exact", async () => {
  const model = await goldenModel("qwen2");
  for (const type of ["F16", "Q8_0"] as const) {
    const file = join(folder, `${type}.gguf`);
    await writeGguf(file, model, { type, name: type });
    const back = await loadModel(await ggufFolder(file, join(folder, "cache")));
    for (const [key, { shape, data }] of model.parameters) {
      const found = back.parameters.get(key)?.data ?? expect.unreachable();
      const scale = data.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
      const step = shape.length < 2 ? 0 : type === "F16" ? scale * 2 ** -11 : (scale / 127) * 0.51;
      const most = data.reduce((largest, value, i) => Math.max(largest, Math.abs(value - found[i])), 0);
      expect(most, key).toBeLessThanOrEqual(step);
    }
  }
});

test("Q8_0 has the bytes that the gguf package's quantiser writes", () => {
  const golden = z
    .object({ numbers: z.base64(), Q8_0: z.base64() })
    .parse(JSON.parse(readFileSync(`${root}test/golden/gguf/quantised.json`, "utf8")));
  const numbers = new Float32Array(new Uint8Array(Buffer.from(golden.numbers, "base64")).buffer);
  expect(Buffer.from(encode(numbers, "Q8_0")).toString("base64")).toBe(golden.Q8_0);
});

test("a tokenizer that llama.cpp has no name for is refused", async () => {
  const model = await goldenModel("llama");
  const tokenizer = z.looseObject({}).parse(JSON.parse(Buffer.from(model.companions.get("tokenizer.json") ?? []).toString()));
  const bpe = z.object({ model: z.looseObject({}) }).parse(tokenizer).model;
  // GPT-2's cuts, with pieces that are tokens whatever their merges say, are nobody's.
  for (const other of [{ pre_tokenizer: { type: "Whitespace" } }, { model: { ...bpe, ignore_merges: true } }]) {
    const companions = new Map([
      ...model.companions,
      ["tokenizer.json", Buffer.from(JSON.stringify({ ...tokenizer, ...other }))],
    ]);
    await expect(writeGguf(join(folder, "no.gguf"), { ...model, companions }, { type: "F16", name: "no" })).rejects.toThrow(
      /pre_tokenizer of tokenizer.json as GGUF .*--to hf/,
    );
  }
});

/** What is written, as lists of the header: metadata, and each tensor's type, sizes and place. */
async function headerOf(model: Model, type: "F32" | "F16" | "Q8_0") {
  const file = join(folder, "header.gguf");
  await writeGguf(file, model, { type, name: "a name" });
  const { metadata, tensors } = await readGguf([file]);
  const short = (value: unknown) => (Array.isArray(value) && value.length > 8 ? `${value.length} values` : value);
  const [first] = tensors.values();
  return {
    metadata: [...metadata].map(([key, value]) => `${key}: ${JSON.stringify(short(value))}`),
    tensors: [...tensors.values()].map(
      ({ name, type, shape, start, bytes }) => `${name} ${type.name} ${shape} at ${start - (first?.start ?? 0)}, ${bytes}`,
    ),
  };
}

test("a file's metadata is what llama.cpp's converter writes, and tensors begin at multiples of 32 bytes", async () => {
  const plain = await goldenModel("qwen3");
  expect(await headerOf(plain, "Q8_0")).toMatchInlineSnapshot(`
    {
      "metadata": [
        "general.architecture: "qwen3"",
        "general.name: "a name"",
        "general.file_type: 7",
        "general.quantization_version: 2",
        "qwen3.vocab_size: 300",
        "qwen3.context_length: 512",
        "qwen3.embedding_length: 64",
        "qwen3.block_count: 2",
        "qwen3.feed_forward_length: 128",
        "qwen3.attention.head_count: 4",
        "qwen3.attention.head_count_kv: 2",
        "qwen3.attention.key_length: 32",
        "qwen3.attention.value_length: 32",
        "qwen3.attention.layer_norm_rms_epsilon: 9.999999974752427e-7",
        "qwen3.rope.dimension_count: 32",
        "qwen3.rope.freq_base: 1000000",
        "tokenizer.ggml.model: "gpt2"",
        "tokenizer.ggml.pre: "gpt-2"",
        "tokenizer.ggml.tokens: "300 values"",
        "tokenizer.ggml.token_type: "300 values"",
        "tokenizer.ggml.merges: ["t 1"]",
        "tokenizer.ggml.add_bos_token: false",
        "tokenizer.ggml.add_space_prefix: false",
        "tokenizer.ggml.eos_token_id: 2",
        "tokenizer.chat_template: "{{ messages }} default"",
        "tokenizer.chat_template.tool_use: "{{ messages }} tool_use"",
      ],
      "tensors": [
        "token_embd.weight Q8_0 300,64 at 0, 20400",
        "blk.0.attn_norm.weight F32 64 at 20416, 256",
        "blk.0.attn_q.weight Q8_0 128,64 at 20672, 8704",
        "blk.0.attn_k.weight Q8_0 64,64 at 29376, 4352",
        "blk.0.attn_v.weight Q8_0 64,64 at 33728, 4352",
        "blk.0.attn_q_norm.weight F32 32 at 38080, 128",
        "blk.0.attn_k_norm.weight F32 32 at 38208, 128",
        "blk.0.attn_output.weight Q8_0 64,128 at 38336, 8704",
        "blk.0.ffn_norm.weight F32 64 at 47040, 256",
        "blk.0.ffn_gate.weight Q8_0 128,64 at 47296, 8704",
        "blk.0.ffn_up.weight Q8_0 128,64 at 56000, 8704",
        "blk.0.ffn_down.weight Q8_0 64,128 at 64704, 8704",
        "blk.1.attn_norm.weight F32 64 at 73408, 256",
        "blk.1.attn_q.weight Q8_0 128,64 at 73664, 8704",
        "blk.1.attn_k.weight Q8_0 64,64 at 82368, 4352",
        "blk.1.attn_v.weight Q8_0 64,64 at 86720, 4352",
        "blk.1.attn_q_norm.weight F32 32 at 91072, 128",
        "blk.1.attn_k_norm.weight F32 32 at 91200, 128",
        "blk.1.attn_output.weight Q8_0 64,128 at 91328, 8704",
        "blk.1.ffn_norm.weight F32 64 at 100032, 256",
        "blk.1.ffn_gate.weight Q8_0 128,64 at 100288, 8704",
        "blk.1.ffn_up.weight Q8_0 128,64 at 108992, 8704",
        "blk.1.ffn_down.weight Q8_0 64,128 at 117696, 8704",
        "output_norm.weight F32 64 at 126400, 256",
      ],
    }
  `);
  const lfm = await headerOf(await goldenModel("lfm2"), "F16");
  expect(lfm.metadata.filter((line) => line.startsWith("lfm2"))).toMatchInlineSnapshot(`
    [
      "lfm2.vocab_size: 64",
      "lfm2.context_length: 256",
      "lfm2.embedding_length: 16",
      "lfm2.block_count: 3",
      "lfm2.feed_forward_length: 24",
      "lfm2.attention.head_count: 4",
      "lfm2.attention.head_count_kv: [0,2,0]",
      "lfm2.attention.key_length: 8",
      "lfm2.attention.value_length: 8",
      "lfm2.attention.layer_norm_rms_epsilon: 0.000009999999747378752",
      "lfm2.rope.dimension_count: 8",
      "lfm2.rope.freq_base: 1000000",
      "lfm2.shortconv.l_cache: 3",
    ]
  `);
  const gemma = await headerOf(usual(await goldenModel("gemma3_text")), "F32");
  expect(gemma.metadata.filter((line) => line.startsWith("gemma3"))).toMatchInlineSnapshot(`
    [
      "gemma3.vocab_size: 64",
      "gemma3.context_length: 256",
      "gemma3.embedding_length: 16",
      "gemma3.block_count: 3",
      "gemma3.feed_forward_length: 24",
      "gemma3.attention.head_count: 4",
      "gemma3.attention.head_count_kv: 2",
      "gemma3.attention.key_length: 8",
      "gemma3.attention.value_length: 8",
      "gemma3.attention.layer_norm_rms_epsilon: 9.999999974752427e-7",
      "gemma3.rope.dimension_count: 8",
      "gemma3.rope.freq_base: 1000000",
      "gemma3.rope.scaling.type: "linear"",
      "gemma3.rope.scaling.factor: 8",
      "gemma3.attention.sliding_window: 5",
    ]
  `);
});

test("rescaled positions are written as a factor, or as divisors before all tensors", async () => {
  const model = await goldenModel("llama");
  const scaled = async (scaling: Model["config"]["rope"]["scaling"]) => {
    const { metadata, tensors } = await headerOf({ ...model, config: { ...model.config, rope: { theta: 5e5, scaling } } }, "F32");
    return [...metadata.filter((line) => line.includes("rope")), tensors[0]];
  };
  expect(await scaled(undefined)).toMatchInlineSnapshot(`
    [
      "llama.rope.dimension_count: 16",
      "llama.rope.freq_base: 500000",
      "token_embd.weight F32 300,64 at 0, 76800",
    ]
  `);
  expect(await scaled({ factor: 4 })).toMatchInlineSnapshot(`
    [
      "llama.rope.dimension_count: 16",
      "llama.rope.freq_base: 500000",
      "llama.rope.scaling.type: "linear"",
      "llama.rope.scaling.factor: 4",
      "token_embd.weight F32 300,64 at 0, 76800",
    ]
  `);
  expect(
    await scaled({ factor: 8, lowFreqFactor: 1, highFreqFactor: 4, originalMaxPositionEmbeddings: 256 }),
  ).toMatchInlineSnapshot(`
    [
      "llama.rope.dimension_count: 16",
      "llama.rope.freq_base: 500000",
      "llama.rope.scaling.original_context_length: 256",
      "rope_freqs.weight F32 8 at 0, 32",
    ]
  `);
});

test("a window beside Gemma's has no place in the format", async () => {
  const model = await goldenModel("mistral");
  const windowed = { ...model, config: { ...model.config, window: 4, layerTypes: ["sliding", "sliding"] as const } };
  await expect(writeGguf(join(folder, "no.gguf"), windowed, { type: "F16", name: "no" })).rejects.toThrow(
    'mistral as GGUF is "with a window"; expected an architecture that llama.cpp reads, without a window beside Gemma\'s.',
  );
  const extra = { shape: [1], data: Float32Array.of(1) };
  const unknown = { ...model, parameters: new Map([...model.parameters, ["extra", extra]]) };
  await expect(writeGguf(join(folder, "no.gguf"), unknown, { type: "F16", name: "no" })).rejects.toThrow(
    "tensor extra as GGUF is missing; expected a name that llama.cpp has.",
  );
});
