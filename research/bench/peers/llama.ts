/**
 * Sampling with llama.cpp as node-llama-cpp ships it, SmolLM2-135M in float32, keys and values too: llama.ts THREADS. The packages are in the folder
 * RETROGRADE_RUNTIMES (`.ci/runtimes`), the model is the published one (`.ci/published smollm2`), written anew. A request is "ROWS CACHED NEW", as of ours/sampling.ts.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ggufFolder } from "../../../extensions/local/model/gguf/folder.ts";
import { writeGguf } from "../../../extensions/local/model/gguf/write.ts";
import { loadModel } from "../../../extensions/local/model/model-folder.ts";
import { fetchPublished, smollm2 } from "../../../src/hub/published.ts";
import { randomTokens } from "../model.ts";
import { answerRounds } from "../ours/rounds.ts";

/** The part of node-llama-cpp that is used here. */
interface Sequence {
  evaluate(tokens: readonly number[], options: object): AsyncGenerator<number>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>;
  clearHistory(): Promise<void>;
}
interface Binding {
  readonly getLlama: (options: object) => Promise<{
    loadModel(options: object): Promise<{
      createContext(options: object): Promise<{ getSequence(): Sequence; dispose(): Promise<void> }>;
    }>;
  }>;
}

const threads = Number(process.argv[2]);
const packages = createRequire(join(process.env.RETROGRADE_RUNTIMES ?? ".", "x"));
const { getLlama } = (await import(pathToFileURL(packages.resolve("node-llama-cpp")).href)) as Binding;
const folder = await mkdtemp(join(tmpdir(), "retrograde-bench-llama-"));
const modelPath = join(folder, "model.gguf");
const published = await loadModel(await ggufFolder(await fetchPublished(smollm2)));
await writeGguf(modelPath, published, { type: "F32", name: "SmolLM2-135M" });
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: threads });
const model = await llama.loadModel({ modelPath });
const { vocabSize } = published.config;

async function decode(rows: number, cached: number, fresh: number): Promise<number> {
  const caches = { experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32" };
  const sizes = { sequences: rows, contextSize: cached + fresh + 1, batchSize: Math.max(512, rows) };
  const context = await model.createContext({ ...sizes, ...caches, threads, flashAttention: false });
  const sequences = Array.from({ length: rows }, () => context.getSequence());
  const prompts = sequences.map((_, row) => randomTokens(vocabSize, cached, "prompt", row));
  await Promise.all(sequences.map((sequence, row) => sequence.evaluateWithoutGeneratingNewTokens(prompts[row].slice(0, -1))));
  const start = performance.now();
  await Promise.all(
    sequences.map(async (sequence, row) => {
      let drawn = 0;
      const options = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: row, yieldEogToken: true };
      for await (const _ of sequence.evaluate(prompts[row].slice(-1), options)) if (++drawn === fresh) break;
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  await context.dispose();
  return seconds;
}

await decode(1, 8, 8);
await answerRounds(async (request) => {
  const [rows, cached, fresh] = request.split(" ").map(Number);
  return { tokensPerSecond: (rows * fresh) / (await decode(rows, cached, fresh)) };
}, "llama.cpp by node-llama-cpp, float32");
await rm(folder, { recursive: true });
process.exit();
