import fc from "fast-check";
import { expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { type MemoryUse, requireMemory } from "./memory.ts";
import { planMemory, planText } from "./memory-plan.ts";
import { type ModelConfig, parseModelConfig } from "./model/model-config.ts";
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
    expect(planMemory(small, training, { available: available * gib })).toMatchObject({
      ...{ weightsAsInputs: false, passBytes: 2 * gib },
    });
});

test("with plenty of memory a large one has constants and whole passes; with less, one after another is given up", () => {
  const plans = [64, 8, 6, 4, 3].map((available) => planMemory(real, training, { available: available * gib }));
  expect(plans[0]).toMatchObject({ weightsAsInputs: false });
  expect(plans[0].passBytes).toBeGreaterThan(2 * gib);
  expect(plans.at(-1)).toMatchObject({ weightsAsInputs: true });
  expect(plans.map(({ bytes }) => bytes)).toEqual(plans.map(({ bytes }) => bytes).toSorted((a, b) => b - a));
});

test("where memory is short, smaller passes whose session stays open come before larger ones that are closed", () => {
  const lora = { rank: 16, alpha: 32, targets: "all-linear" as const, base: "float32" as const };
  const use = { ...training, length: 96, trajectories: 128, concurrency: 48, lora, cacheBytes: 0.1 * gib };
  const plan = planMemory(real, use, { available: 1.85 * gib });
  expect(plan).toMatchObject({ weightsAsInputs: true, passBytes: 0.5 * gib, restBytes: Number.POSITIVE_INFINITY });
  expect(plan.bytes).toBeLessThan(1.85 * gib);
  expect(planMemory(real, use, { available: 1.65 * gib }).restBytes).toBeLessThan(gib);
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
      const plan = planMemory(config, use, { available: available * gib });
      const least = planMemory(config, use, { available: 0 });
      expect(plan.bytes).toBeLessThanOrEqual(Math.max(available * gib, least.bytes));
      expect(least.bytes).toBeLessThanOrEqual(plan.bytes + 1);
    }),
  );
});

test("a limit that cannot hold the model is refused with the least that can", () => {
  const least = planMemory(real, training, { available: gib });
  const refused = () => requireMemory("smollm2", real, { ...training, ...least }, 64 * gib, gib);
  expect(refused).toThrow(EngineError);
  expect(refused).toThrow(
    /engine\.memory is 1; expected at least \d\.\d GiB to train smollm2.* Set engine\.memory to \d\.\d or more/s,
  );
  const enough = Math.ceil((least.bytes / gib) * 10) / 10;
  const plan = planMemory(real, training, { available: enough * gib });
  expect(() => requireMemory("smollm2", real, { ...training, ...plan }, 64 * gib, enough * gib)).not.toThrow();
});

test("the plan is said in a line, unless it is the usual one", () => {
  const said = (config: ModelConfig, available: number) =>
    planText(config, training, planMemory(config, training, { available: available * gib }), available * gib);
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
