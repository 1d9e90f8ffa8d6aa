import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { writeTinyModel } from "../../../test/tiny-model.ts";
import { readGguf } from "../model/gguf/file.ts";
import { loadModel } from "../model/model-folder.ts";
import { type ExportFlags, exportModelCommand } from "./export.ts";

const folder = mkdtempSync(join(tmpdir(), "export-"));
const model = join(folder, "tiny");
beforeAll(() => writeTinyModel(model));
afterAll(() => rmSync(folder, { recursive: true }));

let shown = "";
const screen = createScreen({ write: (text: string) => (shown += text) });
const exported = async (flags: Omit<ExportFlags, "out">, name: string) => {
  const out = join(folder, name);
  await exportModelCommand(model, { ...flags, out }, screen);
  return out;
};

test("a Hugging Face folder is written in the model's own type, or another, with a card", async () => {
  const [whole, halved] = [await exported({ to: "hf" }, "hf"), await exported({ to: "hf", type: "float16" }, "half")];
  expect((await loadModel(whole)).parameters).toEqual((await loadModel(model)).parameters);
  const [before, after] = [whole, halved].map((out) => readFileSync(join(out, "model.safetensors")).length);
  expect(after / before).toBeGreaterThan(0.45);
  expect(after / before).toBeLessThan(0.7);
  expect(readFileSync(join(whole, "README.md"), "utf8")).toBe(
    "---\nlibrary_name: transformers\ntags: [reinforcement-learning, retrograde]\n---\n\n# tiny\n\nExported by Retrograde from tiny.\n",
  );
  expect(shown).toContain(`Wrote ${whole}\n`);
});

test("a folder for transformers.js has the model in ONNX, and says its type", async () => {
  const out = await exported({ to: "onnx" }, "onnx");
  expect(readdirSync(join(out, "onnx"))).toEqual(["model.onnx"]);
  expect(JSON.parse(readFileSync(join(out, "config.json"), "utf8"))["transformers.js_config"]).toEqual({ dtype: "fp32" });
  expect(readFileSync(join(out, "README.md"), "utf8")).toContain("library_name: transformers.js\n");
});

test.each<readonly [Omit<ExportFlags, "out">, RegExp]>([
  [{ to: "zip" }, /^--to is "zip"; expected "gguf", "hf", "onnx" or "peft"/],
  [{ to: "onnx", type: "float16" }, /^--type is "float16"; expected none with --to onnx/],
  [{ to: "peft", type: "F16" }, /^--type is "F16"; expected none with --to peft/],
  [{ to: "hf", type: "F16" }, /^--type is "F16"; expected "float32", "float16" or "bfloat16"/],
  [{ to: "gguf", type: "float16" }, /^--type is "float16"; expected "F32", "F16" or "Q8_0"/],
  [{ to: "peft" }, /^--to is "peft"; expected the folder of a run that trained an adapter.*--to hf or --to gguf/],
  [{ to: "gguf" }, /pre_tokenizer of tokenizer.json as GGUF/], // it speaks in letters
])("%o is refused, and leaves nothing", async (flags, message) => {
  await expect(exported(flags, "no")).rejects.toThrow(message);
  expect(existsSync(join(folder, "no"))).toBe(false);
});

test("nothing is written over what is there", async () => {
  const before = readFileSync(join(model, "config.json"));
  await expect(exported({ to: "hf" }, "tiny")).rejects.toThrow(/^--out is ".*tiny"; expected a path where nothing is yet/);
  expect(readFileSync(join(model, "config.json"))).toEqual(before);
});

test("GGUF has the model's name, and F16 unless another type is asked for", async () => {
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  const plain = join(folder, "plain");
  const tokens = ["a", "b", "ab", "<|im_end|>"];
  await writeTinyModel(plain, {
    tokenizer: {
      ...{ version: "1.0", normalizer: null, pre_tokenizer: bytes, post_processor: null, decoder: { type: "ByteLevel" } },
      model: { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: ["a b"] },
      added_tokens: [
        { id: 3, content: "<|im_end|>", special: true, normalized: false, lstrip: false, rstrip: false, single_word: false },
      ],
    },
    config: { eos_token: "<|im_end|>", chat_template: "{{ messages[0].content }}" },
  });
  for (const type of [undefined, "Q8_0"] as const) {
    const out = join(folder, `${type}.gguf`);
    await exportModelCommand(plain, { to: "gguf", out, type }, screen);
    const { metadata, tensors } = await readGguf([out]);
    expect([metadata.get("general.name"), metadata.get("general.file_type")]).toEqual(["plain", type === undefined ? 1 : 7]);
    expect(metadata.get("tokenizer.ggml.token_type")).toEqual([1, 1, 1, 3]);
    expect(tensors.get("blk.0.ffn_up.weight")?.type.name).toBe(type ?? "F16");
    // Rows of 16, no whole block, are written whole; vectors always are.
    expect(tensors.get("blk.0.attn_q_norm.weight")?.type.name).toBe("F32");
  }
});
