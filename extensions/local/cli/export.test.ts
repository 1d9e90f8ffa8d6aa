import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { layout } from "../../../src/runs/layout.ts";
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

/** A run's folder with a model, and with an adapter if it trained one. */
async function runFolder(name: string, hasAdapter: boolean): Promise<string> {
  const run = join(folder, name);
  await writeTinyModel(layout.model(run));
  const made = { schema: 1, node: "20.0.0", created: "2026-01-01T00:00:00.000Z" };
  const record = { ...made, version: "0.1.0", seed: 1, config: { environment: { name: "office" }, steps: 3 } };
  writeFileSync(layout.run(run), JSON.stringify(record));
  if (hasAdapter) {
    mkdirSync(join(layout.model(run), "adapter"));
    writeFileSync(join(layout.model(run), "adapter", "adapter_config.json"), "{}");
  }
  return run;
}

test("the adapter of a run is copied as it is, and one that trained none is refused", async () => {
  const [run, out] = [await runFolder("adapted", true), join(folder, "peft")];
  await exportModelCommand(run, { to: "peft", out }, screen);
  expect(readdirSync(out)).toEqual(["adapter_config.json"]);
  await expect(
    exportModelCommand(await runFolder("whole-run", false), { to: "peft", out: join(folder, "no-peft") }, screen),
  ).rejects.toThrow(
    '--to is "peft"; expected the folder of a run that trained an adapter (engine.lora). Export the whole model with --to hf or --to gguf.',
  );
  expect(existsSync(join(folder, "no-peft"))).toBe(false);
});

test("the card of a run's model has the settings that it was trained with", async () => {
  const [run, out] = [await runFolder("trained", false), join(folder, "carded")];
  await exportModelCommand(run, { to: "hf", out }, screen);
  const settings = JSON.stringify({ environment: { name: "office" }, steps: 3 }, null, 2);
  expect(readFileSync(join(out, "README.md"), "utf8")).toBe(
    `---\nlibrary_name: transformers\ntags: [reinforcement-learning, retrograde]\n---\n\n# trained\n\nTrained by Retrograde (\`retrograde-rl\`). The settings of the run:\n\n\`\`\`json\n${settings}\n\`\`\`\n`,
  );
});
