import { expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { availableMemory } from "./machine/memory-available.ts";
import { estimateMemory, longestThatFits, type MemoryUse, parameterText, requireMemory, totalBytes } from "./memory.ts";
import type { ModelConfig } from "./model/model-config.ts";
import { parameterCount } from "./model/model-config.ts";
import { rowTokens } from "./training/learner.ts";

const qwen2 = (sizes: Partial<ModelConfig>): ModelConfig => ({
  ...{ architecture: "qwen2", eosTokenIds: [], maxPositionEmbeddings: 2048, rmsNormEps: 1e-6, attentionBias: true },
  ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 2, headDim: 64 },
  ...{ hiddenSize: 256, intermediateSize: 768, layers: 6, heads: 4, vocabSize: 1024 },
  ...sizes,
});
const small = qwen2({});
const medium = qwen2({ hiddenSize: 512, intermediateSize: 1536, layers: 8, heads: 8, vocabSize: 8192 });
const large = qwen2({ hiddenSize: 768, intermediateSize: 2048, layers: 10, heads: 12, vocabSize: 50_000 });
/** Qwen2.5-0.5B */
const half = qwen2({ hiddenSize: 896, intermediateSize: 4864, layers: 24, heads: 14, vocabSize: 151_936 });

const training: MemoryUse = { training: true, length: 256, concurrency: 16 };
const adapter = { rank: 16, alpha: 32, targets: "all-linear" as const };
const sampling = { ...training, training: false };
const total = (config: ModelConfig, use: MemoryUse) => totalBytes(estimateMemory(config, use));

test("parameters are counted as the checkpoint has them", () => {
  expect(parameterCount(half)).toBe(494_032_768);
});

/**
 * Peaks of processes in GiB, each by `npx jiti research/bench/memory.ts` with these arguments and contexts as long as trajectories; 1 thread, Node 20 on Linux.
 * What the parts are was read off the first three; the others were not used for that.
 */
const measured: readonly (readonly [string, ModelConfig, Partial<MemoryUse>, number])[] = [
  ["full --model 5m --tokens 8192 --updates 1", small, { length: 8192, trajectories: 1, concurrency: 1 }, 0.86],
  ["sampling --model 5m --tokens 4096 --rows 8", small, { training: false, length: 4096, concurrency: 8 }, 0.91],
  ["sampling --model 5m --tokens 8192 --rows 4", small, { training: false, length: 8192, concurrency: 4 }, 1.06],
  ["full --model 5m --tokens 512 --rows 8", small, { length: 520, trajectories: 8, concurrency: 8 }, 0.71],
  ["full --model 5m --tokens 2048 --rows 2", small, { length: 2056, trajectories: 2, concurrency: 2 }, 0.63],
  [
    "full --model 5m --layers 2 --tokens 16384 --updates 1",
    { ...small, layers: 2 },
    { length: 16_384, trajectories: 1, concurrency: 1 },
    0.87,
  ],
  ["sampling --model 30m --tokens 1024 --rows 8", medium, { training: false, length: 1024, concurrency: 8 }, 0.84],
  ["full --model 30m --tokens 512 --rows 4", medium, { length: 520, trajectories: 4, concurrency: 4 }, 1.63],
  ["full --model 30m --tokens 256 --rows 4", medium, { length: 256, trajectories: 4, concurrency: 4 }, 1.3],
  [
    "full --model 100m --layers 3 --tokens 256 --rows 4",
    { ...large, layers: 3 },
    { length: 256, trajectories: 4, concurrency: 4 },
    2.07,
  ],
  [
    "lora --model 30m --layers 3 --tokens 8192 --updates 1",
    { ...medium, layers: 3 },
    { length: 8192, trajectories: 1, concurrency: 1, lora: adapter },
    0.91,
  ],
  [
    "lora --model 100m --layers 3 --tokens 4096 --base int8 --updates 1",
    { ...large, layers: 3 },
    { length: 4096, trajectories: 1, concurrency: 1, lora: { ...adapter, base: "int8" } },
    0.96,
  ],
];
test.each(measured)("the estimate for %s is within 15 %% of what was measured", (_, config, use, gib) => {
  const longer = { ...config, maxPositionEmbeddings: 32_768 };
  const estimate = total(longer, { ...training, ...use }) / 2 ** 30;
  expect(Math.abs(estimate / gib - 1)).toBeLessThan(0.15);
});

test("every circumstance counts, and none below nothing", () => {
  expect(total(large, training)).toBeGreaterThan(total(large, sampling));
  const long = { ...sampling, length: 2048 };
  expect(total(large, { ...long, concurrency: 64 })).toBeGreaterThan(total(large, long));
  expect(total(small, { ...training, length: 1024 })).toBeGreaterThan(total(small, training));
  expect(total(small, { ...training, reference: true })).toBeGreaterThan(total(small, training));
  expect(total(small, { ...training, critic: true })).toBeGreaterThan(total(small, { ...training, reference: true }));
  expect(total(small, { ...training, trajectories: 1 })).toBeLessThan(total(small, training));
  expect(total(small, { ...training, length: 4096 })).toBe(total(small, { ...training, length: 2048 })); // its longest
  for (const { bytes } of estimateMemory(half, training)) expect(bytes).toBeGreaterThan(0);
});

test("an adapter's gradient and moments are those of its own numbers", () => {
  const parts = new Map(
    estimateMemory(half, { ...training, lora: { ...adapter, rank: 32 } }).map(({ name, bytes }) => [name, bytes] as const),
  );
  // Two matrices of 32 rows for each of q, k, v, o, gate, up and down, in 24 layers.
  const numbers = 24 * 32 * (2 * (896 + 896) + 2 * (896 + 128) + 3 * (896 + 4864));
  expect([parts.get("gradient"), parts.get("AdamW's moments")]).toEqual([4 * numbers, 8 * numbers]);
});

test("a row holds its longest sample; longer rows share more, as far as memory allows", () => {
  expect([100, 400, 768].map((longest) => rowTokens(small, longest))).toEqual([200, 768, 768]);
  expect(rowTokens(small, 2_000)).toBe(16_384);
  expect(rowTokens(small, 20_000)).toBe(20_000);
  expect(rowTokens(half, 2_000)).toBeLessThan(16_384);
});

test("fewer bits and the cache count", () => {
  const lora = { ...adapter, rank: 32 };
  const parameters = (base: "float32" | "int8" | "int4") =>
    (estimateMemory(half, { ...training, lora: { ...lora, base } }).find(({ name }) => name === "parameters")?.bytes ?? 0) / 1e6;
  // 358 M numbers of the layers: 4 bytes each, or 1, or a half and a float32 scale for 32 of them.
  expect(parameters("float32") - parameters("int8")).toBeCloseTo(3 * 357.9, -1);
  expect(parameters("float32") - parameters("int4")).toBeCloseTo((4 - 0.625) * 357.9, -1);
  // Beside float32 matrices those of a sampler in 8 bits are further ones, held here and packed by ONNX Runtime.
  expect((total(half, { ...sampling, weights: "int8" }) - total(half, sampling)) / 1e6).toBeCloseTo(2 * 494, -1);
  const long = { ...sampling, length: 2048, concurrency: 64 };
  expect(total(half, { ...long, cacheBytes: 2 ** 31 }) - total(half, { ...long, cacheBytes: 2 ** 30 })).toBe(2 ** 30);
});

test("a length that memory cannot hold is refused with the longest that fits", () => {
  const config = { ...half, maxPositionEmbeddings: 32_768 };
  const use = { ...sampling, length: 32_768, concurrency: 8 };
  const available = total(config, { ...use, length: 8192 });
  const longest = longestThatFits(config, use, available) ?? 0;
  expect(longest).toBeGreaterThan(8192 - 256);
  expect(total(config, { ...use, length: longest })).toBeLessThanOrEqual(available);
  expect(total(config, { ...use, length: longest + 128 })).toBeGreaterThan(available);
  expect(() => requireMemory("m", config, use, available)).toThrow(`sequences of at most ${longest} tokens would fit.`);
  expect(longestThatFits(config, { ...use, length: 512 }, available)).toBeUndefined();
});

test("what does not fit is refused with numbers and with what would fit", () => {
  const refusal = (config: ModelConfig, use: MemoryUse, gib: number) => {
    try {
      requireMemory("Qwen/some", config, use, gib * 2 ** 30);
    } catch (error) {
      expect(error).toBeInstanceOf(EngineError);
      return String(error);
    }
    return undefined;
  };
  expect(refusal(half, training, 200)).toBeUndefined();
  expect(refusal(half, training, 8)).toMatch(
    /memory for training Qwen\/some is "8.0 GiB"; expected about \d+\.\d GiB for 494 M parameters. An adapter of it would fit: lora.rank 32\./,
  );
  // As long as passes take more than sampling does, its concurrency does not count.
  const long = { ...training, length: 2048, trajectories: 1 };
  const narrow = total(half, { ...long, lora: { ...adapter, rank: 32 }, concurrency: 16 }) / 2 ** 30;
  expect(refusal(half, { ...long, concurrency: 128 }, narrow)).toContain("lora.rank 32 and rollout.concurrency 16.");
  // A pass of rows as long as a model allows takes more than its sampler.
  const alone = { ...long, concurrency: 1, length: 512, lora: adapter };
  const below = total(half, alone) / 2 ** 30 - 0.01;
  expect(refusal(half, alone, below)).toMatch(/Sampling it .* would fit; to train, take .* at most \d+ M/);
  const many = { ...sampling, concurrency: 128, length: 2048 };
  const few = total(half, { ...many, concurrency: 16 }) / 2 ** 30;
  expect(refusal(half, many, few)).toContain("It would fit with rollout.concurrency 16.");
  expect(refusal(half, sampling, 0.1)).toMatch(/Close other programs, or take a model of at most 0.0 M parameters/);
});

test("sizes are written as people write them", () => {
  expect([2.02e6, 494e6, 999.6e6, 1.236e9, 70.55e9].map(parameterText)).toEqual(["2.0 M", "494 M", "1.00 B", "1.24 B", "70.5 B"]);
});

test("RETROGRADE_MEMORY replaces what the machine says", () => {
  expect(availableMemory({ RETROGRADE_MEMORY: "1.5" })).toBe(1.5 * 2 ** 30);
  expect(availableMemory({})).toBeGreaterThan(2 ** 20);
  expect(() => availableMemory({ RETROGRADE_MEMORY: "plenty" })).toThrow(
    'RETROGRADE_MEMORY is "plenty"; expected a number of GiB',
  );
});
