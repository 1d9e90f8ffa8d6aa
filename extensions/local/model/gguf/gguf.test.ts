import { readdirSync, readFileSync, realpathSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { ModelError } from "../../../../src/core/errors.ts";
import { randomStream } from "../../../../src/core/random.ts";
import type { ModelConfig } from "../model-config.ts";
import { initialiseModel, loadModel } from "../model-folder.ts";
import { ggufParts, readGguf } from "./file.ts";
import { ggufFolder, namedParts } from "./folder.ts";
import { readTensor } from "./weights.ts";
import { writeGguf } from "./write.ts";

const golden = (name: string) => new URL(`../../../../test/golden/gguf/${name}`, import.meta.url).pathname;
const bytes = readFileSync(golden("types.gguf"));
const expected = z
  .record(z.string(), z.object({ shape: z.array(z.int()), bits: z.base64() }))
  .parse(JSON.parse(readFileSync(golden("types.json"), "utf8")));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gguf-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function fileOf(content: Uint8Array, name = "changed.gguf"): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

const errorOf = (file: string): Promise<unknown> =>
  readGguf([file]).then(
    () => undefined,
    (error: unknown) => error,
  );

test.each(Object.keys(expected))("%s is dequantised as the gguf package does it, to the bit", async (name) => {
  const tensor = (await readGguf([golden("types.gguf")])).tensors.get(name) ?? expect.unreachable();
  const numbers = await readTensor(tensor);
  expect(tensor.shape).toEqual(expected[name].shape);
  expect(Buffer.from(numbers.buffer).toString("base64")).toBe(expected[name].bits);
});

test("metadata that the gguf package writes", async () => {
  const { metadata } = await readGguf([golden("types.gguf")]);
  expect(metadata.get("general.architecture")).toBe("llama");
  expect(metadata.get("tokenizer.ggml.tokens")).toEqual(["a", "Ġb", "é"]);
  expect(metadata.get("tokenizer.ggml.token_type")).toEqual([1, 1, 3]);
  expect(metadata.get("test.large")).toBe(2n ** 63n + 1n);
  expect(metadata.get("test.flag")).toBe(true);
  expect(metadata.get("llama.rope.freq_base")).toBe(1e5);
});

test("a file that ends early is refused at every byte of its header", async () => {
  const { tensors } = await readGguf([golden("types.gguf")]);
  const end = Math.min(...[...tensors.values()].map(({ start }) => start));
  for (let size = 0; size < end; size += 7) {
    const file = await fileOf(bytes.subarray(0, size));
    expect(await errorOf(file), `${size} bytes`).toBeInstanceOf(ModelError);
  }
  const file = await fileOf(bytes.subarray(0, bytes.length - 33));
  await expect(readGguf([file])).rejects.toThrow(/offset of Q6_K at byte \d+ of .* It is truncated/);
});

/** Two lengths in a file of a few bytes: what it claims is never allocated. */
test.each([
  ["a text", 8, 2n ** 40n, /length of greeting at byte 44 of .* is 1099511627776; expected at most 0/],
  ["a text beyond 2^63", 8, 2n ** 64n - 1n, /length of greeting at byte 44 of .* is 18446744073709551615/],
])("%s of gigabytes is refused before memory is taken", async (_, type, length, message) => {
  const file = await fileOf(headerWith((into) => [into.u32(type), into.u64(length)]));
  await expect(readGguf([file])).rejects.toThrow(message);
});

test("a list of more values than the file has bytes, and a list of lists, are refused", async () => {
  const long = await fileOf(headerWith((into) => [into.u32(9), into.u32(0), into.u64(2n ** 33n)]));
  await expect(readGguf([long])).rejects.toThrow(/length of greeting at byte 48 of .* is 8589934592/);
  const nested = await fileOf(headerWith((into) => [into.u32(9), into.u32(9), into.u64(1n)]));
  await expect(readGguf([nested])).rejects.toThrow(/type of the list greeting at byte 44 of .* is 9/);
});

test("types that are not read are refused by name", async () => {
  const changed = Buffer.from(bytes);
  const at = changed.indexOf("Q6_K") + 4 + 4 + 2 * 8;
  changed.writeUInt32LE(10, at);
  const file = await fileOf(changed);
  await expect(readGguf([file])).rejects.toThrow(/type of Q6_K at byte \d+ of .* is "Q2_K"; expected F32, F16, Q4_0/);
});

test("parts belong together", async () => {
  expect(ggufParts("m-00002-of-00003.gguf", () => true)).toEqual([1, 2, 3].map((i) => `m-0000${i}-of-00003.gguf`));
  expect(() => ggufParts("m-00001-of-00002.gguf", (file) => !file.includes("00002-of"))).toThrow("m-00002-of-00002.gguf");
  await expect(readGguf([golden("types.gguf"), golden("types.gguf")])).rejects.toThrow("split.no and split.count");
});

test("a file without an architecture that is computed, or without a tokenizer, is no model", async () => {
  await expect(ggufFolder(golden("types.gguf"), join(folder, "cache"))).rejects.toThrow(
    /llama.embedding_length in .* is missing/,
  );
  const file = await fileOf(Buffer.from(bytes.toString("latin1").replace("llama", "rwkv7"), "latin1"), "rwkv.gguf");
  await expect(ggufFolder(file, join(folder, "cache"))).rejects.toThrow(
    /general.architecture in .* is "rwkv7"; expected "llama"/,
  );
});

/** A header with one key, "greeting", and the given value. */
function headerWith(value: (into: { u32: (v: number) => Buffer; u64: (v: bigint) => Buffer }) => readonly Buffer[]): Buffer {
  const u32 = (v: number) => {
    const b = Buffer.alloc(4);
    b.writeUInt32LE(v);
    return b;
  };
  const u64 = (v: bigint) => {
    const b = Buffer.alloc(8);
    b.writeBigUInt64LE(v);
    return b;
  };
  const key = Buffer.from("greeting");
  return Buffer.concat([Buffer.from("GGUF"), u32(3), u64(0n), u64(1n), u64(BigInt(key.length)), key, ...value({ u32, u64 })]);
}

test("a model's folder is made once for a file of that size and time, in the cache of the user", async () => {
  await expect(ggufFolder(join(folder, "none.gguf"))).rejects.toThrow(
    /none\.gguf is missing; expected a GGUF file\. Check the path\.$/,
  );
  const file = join(folder, "tiny.gguf");
  const { model, cache } = await writtenModel(file);
  vi.stubEnv("XDG_CACHE_HOME", cache);
  try {
    const made = await ggufFolder(file);
    expect(made.startsWith(join(cache, "retrograde", "gguf"))).toBe(true);
    expect(/[0-9a-f]{32}$/.test(made)).toBe(true);
    expect(readdirSync(made).sort()).toEqual([
      ...["config.json", "generation_config.json", "gguf.json", "tokenizer.json", "tokenizer_config.json"],
    ]);
    const read = (name: string) => JSON.parse(readFileSync(join(made, name), "utf8"));
    expect(read("generation_config.json")).toEqual({ bos_token_id: null, eos_token_id: [2] });
    expect(read("gguf.json").parts).toEqual([realpathSync(file)]);
    expect(namedParts(made)).toMatchObject({ parts: [realpathSync(file)], isOwn: true });
    expect((await loadModel(made)).parameters).toEqual(model.parameters);
    writeFileSync(join(made, "config.json"), "{}"); // what is there is taken as it is
    expect(await ggufFolder(file)).toBe(made);
    expect(readFileSync(join(made, "config.json"), "utf8")).toBe("{}");
    utimesSync(file, 1, 1);
    expect(await ggufFolder(file)).not.toBe(made);
  } finally {
    vi.unstubAllEnvs();
  }
  expect(namedParts(folder)).toBeUndefined();
});

/** A model of random weights in a file. */
async function writtenModel(file: string) {
  const tokens = Array.from({ length: 12 }, (_, id) => `t${id}`);
  const tokenizer = {
    added_tokens: [{ id: 2, content: "t2", special: true }],
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [["t", "1"]] },
  };
  const config: ModelConfig = {
    ...{ architecture: "llama", eosTokenIds: [2], maxPositionEmbeddings: 64, rmsNormEps: 1e-6, attentionBias: false },
    ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 1, headDim: 4 },
    ...{ hiddenSize: 8, intermediateSize: 8, layers: 1, heads: 2, vocabSize: 12 },
  };
  const companions = new Map([["tokenizer.json", Buffer.from(JSON.stringify(tokenizer))]]);
  const model = initialiseModel(config, randomStream(1), companions);
  await writeGguf(file, model, { type: "F32", name: "tiny" });
  return { model, cache: await mkdtemp(join(folder, "cache-")) };
}
