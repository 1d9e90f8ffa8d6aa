import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { LocalEngine } from "../engine.ts";
import { HostTensor } from "../machine/native/tensor.ts";
import { nativeRuntime } from "../machine/native.ts";
import { loadModel } from "./model-folder.ts";
import { writeOnnxFolder } from "./onnx-folder.ts";

const root = mkdtempSync(join(tmpdir(), "onnx-"));
afterAll(() => rmSync(root, { recursive: true }));
const golden = (name: string) => new URL(`../../../test/golden/models/${name}`, import.meta.url).pathname;
/** More tokens than the window of the golden Gemma. */
const ids = [5, 7, 11, 13, 17, 19, 23, 29, 31];

test.each(["qwen3", "gemma3_text", "llama"])(
  "%s as transformers.js reads it: logits of a prompt are the engine's, at once or with a cache",
  async (name) => {
    const model = await loadModel(golden(name));
    const { layers, kvHeads, headDim, vocabSize } = model.config;
    const out = join(root, name);
    await writeOnnxFolder(out, model);
    expect(readdirSync(join(out, "onnx"))).toEqual(["model.onnx"]);
    expect(JSON.parse(readFileSync(join(out, "config.json"), "utf8"))).toEqual({
      ...model.configFile,
      "transformers.js_config": { dtype: "fp32" },
    });

    const native = await nativeRuntime();
    const options = { intraOpNumThreads: 1, executionProviders: ["cpu"] };
    const session = await native.InferenceSession.create(readFileSync(join(out, "onnx", "model.onnx")), options);
    const int64 = (values: readonly number[]) => new HostTensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
    const caches = Array.from({ length: layers }, (_, layer) => ["key", "value"].map((kind) => `${layer}.${kind}`)).flat();
    /** Logits of some tokens behind those that are cached. */
    const run = async (tokens: readonly number[], past: ReadonlyMap<string, HostTensor>) => {
      const before = past.get("0.key")?.dims[2] ?? 0;
      const empty = new HostTensor("float32", new Float32Array(0), [1, kvHeads, 0, headDim]);
      const found = await session.run(
        {
          input_ids: int64(tokens),
          attention_mask: int64(Array(before + tokens.length).fill(1)),
          position_ids: int64(tokens.map((_, i) => before + i)),
          ...Object.fromEntries(caches.map((cache) => [`past_key_values.${cache}`, past.get(cache) ?? empty])),
        },
        ["logits", ...caches.map((cache) => `present.${cache}`)],
      );
      const present = new Map(caches.map((cache) => [cache, found[`present.${cache}`] as HostTensor]));
      const { data, dims } = found.logits as HostTensor;
      expect(dims).toEqual([1, tokens.length, vocabSize]);
      return { logits: data as Float32Array, present };
    };
    const whole = await run(ids, new Map());
    const first = await run(ids.slice(0, 4), new Map());
    const second = await run(ids.slice(4), first.present);
    [...first.logits, ...second.logits].forEach((logit, i) => {
      expect(logit).toBeCloseTo(whole.logits[i] ?? Number.NaN, 4);
    });

    const engine = new LocalEngine(model, { model: golden(name), threads: 1 });
    const [logprobs = []] = await engine.logprobs(
      [{ trajectory: "a", turn: 0, context: ids.slice(0, 1), action: ids.slice(1) }],
      { temperature: 1 },
    );
    await engine.dispose();
    await session.release();
    for (const [i, logprob] of logprobs.entries()) {
      const line = whole.logits.subarray(i * vocabSize, (i + 1) * vocabSize);
      const sum = line.reduce((all, logit) => all + Math.exp(logit), 0);
      expect((line[ids[i + 1] ?? 0] ?? 0) - Math.log(sum)).toBeCloseTo(logprob, 4);
    }
  },
);

test("convolutions, and weights that no message of protobuf holds, are refused with the other formats", async () => {
  const hint = "Export a GGUF file (--to gguf) or a Hugging Face folder (--to hf).";
  await expect(writeOnnxFolder(join(root, "no"), await loadModel(golden("lfm2")))).rejects.toThrow(
    `lfm2 as ONNX is "layers that are convolutions". ${hint}`,
  );
  const model = await loadModel(golden("qwen3"));
  const half = { shape: [1], data: { byteLength: 2 ** 30 } as Float32Array };
  const parameters = new Map([
    ["a", half],
    ["b", half],
  ]);
  await expect(writeOnnxFolder(join(root, "no"), { ...model, parameters })).rejects.toThrow(
    `weights as ONNX is "2147483648 bytes". ${hint}`,
  );
  expect(readdirSync(root)).not.toContain("no");
});
