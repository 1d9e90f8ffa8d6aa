import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { writeTinyModel } from "../../test/tiny-model.ts";
import { parseModelConfig } from "./model/model-config.ts";
import { inspectModel, memoryUse, openLocal, planNow } from "./open.ts";
import { publishedSizes } from "./published-sizes.ts";
import { type LocalSettings, localSettings } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "open-"));
afterAll(() => rmSync(folder, { recursive: true }));
await writeTinyModel(folder);
const tokenizer = loadTokenizer(folder);
const gib = 2 ** 30;
beforeEach(() => void vi.stubEnv("RETROGRADE_MEMORY", "8"));
afterEach(() => void vi.unstubAllEnvs());

const use = { training: true, length: 512, concurrency: 8, trajectories: 4 };
const lora = { rank: 2, alpha: 4, targets: "all-linear", base: "float32" } as const;

test("a use is the run's with the length, the adapter and the sampler of the settings", () => {
  expect(memoryUse({}, use)).toEqual({ ...use, lora: undefined, weights: undefined, cacheBytes: undefined });
  const sampling = { weights: "int8", cacheGib: 0.25 } as const;
  expect(memoryUse({ maxLength: 64, lora, sampling }, use)).toEqual({
    ...{ ...use, length: 64, lora, weights: "int8", cacheBytes: gib / 4 },
  });
});

test("a plan is for what there is, or for less where less is allowed", () => {
  const model = parseModelConfig(publishedSizes.smollm2, "smollm2");
  const planned = ({ memory }: Partial<LocalSettings>) => planNow(model, { memory }, use);
  const free = planned({});
  expect([free.available, free.limit, free.most]).toEqual([8 * gib, Number.POSITIVE_INFINITY, 8 * gib]);
  expect(free.memory).toEqual(memoryUse({}, use));
  const limited = planned({ memory: 3 });
  expect([limited.available, limited.limit, limited.most]).toEqual([8 * gib, 3 * gib, 3 * gib]);
  expect(limited.plan.bytes).toBeLessThanOrEqual(3 * gib);
  expect(planned({ memory: 100 }).most).toBe(8 * gib);
});

test("a model is looked at without a use, and refused by the memory that a use needs", async () => {
  const file = join(folder, "published.json");
  writeFileSync(file, JSON.stringify(publishedSizes.smollm2));
  await inspectModel(file, "smollm2");
  await inspectModel(file, "smollm2", {}, use);
  await expect(inspectModel(file, "smollm2", { memory: 1 }, use)).rejects.toThrow(/^engine\.memory is 1; expected at least/);
  vi.stubEnv("RETROGRADE_MEMORY", "1");
  await expect(inspectModel(file, "smollm2", {}, use)).rejects.toThrow(/^memory for training smollm2 is "1\.0 GiB"/);
  writeFileSync(file, JSON.stringify({ model_type: "gpt2" }));
  await expect(inspectModel(file, "gpt2")).rejects.toThrow("model_type in");
});

async function opened(settings: Partial<LocalSettings>, purpose: Parameters<typeof openLocal>[2] = {}) {
  const { engine, device } = await openLocal(
    { ...localSettings.parse({ threads: 1 }), ...settings },
    { folder, tokenizer },
    purpose,
  );
  const { maxLength } = engine.info;
  const { tokens } = await engine.sample({ context: [0, 1], maxTokens: 4, stopTokens: [], seed: 1, stopStrings: ["<never>"] });
  const [row] = await engine.logprobs([{ trajectory: "a", turn: 0, context: [0, 1], action: tokens }], { temperature: 1 });
  expect(row?.length).toBe(tokens.length);
  return { engine, device, maxLength };
}

test("an engine is opened on the device, with its length, and reads its own texts for stop strings", async () => {
  const plain = await opened({});
  expect([plain.device, plain.maxLength]).toEqual(["cpu", 256]);
  await plain.engine.dispose();
  const short = await opened({ maxLength: 20 }, { use });
  expect([short.device, short.maxLength]).toEqual(["cpu", 20]);
  await short.engine.dispose();
});

test("a plan that is not the usual one is said where training is meant", async () => {
  vi.stubEnv("RETROGRADE_MEMORY", "0.01");
  const training = await opened({}, { use });
  expect(training.device).toMatch(/^cpu: weights held once, 0\.\d\d GiB of 0\.01 GiB$/);
  await training.engine.dispose();
  const sampling = await opened({}, { use: { ...use, training: false } });
  expect(sampling.device).toBe("cpu");
  await sampling.engine.dispose();
});

test("the seed decides a new adapter's first values", async () => {
  const first = async (seed?: number) => {
    const { engine } = await opened({ lora }, seed === undefined ? {} : { seed });
    const sample = { trajectory: "a", turn: 0, context: [0, 1], action: [2, 3] };
    const norms: number[] = [];
    for (let i = 0; i < 2; i++) {
      await engine.forwardBackward([sample], [[1, 1]], { temperature: 1 });
      const options = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
      norms.push((await engine.step(options)).gradientNorm);
    }
    await engine.dispose();
    return norms;
  };
  expect(await first(3)).toEqual(await first(3));
  expect(await first(3)).not.toEqual(await first(4));
  expect(await first()).toEqual(await first(0));
});
