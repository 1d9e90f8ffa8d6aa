import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { randomStream } from "../../../core/random.ts";
import type { ActionInContext } from "../../../core/trajectory.ts";
import { createLocalEngine, type LocalEngine } from "../engine.ts";
import { loadModel } from "../model/model-folder.ts";
import type { LocalEngineOptions } from "../options.ts";
import { batchRows, packBatch, packRows } from "../training/packing.ts";
import { sharesOf, worthSharing } from "../training/shares.ts";

const model = new URL("../../../../models/office", import.meta.url).pathname;
const steps = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

/** Trajectories of unequal lengths that share nothing: several rows. */
const samples: readonly ActionInContext[] = Array.from({ length: 6 }, (_, i) => {
  const random = randomStream(1, "sample", i);
  const tokens = (length: number) => Array.from({ length }, () => random.integer(500));
  return { trajectory: `${i}`, turn: 0, context: tokens(20 + 20 * i), action: tokens(8) };
});
const weights = samples.map(({ action }, i) => action.map(() => (i % 2 === 0 ? 0.1 : -0.1)));

const opened: LocalEngine[] = [];
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.dispose();
});

async function trained(options: Partial<LocalEngineOptions>, entropyWeights = false) {
  const engine = await createLocalEngine({ model, threads: 1, ...options });
  opened.push(engine);
  const numbers: (readonly number[])[] = [];
  for (let step = 0; step < 2; step++) {
    numbers.push(...(await engine.logprobs(samples, { temperature: 0.8 })));
    await engine.forwardBackward(samples, () => weights, {
      ...{ temperature: 1 },
      entropyWeights: entropyWeights ? weights : undefined,
    });
    await engine.forwardBackward(samples, weights, { temperature: 1 }); // adds to it
    numbers.push([(await engine.step(steps)).gradientNorm]);
  }
  const { tokens } = await engine.sample({ context: [1, 2, 3], maxTokens: 4, stopTokens: [], seed: 1 });
  return { engine, numbers: [...numbers, tokens], training: engine.takeStats().training };
}

describe.each([
  ["the whole model", {}],
  ["an adapter", { lora: { rank: 4, alpha: 8, targets: "all-linear", seed: 1 } }],
  ["the whole model layer by layer", { recompute: true }],
] as const)("passes of %s that workers share", (_, options) => {
  test("are those of one up to rounding, and the same to the byte in every run", async () => {
    const one = await trained(options);
    const two = await trained({ ...options, workers: 2 });
    const again = await trained({ ...options, workers: 2 });
    expect(again.numbers).toEqual(two.numbers);
    two.numbers.forEach((row, i) => {
      row.forEach((number, j) => {
        expect(Math.abs(number - one.numbers[i][j])).toBeLessThan(2e-4);
      });
    });
    expect(two.numbers.length).toBe(one.numbers.length);
    expect(two.training.denseTokens).toBe(one.training.denseTokens);
  });
});

test("entropies too, by three", async () => {
  const one = await trained({}, true);
  const three = await trained({ workers: 3 }, true);
  const gradientNorms = (of: typeof one) => of.numbers.filter((row) => row.length === 1).flat();
  gradientNorms(three).forEach((norm, i) => {
    expect(norm).toBeCloseTo(gradientNorms(one)[i], 4);
  });
});

test("one worker is no thread: the engine of before, to the byte", async () => {
  expect((await trained({ workers: 1 })).numbers).toEqual((await trained({})).numbers);
});

test("a state loaded by another engine continues with its parameters", async () => {
  const { engine } = await trained({ workers: 2 });
  const other = await createLocalEngine({ model, threads: 1, workers: 2 });
  opened.push(other);
  await other.logprobs(samples, { temperature: 1 }); // its workers have the first parameters
  const folder = await mkdtemp(join(tmpdir(), "workers-"));
  await engine.saveState(folder);
  await other.loadState(folder);
  expect(await other.logprobs(samples, { temperature: 1 })).toEqual(await engine.logprobs(samples, { temperature: 1 }));
  await rm(folder, { recursive: true });
});

test("what a worker cannot make is the error of the call, and the engine continues", async () => {
  const { engine } = await trained({ workers: 2 });
  const before = await engine.logprobs(samples, { temperature: 1 });
  await expect(engine.forwardBackward(samples, () => [[1]], { temperature: 1 })).rejects.toThrow("weights of turn 0");
  expect(await engine.logprobs(samples, { temperature: 1 })).toEqual(before);
});

test.each([{ provider: "webgpu" }, { lora: { rank: 4, alpha: 8, targets: "all-linear", seed: 1, base: "int8" } }] as const)(
  "workers that cannot be are refused: %j",
  async (options) => {
    await expect(createLocalEngine({ model, threads: 1, workers: 2, ...options })).rejects.toThrow("workers is 2; expected 1");
  },
);

test("shares have about as many tokens each, and small passes are not shared", async () => {
  const tiny = (await loadModel(new URL("../../../../test/golden/models/qwen3", import.meta.url).pathname)).config;
  const batches = batchRows(packRows(samples, 130, 130), 130).map(packBatch);
  const passes = batches.map((batch) => ({ batch }));
  const shares = sharesOf(passes, 3);
  expect(shares.flat().toSorted((a, b) => a - b)).toEqual(passes.map((_, i) => i));
  const tokens = shares.map((share) => share.reduce((sum, i) => sum + batches[i].rows * batches[i].length, 0));
  expect(Math.max(...tokens)).toBeLessThan(1.6 * Math.min(...tokens));
  expect(worthSharing(tiny, 1000)).toBe(false);
  expect(worthSharing({ ...tiny, layers: 500 }, 1000)).toBe(true);
});
