import fc from "fast-check";
import { expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { estimateMemory, type MemoryUse, requireMemory, totalBytes } from "./memory.ts";
import { planMemory, planText } from "./memory-plan.ts";
import { type ModelConfig, parameterCount, parseModelConfig } from "./model/model-config.ts";
import { largestOfFamily, type PublishedName, publishedSizes } from "./published-sizes.ts";

const gib = 2 ** 30;
const small: ModelConfig = {
  ...{ architecture: "llama", eosTokenIds: [], maxPositionEmbeddings: 8192, rmsNormEps: 1e-5, attentionBias: false },
  ...{ rope: { theta: 1e5, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 2, headDim: 64 },
  ...{ hiddenSize: 256, intermediateSize: 768, layers: 6, heads: 4, vocabSize: 1024 },
};
/** SmolLM2-135M. */
const real: ModelConfig = {
  ...small,
  ...{ hiddenSize: 576, intermediateSize: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64, vocabSize: 49_152 },
};
const training: MemoryUse = { training: true, length: 512, trajectories: 8, concurrency: 8 };

test("a small model has the same plan wherever it fits", () => {
  for (const available of [4, 8, 64, 512])
    expect(planMemory(small, training, available * gib)).toMatchObject({
      ...{ weightsAsInputs: false, passBytes: 2 * gib },
    });
});

test("with plenty of memory a large one has constants and whole passes; with less, one after another is given up", () => {
  const plans = [64, 8, 6, 4, 3].map((available) => planMemory(real, training, available * gib));
  expect(plans[0]).toMatchObject({ weightsAsInputs: false });
  expect(plans[0].passBytes).toBeGreaterThan(2 * gib);
  expect(plans.at(-1)).toMatchObject({ weightsAsInputs: true });
  expect(plans.map(({ bytes }) => bytes)).toEqual(plans.map(({ bytes }) => bytes).toSorted((a, b) => b - a));
});

test("where memory is short, smaller passes whose session stays open come before larger ones that are closed", () => {
  const lora = { rank: 16, alpha: 32, targets: "all-linear" as const, base: "float32" as const };
  const use = { ...training, length: 96, trajectories: 128, concurrency: 48, lora, cacheBytes: 0.1 * gib };
  const plan = planMemory(real, use, 1.85 * gib);
  expect(plan).toMatchObject({ weightsAsInputs: true, passBytes: 0.5 * gib, restBytes: Number.POSITIVE_INFINITY });
  expect(plan.bytes).toBeLessThan(1.85 * gib);
  expect(planMemory(real, use, 1.65 * gib).restBytes).toBeLessThan(gib);
});

test("no plan is over the memory there is, if any keeps to it", () => {
  const sizes = fc.record({
    config: fc.constantFrom(small, real),
    length: fc.integer({ min: 64, max: 8192 }),
    available: fc.double({ min: 0.2, max: 40, noNaN: true }),
    isTraining: fc.boolean(),
  });
  fc.assert(
    fc.property(sizes, ({ config, length, available, isTraining }) => {
      const use = { ...training, training: isTraining, length };
      const plan = planMemory(config, use, available * gib);
      const least = planMemory(config, use, 0);
      expect(plan.bytes).toBeLessThanOrEqual(Math.max(available * gib, least.bytes));
      expect(least.bytes).toBeLessThanOrEqual(plan.bytes + 1);
    }),
  );
});

test("a limit that cannot hold the model is refused with the least that can", () => {
  const least = planMemory(real, training, gib);
  const refused = () => requireMemory("smollm2", real, { ...training, ...least }, 64 * gib, gib);
  expect(refused).toThrow(EngineError);
  expect(refused).toThrow(
    /engine\.memory is 1; expected at least \d\.\d GiB to train smollm2.* Set engine\.memory to \d\.\d or more/s,
  );
  const enough = Math.ceil((least.bytes / gib) * 10) / 10;
  const plan = planMemory(real, training, enough * gib);
  expect(() => requireMemory("smollm2", real, { ...training, ...plan }, 64 * gib, enough * gib)).not.toThrow();
});

test("the plan is said in a line, unless it is the usual one", () => {
  const said = (config: ModelConfig, available: number) =>
    planText(config, training, planMemory(config, training, available * gib), available * gib);
  expect(said(small, 8)).toBeUndefined();
  expect(said(real, 64)).toMatch(/^passes of \d+\.0 GiB, weights held again to sample, [\d.]+ GiB of 64\.0 GiB$/);
});

test("the largest of a family is named with the precision that its base needs", () => {
  const of = (name: PublishedName, gibibytes: number) => {
    const use = { training: true, length: 512, trajectories: 4, concurrency: 4 };
    const { name: largest, base } = largestOfFamily(parseModelConfig(publishedSizes[name], name), use, gibibytes * 2 ** 30) ?? {};
    return [largest, base];
  };
  expect(of("smollm2", 2)).toEqual(["smollm2-360m", "int8"]);
  expect(of("smollm2", 8)).toEqual(["smollm2-1.7b", "int8"]);
  expect(of("qwen2.5-3b", 3)).toEqual(["qwen2.5-0.5b", "int8"]);
  expect(of("gemma3", 0.5)).toEqual([undefined, undefined]);
});

test("a plan for each size of the machine, from the least that there is to whole passes", () => {
  const lines = (config: ModelConfig, use: MemoryUse, sizes: readonly number[]) =>
    sizes.map((available) => {
      const plan = planMemory(config, use, available * gib);
      const { weightsAsInputs, passBytes, restBytes, bytes } = plan;
      const [pass, rest, all] = [passBytes, restBytes, bytes].map((each) => (each / gib).toFixed(3));
      const said = planText(config, use, plan, available * gib);
      return `${available}: ${weightsAsInputs ? "inputs" : "constants"}, ${pass}, ${rest}, ${all}; ${said}`;
    });
  expect(lines(real, training, [0.1, 2, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 16, 64])).toMatchInlineSnapshot(`
    [
      "0.1: inputs, 1.000, 0.313, 2.875; passes of 1.0 GiB, 2.9 GiB of 0.10 GiB",
      "2: inputs, 1.000, 0.313, 2.875; passes of 1.0 GiB, 2.9 GiB of 2.0 GiB",
      "3: inputs, 1.000, 0.313, 2.875; passes of 1.0 GiB, 2.9 GiB of 3.0 GiB",
      "3.5: inputs, 2.000, 0.313, 3.334; undefined",
      "4: inputs, 2.000, 0.313, 3.334; undefined",
      "5: inputs, 2.000, Infinity, 3.334; undefined",
      "6: constants, 2.000, Infinity, 4.194; weights held again to sample, 4.2 GiB of 6.0 GiB",
      "7: constants, 2.000, Infinity, 4.194; weights held again to sample, 4.2 GiB of 7.0 GiB",
      "8: constants, 2.000, Infinity, 4.194; weights held again to sample, 4.2 GiB of 8.0 GiB",
      "10: constants, 4.000, Infinity, 7.047; passes of 4.0 GiB, weights held again to sample, 7.0 GiB of 10.0 GiB",
      "12: constants, 4.000, Infinity, 7.047; passes of 4.0 GiB, weights held again to sample, 7.0 GiB of 12.0 GiB",
      "16: constants, 4.000, Infinity, 7.047; passes of 4.0 GiB, weights held again to sample, 7.0 GiB of 16.0 GiB",
      "64: constants, 4.000, Infinity, 7.047; passes of 4.0 GiB, weights held again to sample, 7.0 GiB of 64.0 GiB",
    ]
  `);
  expect(lines(real, { ...training, training: false }, [0.1, 1, 2, 2.5, 3, 4, 8])).toMatchInlineSnapshot(`
    [
      "0.1: inputs, 2.000, 0.313, 1.171; undefined",
      "1: inputs, 2.000, 0.313, 1.171; undefined",
      "2: inputs, 2.000, 0.313, 1.171; undefined",
      "2.5: inputs, 2.000, 0.313, 1.171; undefined",
      "3: inputs, 2.000, 0.313, 1.171; undefined",
      "4: constants, 2.000, 0.313, 2.777; weights held again to sample, 2.8 GiB of 4.0 GiB",
      "8: constants, 2.000, 0.313, 2.777; weights held again to sample, 2.8 GiB of 8.0 GiB",
    ]
  `);
  expect(lines(small, training, [0.1, 0.5, 1, 2])).toMatchInlineSnapshot(`
    [
      "0.1: inputs, 0.250, Infinity, 0.513; passes of 0.25 GiB, weights held once, 0.51 GiB of 0.10 GiB",
      "0.5: inputs, 0.250, Infinity, 0.513; passes of 0.25 GiB, weights held once, 0.51 GiB of 0.50 GiB",
      "1: constants, 2.000, 0.313, 0.640; undefined",
      "2: constants, 2.000, Infinity, 0.771; undefined",
    ]
  `);
  const half = { ...real, hiddenSize: 960, intermediateSize: 2560, layers: 32, heads: 15, kvHeads: 5 };
  expect(lines(half, { ...training, training: false }, [3, 4, 8, 64])).toMatchInlineSnapshot(`
    [
      "3: inputs, 2.000, 0.313, 2.354; undefined",
      "4: inputs, 2.000, 0.313, 2.354; undefined",
      "8: inputs, 2.000, 0.313, 2.354; undefined",
      "64: constants, 2.000, 0.313, 7.265; weights held again to sample, 7.3 GiB of 64.0 GiB",
    ]
  `);
});

test("a family's largest is the largest that fits, its base in as many bits as do", () => {
  const use = { training: false, length: 512, trajectories: 4, concurrency: 4, weights: "int8" as const };
  const of = (name: PublishedName, bytes: number) => largestOfFamily(parseModelConfig(publishedSizes[name], name), use, bytes);
  const bytesOf = (name: PublishedName, base: "float32" | "int8" | "int4") => {
    const lora = { rank: 32, alpha: 32, targets: "all-linear", base } as const;
    const config = parseModelConfig(publishedSizes[name], name);
    return totalBytes(estimateMemory(config, { ...use, training: true, lora, weights: undefined }));
  };
  const [float32, int8, int4] = (["float32", "int8", "int4"] as const).map((base) => bytesOf("smollm2-1.7b", base));
  expect(of("smollm2", float32)).toEqual({ name: "smollm2-1.7b", base: "float32", bytes: float32 });
  expect(of("smollm2", float32 - 1)).toEqual({ name: "smollm2-1.7b", base: "int8", bytes: int8 });
  expect(of("smollm2", int8 - 1)).toEqual({ name: "smollm2-1.7b", base: "int4", bytes: int4 });
  expect(of("smollm2", int4 - 1)?.name).toBe("smollm2-360m");
  // Another architecture, or another vocabulary, is another family.
  expect([of("llama-3.2-1b", 2 ** 40)?.name, of("qwen3-0.6b", 2 ** 40)?.name]).toEqual(["llama-3.2-1b", "qwen3-4b"]);
});

test("published models have the sizes that their names say, in millions of parameters", () => {
  const millions = Object.entries(publishedSizes).map(([name, file]) => {
    const config = parseModelConfig(file, name);
    return `${name}: ${config.architecture}, ${(parameterCount(config) / 1e6).toFixed(1)}, ${config.maxPositionEmbeddings}`;
  });
  expect(millions).toMatchInlineSnapshot(`
    [
      "qwen2.5-0.5b: qwen2, 494.0, 32768",
      "qwen3-0.6b: qwen3, 596.0, 40960",
      "smollm2: llama, 134.5, 8192",
      "smollm2-360m: llama, 361.8, 8192",
      "llama-3.2-1b: llama, 1235.8, 131072",
      "qwen2.5-1.5b: qwen2, 1543.7, 32768",
      "qwen3-1.7b: qwen3, 1720.6, 40960",
      "qwen2.5-3b: qwen2, 3085.9, 32768",
      "qwen3-4b: qwen3, 4022.5, 40960",
      "gemma3: gemma3_text, 268.1, 32768",
      "smollm2-1.7b: llama, 1711.4, 8192",
    ]
  `);
});

test("with no end of memory constants are of up to 1.75 GiB, and passes whole of up to 16 GiB", () => {
  const plan = (name: PublishedName, length: number) => {
    const config = parseModelConfig(publishedSizes[name], name);
    const { weightsAsInputs, passBytes } = planMemory(config, { ...training, length }, Infinity);
    return [weightsAsInputs, passBytes / gib];
  };
  expect(plan("smollm2", 512)).toEqual([false, 4]);
  expect(plan("smollm2-360m", 512)).toEqual([false, 8]);
  expect(plan("qwen2.5-0.5b", 512)).toEqual([true, 8]); // 1.84 GiB
  expect(plan("llama-3.2-1b", 512)).toEqual([true, 16]);
  // Rows of more than 1,024 tokens are never whole, nor is what would need more.
  expect(plan("smollm2", 1025)).toEqual([false, 2]);
  expect(plan("qwen3-4b", 512)).toEqual([true, 2]);
});

test("a plan is kept to where there is just as much as it takes", () => {
  const usual = planMemory(real, training, 4 * gib);
  expect(usual).toMatchObject({ weightsAsInputs: true, passBytes: 2 * gib, restBytes: 320 * 2 ** 20 });
  expect(planMemory(real, training, usual.bytes)).toEqual(usual);
  expect(planMemory(real, training, usual.bytes - 1).passBytes).toBe(gib);
  const lora = { rank: 16, alpha: 32, targets: "all-linear" as const, base: "float32" as const };
  const use = { ...training, length: 96, trajectories: 128, concurrency: 48, lora, cacheBytes: 0.1 * gib };
  const smaller = planMemory(real, use, 1.85 * gib);
  expect(planMemory(real, use, smaller.bytes)).toEqual(smaller);
  expect(planMemory(real, use, smaller.bytes - 1).bytes).toBeLessThan(smaller.bytes);
});
