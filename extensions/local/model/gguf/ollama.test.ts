import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { ModelError } from "../../../../src/core/errors.ts";
import { ollamaFile } from "./ollama.ts";

const root = mkdtempSync(join(tmpdir(), "ollama-"));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

const model = "application/vnd.ollama.image.model";
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const layers = (...types: readonly (readonly [mediaType: string, letter: string])[]) => ({
  schemaVersion: 2,
  layers: types.map(([mediaType, letter]) => ({ mediaType, digest: digest(letter), size: 1 })),
});

/** A store as `ollama pull` lays it out, with a model's file "a". */
function storeOf(manifests: Readonly<Record<string, unknown>>): string {
  const store = mkdtempSync(join(root, "store-"));
  mkdirSync(join(store, "blobs"));
  writeFileSync(join(store, "blobs", `sha256-${"a".repeat(64)}`), "GGUF");
  for (const [name, manifest] of Object.entries(manifests)) {
    const path = join(store, "manifests", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
  }
  return store;
}
const blob = (store: string, letter = "a") => join(store, "blobs", `sha256-${letter.repeat(64)}`);

test.each([
  ["tiny", "registry.ollama.ai/library/tiny/latest"],
  ["tiny:2m", "registry.ollama.ai/library/tiny/2m"],
  ["qwen2.5-coder:0.5b-instruct_q4", "registry.ollama.ai/library/qwen2.5-coder/0.5b-instruct_q4"],
  ["me/tiny", "registry.ollama.ai/me/tiny/latest"],
  ["hf.co/me/tiny-GGUF:Q8_0", "hf.co/me/tiny-GGUF/Q8_0"],
  ["my-host.example:11434/me/tiny", "my-host.example:11434/me/tiny/latest"],
])("%s is the model's layer that %s names", (name, path) => {
  const store = storeOf({ [path]: layers(["application/vnd.ollama.image.license", "d"], [model, "a"]) });
  expect(ollamaFile(name, [store])).toBe(blob(store));
});

test("the first store that has the name is taken", () => {
  const path = "registry.ollama.ai/library/tiny/latest";
  const [none, first, second] = [
    storeOf({}),
    storeOf({ [path]: layers([model, "a"]) }),
    storeOf({ [path]: layers([model, "a"]) }),
  ];
  expect(ollamaFile("tiny", [none, first, second])).toBe(blob(first));
});

test("stores are those of the environment, or a user's and the system's", () => {
  const store = storeOf({ "registry.ollama.ai/library/tiny/latest": layers([model, "a"]) });
  vi.stubEnv("OLLAMA_MODELS", store);
  expect(ollamaFile("tiny")).toBe(blob(store));
  vi.stubEnv("OLLAMA_MODELS", "");
  expect(() => ollamaFile("no-such-model")).toThrow(
    `ollama:no-such-model is missing; expected a model in ${join(homedir(), ".ollama", "models")} or /usr/share/ollama/.ollama/models. Run: ollama pull no-such-model, or name the store in OLLAMA_MODELS.`,
  );
});

test("what is no name, is not there or is broken is refused with the next step", () => {
  const base = "registry.ollama.ai/library";
  const store = storeOf({
    [`${base}/gone/latest`]: layers([model, "b"]),
    [`${base}/torn/latest`]: "{",
    [`${base}/short/latest`]: { layers: [{ mediaType: model, digest: `${digest("a")}a` }] },
    [`${base}/long/latest`]: { layers: [{ mediaType: model, digest: `x${digest("a")}` }] },
    [`${base}/none/latest`]: layers(["application/vnd.ollama.image.license", "a"]),
    [`${base}/two/latest`]: layers([model, "a"], [model, "a"]),
    [`${base}/huge/latest`]: " ".repeat(2 ** 20 + 1),
  });
  const refusal = (name: string) => {
    try {
      return ollamaFile(name, [store]);
    } catch (error) {
      return `${error}`.replaceAll(store, "STORE").replace(/[ab]{64}/g, "LETTERS");
    }
  };
  const manifest = (name: string) => `ModelError: STORE/manifests/${base}/${name}/latest`;
  const again = "Pull the model again.";
  const malformed = `is "malformed"; expected a manifest of Ollama. ${again}`;
  expect(["gone", "torn", "short", "long", "none", "two", "huge"].map(refusal)).toEqual([
    "ModelError: STORE/blobs/sha256-LETTERS of ollama:gone is missing. Run: ollama pull gone.",
    `${manifest("torn")} ${malformed}`,
    `${manifest("short")} ${malformed}`,
    `${manifest("long")} ${malformed}`,
    `ModelError: layers of STORE/manifests/${base}/none/latest is 0; expected one with a model. ${again}`,
    `ModelError: layers of STORE/manifests/${base}/two/latest is 2; expected one with a model. ${again}`,
    `${manifest("huge")} ${malformed}`,
  ]);
  for (const name of ["../../etc", "a/b/c/d", "tiny:", "", ".tiny", "me/.tiny", "tiny:.1", "./me/tiny", "tiny ", " tiny"])
    expect(() => ollamaFile(name, [store])).toThrow(
      new ModelError(`ollama:${name}`, "no name of Ollama's", { expected: "NAME or NAME:TAG, as `ollama list` shows it" }),
    );
});
