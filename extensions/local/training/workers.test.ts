import { afterEach, expect, test } from "vitest";
import { createLocalEngine } from "../engine.ts";
import { loadModel } from "../model/model-folder.ts";
import { batchRows, packBatch, packRows } from "./packing.ts";
import { sharesOf, worthSharing } from "./shares.ts";
import { model, opened, samples, trained } from "./workers.fixture.ts";

afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.dispose();
});

test("one worker is no thread: the engine of before, to the byte", async () => {
  expect((await trained({ workers: 1 })).numbers).toEqual((await trained({})).numbers);
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
  const tiny = (await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname)).config;
  const batches = batchRows(packRows(samples, 130, 130), 130).map(packBatch);
  const passes = batches.map((batch) => ({ batch }));
  const shares = sharesOf(passes, 3);
  expect(shares.flat().toSorted((a, b) => a - b)).toEqual(passes.map((_, i) => i));
  const tokens = shares.map((share) => share.reduce((sum, i) => sum + batches[i].rows * batches[i].length, 0));
  expect(Math.max(...tokens)).toBeLessThan(1.6 * Math.min(...tokens));
  expect(worthSharing(tiny, 1000)).toBe(false);
  expect(worthSharing({ ...tiny, layers: 500 }, 1000)).toBe(true);
});
