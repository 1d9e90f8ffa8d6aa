import { expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { availableMemory } from "./machine/memory-available.ts";
import {
  estimateMemory,
  gibibytes,
  learnedBytesOf,
  longestThatFits,
  type MemoryUse,
  memoryAdvice,
  parameterText,
  passesWhole,
  requireMemory,
  roundedBase,
  totalBytes,
  weightBytes,
} from "./memory.ts";
import type { ModelConfig } from "./model/model-config.ts";
import { parameterCount } from "./model/model-config.ts";
import { rowTokens } from "./training/learner.ts";
import { wholeGraphBytes } from "./training/pass-sizes.ts";

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

test("sizes change their decimals where a third digit would say nothing", () => {
  const gib = 2 ** 30;
  expect([0, 0.004, 0.9499, 0.95, 12.34].map((size) => gibibytes(size * gib))).toEqual([
    "0.00 GiB",
    "0.00 GiB",
    "0.95 GiB",
    "0.9 GiB",
    "12.3 GiB",
  ]);
  expect([0, 9.99e6, 10e6, 999.4e6, 999.5e6, 9.949e9, 9.95e9].map(parameterText)).toEqual([
    ...["0.0 M", "10.0 M", "10 M", "999 M", "1.00 B", "9.95 B", "9.9 B"],
  ]);
});

/** Each part by its name, in MB. */
const parts = (config: ModelConfig, use: MemoryUse) =>
  estimateMemory(config, use).map(({ name, bytes }) => `${name}: ${(bytes / 1e6).toFixed(3)}`);

test("sampling with a small model takes its parts, by hand", () => {
  // 4,981,248 parameters: an embedding of 1024·256, six layers of 786,688 with biases of 512, and the last norm.
  const attention = 256 * (4 + 2 * 2) * 64 + 4 * 64 * 256 + (4 + 2 * 2) * 64;
  const parameters = 1024 * 256 + 6 * (attention + 3 * 256 * 768 + 2 * 256) + 256;
  expect(parameterCount(small)).toBe(parameters);
  const weights = 4 * parameters;
  const token = 4 * 6 * 2 * 2 * 64; // keys and values of a token
  // 16 rows of 256 tokens; as many wait.
  const cache = token * 16 * 256;
  const prompt = [
    4 * (4 * 4 * 1024 * 256), // four copies of the scores of 1,024 tokens with 256, in 4 heads
    4 * 1024 * 256, // their mask
    4 * 1024 * (4 * 256 + 3 * 768),
    token * 2 * 256, // two rows' copy
    token * 1024,
  ].reduce((sum, bytes) => sum + bytes, 0);
  const left = Math.min(4 * weights, 80e6);
  expect(estimateMemory(small, sampling)).toEqual([
    { name: "Node and ONNX Runtime", bytes: 130e6 },
    { name: "parameters", bytes: weights },
    { name: "the sampler's copies of them", bytes: 2.6 * weights },
    { name: "keys and values", bytes: 2 * cache },
    { name: "a pass over prompts", bytes: prompt },
    { name: "probabilities", bytes: 7 * 4 * 16 * 1024 },
    { name: "left behind by the sampler's making", bytes: left },
  ]);
});

const long = { ...training, length: 8192, trajectories: 1, concurrency: 1 };
const longer = (config: ModelConfig) => ({ ...config, maxPositionEmbeddings: 32_768 });
/** Some of its layers see a window alone, and have a mask of their own. */
const windowed: ModelConfig = { ...longer(medium), window: 512 };

test("the parts of each kind of use, in MB", () => {
  expect(parts(small, { ...training, critic: true, reference: true, ahead: 2 })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 19.949",
      "left behind by the sampler's making: 79.794",
      "gradient: 19.949",
      "AdamW's moments: 39.897",
      "reference model: 19.949",
      "critic: 79.794",
      "frozen policies: 490.499",
      "gradient in the making: 23.094",
      "activations: 336.593",
    ]
  `);
  expect(parts(small, { ...training, restBytes: 0, length: 64, concurrency: 128 })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 19.949",
      "left behind by the sampler's making: 79.794",
      "gradient: 19.949",
      "AdamW's moments: 39.897",
      "gradient in the making: 23.094",
      "activations: 289.407",
    ]
  `);
  expect(parts(half, training)).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 1976.131",
      "gradient: 1976.131",
      "AdamW's moments: 3952.262",
      "gradient in the making: 1089.077",
      "activations: 588.269",
    ]
  `);
  expect(parts(half, { ...training, lora: adapter, weightsAsInputs: false })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 1976.131",
      "left behind by the sampler's making: 80.000",
      "gradient: 35.193",
      "AdamW's moments: 70.386",
      "the sampler's copies of them: 7114.072",
      "keys and values: 201.327",
      "a pass over prompts: 158.269",
      "probabilities: 68.067",
      "left open by passes: 109.117",
    ]
  `);
  expect(parts(longer(half), { ...long, lora: { ...adapter, base: "int4" } })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 768.466",
      "gradient: 35.193",
      "AdamW's moments: 70.386",
      "gradient in the making: 2.933",
      "activations: 2230.144",
    ]
  `);
  expect(parts(longer(half), { ...long, lora: { ...adapter, base: "int8" }, passBytes: 2 ** 29 })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 902.651",
      "gradient: 35.193",
      "AdamW's moments: 70.386",
      "gradient in the making: 2.933",
      "activations: 2230.144",
    ]
  `);
  expect(parts(longer(medium), long)).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 113.306",
      "left behind by the sampler's making: 80.000",
      "gradient: 113.306",
      "AdamW's moments: 226.611",
      "gradient in the making: 33.554",
      "activations: 944.728",
    ]
  `);
  expect(parts(windowed, { ...sampling, length: 4096 })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 113.306",
      "the sampler's copies of them: 294.595",
      "keys and values: 1073.742",
      "a pass over prompts: 309.185",
      "probabilities: 3.670",
      "left behind by the sampler's making: 80.000",
    ]
  `);
  expect(parts(medium, { ...sampling, length: 64, concurrency: 1 })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 113.306",
      "the sampler's copies of them: 294.595",
      "keys and values: 1.049",
      "a pass over prompts: 3.293",
      "probabilities: 0.229",
      "left behind by the sampler's making: 80.000",
      "the sampler while it is made: 108.048",
    ]
  `);
  expect(parts(half, { ...sampling, concurrency: 500, length: 2048, weights: "int8" })).toMatchInlineSnapshot(`
    [
      "Node and ONNX Runtime: 130.000",
      "parameters: 1976.131",
      "the sampler's copies of them: 987.922",
      "keys and values: 6979.322",
      "a pass over prompts: 320.711",
      "probabilities: 544.539",
    ]
  `);
});

test("a base in fewer bits counts where an adapter is trained, and numbers that learn are counted once", () => {
  const lora = (base?: "float32" | "int8" | "int4") => ({ ...training, lora: { ...adapter, base } });
  expect([training, lora(), lora("float32"), lora("int8"), lora("int4")].map(roundedBase)).toEqual([
    ...[undefined, undefined, undefined, "int8", "int4"],
  ]);
  expect(roundedBase({ ...lora("int8"), training: false })).toBeUndefined();
  expect([learnedBytesOf(half, training), weightBytes(half, training)]).toEqual([4 * 494_032_768, 4 * 494_032_768]);
  const layers = 24 * (896 * (14 + 2 * 2) * 64 + 14 * 64 * 896 + 3 * 896 * 4864);
  expect(weightBytes(half, lora("int8"))).toBe(4 * 494_032_768 - 3 * layers);
  expect(weightBytes(half, lora("int4"))).toBe(4 * 494_032_768 - 3.375 * layers);
});

test("passes hold a whole model where their bytes, their rows and their logits allow it", () => {
  const use = { ...training, trajectories: 1 };
  expect(passesWhole(small, use)).toBe(true);
  expect([1024, 1025].map((length) => passesWhole(longer(small), { ...use, length }))).toEqual([true, false]);
  expect(passesWhole(small, { ...use, length: 9999 })).toBe(false); // as long as the model goes: 2048
  expect(passesWhole({ ...small, maxPositionEmbeddings: 512 }, { ...use, length: 9999 })).toBe(true);
  expect(passesWhole(half, use)).toBe(false);
  expect(passesWhole(half, { ...use, passBytes: 2 ** 34 })).toBe(true);
  expect(passesWhole(small, { ...use, lora: { ...adapter, base: "int8" } })).toBe(false);
});

test("advice is the least change that fits: fewer rows, an adapter, sampling alone, another model", () => {
  const advice = (config: ModelConfig, use: MemoryUse, gib: number) => memoryAdvice(config, use, gib * 2 ** 30);
  const many = { ...sampling, length: 2048, concurrency: 128 };
  const concurrencies = [64, 32, 16, 8, 4, 2, 1].map((concurrency) => total(half, { ...many, concurrency }) / 2 ** 30);
  // 64 is not tried. Where fewer rows are needed, shorter sequences would do too.
  expect(concurrencies.map((gib) => advice(half, many, gib))).toMatchInlineSnapshot(`
    [
      "It would fit with rollout.concurrency 32. As it is, sequences of at most 960 tokens would fit.",
      "It would fit with rollout.concurrency 32.",
      "It would fit with rollout.concurrency 16.",
      "It would fit with rollout.concurrency 8.",
      "It would fit with rollout.concurrency 4.",
      "It would fit with rollout.concurrency 2.",
      "It would fit with rollout.concurrency 1.",
    ]
  `);
  const long = { ...training, length: 2048, trajectories: 1, concurrency: 128 };
  const lora = { rank: 32, alpha: 32, targets: "all-linear" } as const;
  expect(advice(half, long, total(half, { ...long, lora }) / 2 ** 30)).toMatchInlineSnapshot(
    `"It would fit with rollout.concurrency 16."`,
  );
  expect(advice(half, long, total(half, { ...long, lora, concurrency: 8 }) / 2 ** 30)).toMatchInlineSnapshot(
    `"An adapter of it would fit: lora.rank 32 and rollout.concurrency 16."`,
  );
  expect(advice(half, { ...training, concurrency: 1, lora }, 3)).toMatchInlineSnapshot(
    `"Sampling it (eval, chat) would fit; to train, take a model of at most 364 M parameters."`,
  );
  expect(advice(half, { ...training, concurrency: 1 }, 1)).toMatchInlineSnapshot(
    `"Close other programs, or take a model of at most 49 M parameters."`,
  );
});

test("a refusal says what is needed of what there is, or of what the user allows", () => {
  const refusal = (use: MemoryUse, gib: number, limit?: number) => {
    try {
      return requireMemory("qwen", half, use, gib * 2 ** 30, limit === undefined ? undefined : limit * 2 ** 30);
    } catch (error) {
      return String(error);
    }
  };
  expect([
    refusal(sampling, 1),
    refusal(sampling, 8, 1),
    refusal(training, 8, 4.006),
    refusal(training, 1, 8),
    refusal(training, 1, 1),
  ]).toMatchInlineSnapshot(`
    [
      "EngineError: memory for sampling qwen is "1.0 GiB"; expected about 2.4 GiB for 494 M parameters. Close other programs, or take a model of at most 229 M parameters. RETROGRADE_MEMORY says how much may be taken, in GiB, if this machine has more than it says.",
      "EngineError: engine.memory is 1; expected at least 2.4 GiB to sample qwen, 494 M parameters. Set engine.memory to 2.4 or more. Close other programs, or take a model of at most 229 M parameters.",
      "EngineError: engine.memory is 4.01; expected at least 9.0 GiB to train qwen, 494 M parameters. Set engine.memory to 9.1 or more. Sampling it (eval, chat) would fit; to train, take a model of at most 215 M parameters.",
      "EngineError: memory for training qwen is "1.0 GiB"; expected about 9.0 GiB for 494 M parameters. Close other programs, or take a model of at most 49 M parameters. RETROGRADE_MEMORY says how much may be taken, in GiB, if this machine has more than it says.",
      "EngineError: memory for training qwen is "1.0 GiB"; expected about 9.0 GiB for 494 M parameters. Close other programs, or take a model of at most 49 M parameters. RETROGRADE_MEMORY says how much may be taken, in GiB, if this machine has more than it says.",
    ]
  `);
  const needed = total(half, sampling) / 2 ** 30;
  expect([refusal(sampling, needed), refusal(sampling, 64, needed)]).toEqual([undefined, undefined]);
});

test("the longest sequence that fits is found to 64 tokens, from 512 on", () => {
  const config = longer(small);
  const use = { ...sampling, length: 16_384 };
  const at = (length: number) => longestThatFits(config, use, total(config, { ...use, length }));
  expect([511, 512, 1000, 4096, 9000].map(at)).toMatchInlineSnapshot(`
    [
      undefined,
      512,
      960,
      4096,
      8960,
    ]
  `);
  expect(longestThatFits(config, { ...use, length: 512 }, 0)).toBeUndefined();
  expect(longestThatFits(config, use, total(config, use) - 1)).toBe(16_128);
});

const partOf = (name: string, config: ModelConfig, use: MemoryUse) =>
  estimateMemory(config, use).find((part) => part.name === name)?.bytes;

test("an embedding that is the output's matrix has three gradients more, where it is trained", () => {
  const made = (tieWordEmbeddings: boolean, lora?: MemoryUse["lora"]) => {
    const config = { ...medium, tieWordEmbeddings };
    const use = { ...training, lora };
    return (partOf("gradient in the making", config, use) ?? 0) - learnedBytesOf(config, use);
  };
  expect([made(true), made(false), made(true, adapter), made(false, adapter)]).toEqual([3 * 4 * 8192 * 512, 0, 0, 0]);
});

test("a sampler of a base in fewer bits packs its layers, and the output's matrix in 8 bits", () => {
  const copies = (base: "int8" | "int4") =>
    partOf("the sampler's copies of them", half, { ...training, trajectories: 1, concurrency: 128, lora: { ...adapter, base } });
  const layers = 24 * (896 * (14 + 2 * 2) * 64 + 14 * 64 * 896 + 3 * 896 * 4864);
  expect([copies("int8"), copies("int4")]).toEqual([2 * 151_936 * 896 + layers, 2 * 151_936 * 896 + 0.625 * layers]);
});

test("a whole graph of just as many bytes as may rest stays open", () => {
  // One row of 64 tokens, a quarter of which are scored.
  const bytes = wholeGraphBytes(small, { rows: 1, length: 64, queryCount: 64, targets: { length: 16 } }, new Map());
  const open = (restBytes: number) =>
    partOf("left open by passes", small, { ...training, length: 64, trajectories: 1, concurrency: 128, restBytes });
  expect([open(bytes), open(bytes - 1)]).toEqual([bytes, 0]);
});

test("an adapter of another rank is advised where the one that there is does not fit", () => {
  const use = { ...training, concurrency: 1, lora: { ...adapter, rank: 512 } };
  const enough = total(half, { ...use, lora: { ...adapter, rank: 32 } });
  expect(memoryAdvice(half, use, enough)).toBe("An adapter of it would fit: lora.rank 32.");
});
