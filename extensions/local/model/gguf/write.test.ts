import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { loadModel, type Model } from "../model-folder.ts";
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
