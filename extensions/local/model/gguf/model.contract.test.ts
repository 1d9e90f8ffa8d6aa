import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { modelFolder } from "../../../../src/sdk/model.ts";
import { startHub } from "../../../../test/hub-server.ts";
import { writeTinyModel } from "../../../../test/tiny-model.ts";
import { loadModel } from "../model-folder.ts";
import { writeGguf } from "./write.ts";

const folder = mkdtempSync(join(tmpdir(), "gguf-model-"));
const plain = join(folder, "plain");
const tokens = Array.from({ length: 40 }, (_, id) => `t${id}`);
const tokenizer = {
  added_tokens: [{ id: 2, content: "t2", special: true }],
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
  model: { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: [["t", "1"]] },
};
await writeTinyModel(plain, { tokenizer, config: { eos_token: "t2", chat_template: "{{ messages }}" } });
const made = await loadModel(plain);
const file = join(folder, "tiny.gguf");
await writeGguf(file, made, { type: "F32", name: "tiny" });

beforeEach(() => {
  for (const name of ["XDG_CACHE_HOME", "HF_HOME"]) vi.stubEnv(name, mkdtempSync(join(folder, "cache-")));
  return () => vi.unstubAllEnvs();
});

const open = async (model: string) => loadModel(await modelFolder({ model, environment: { name: "office" } }));

/** A store as `ollama pull` lays it out, that nobody may write to. */
function storeOf(manifests: Readonly<Record<string, unknown>>): string {
  const store = mkdtempSync(join(folder, "store-"));
  mkdirSync(join(store, "blobs"));
  cpSync(file, join(store, "blobs", `sha256-${"a".repeat(64)}`));
  for (const [name, manifest] of Object.entries(manifests)) {
    const path = join(store, "manifests", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
  }
  for (const part of ["blobs", "manifests"]) chmodSync(join(store, part), 0o555);
  vi.stubEnv("OLLAMA_MODELS", store);
  return store;
}

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const manifest = (letter: string) => ({
  schemaVersion: 2,
  mediaType: "application/vnd.docker.distribution.manifest.v2+json",
  config: { mediaType: "application/vnd.docker.container.image.v1+json", digest: digest("c"), size: 1 },
  layers: [
    { mediaType: "application/vnd.ollama.image.model", digest: digest(letter), size: 1 },
    { mediaType: "application/vnd.ollama.image.license", digest: digest("d"), size: 1 },
  ],
});

test.each([
  ["ollama:tiny", "registry.ollama.ai/library/tiny/latest"],
  ["ollama:tiny:2m", "registry.ollama.ai/library/tiny/2m"],
  ["ollama:me/tiny", "registry.ollama.ai/me/tiny/latest"],
  ["ollama:hf.co/me/tiny-GGUF:Q8_0", "hf.co/me/tiny-GGUF/Q8_0"],
])("%s is a model in Ollama's store", async (name, path) => {
  storeOf({ [path]: manifest("a") });
  expect((await open(name)).parameters).toEqual(made.parameters);
});

test("what Ollama's store lacks, or has broken, is said with the command that gets it", async () => {
  const base = "registry.ollama.ai/library";
  const store = storeOf({
    [`${base}/gone/latest`]: manifest("b"),
    [`${base}/torn/latest`]: "{",
    [`${base}/none/latest`]: { layers: [] },
  });
  await expect(open("ollama:other")).rejects.toThrow(`expected a model in ${store}. Run: ollama pull other`);
  await expect(open("ollama:gone")).rejects.toThrow("Run: ollama pull gone");
  await expect(open("ollama:torn")).rejects.toThrow(/torn.latest is "malformed"/);
  await expect(open("ollama:none")).rejects.toThrow(/layers of .* is 0; expected one with a model/);
  await expect(open("ollama:../../etc")).rejects.toThrow("expected NAME or NAME:TAG");
});

test("OWNER/NAME:FILE.gguf is that file of a repository on the Hub, and no other", async () => {
  const hub = await startHub(undefined, { files: { "tiny.gguf": readFileSync(file), "other.gguf": "no" } });
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  expect((await open(`${hub.repo}:tiny.gguf`)).parameters).toEqual(made.parameters);
  expect(hub.fetched()).toEqual(["tiny.gguf"]);
  await expect(open(`${hub.repo}:missing.gguf`)).rejects.toThrow("missing.gguf");
});
