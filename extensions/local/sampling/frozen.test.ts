import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ModelError } from "../../../src/core/errors.ts";
import { createLocalEngine } from "../engine.ts";
import { readFrozen } from "./frozen.ts";

const root = mkdtempSync(join(tmpdir(), "frozen-"));
afterAll(() => rmSync(root, { recursive: true }));
const golden = (name: string) => new URL(`../../../test/golden/models/${name}`, import.meta.url).pathname;
const request = { context: [1, 2, 3, 4, 5, 6], maxTokens: 4, stopTokens: [], seed: 1 };
const options = { learningRate: 1e-2, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

test("a frozen policy samples and scores as the engine did, with a cache and counts of its own, and is read back", async () => {
  const engine = await createLocalEngine({ model: golden("qwen3"), threads: 1 });
  const before = await engine.sample(request);
  const sample = { trajectory: "a", turn: 0, context: request.context, action: before.tokens };
  const logprobs = await engine.logprobs([sample], { temperature: 1 });
  const frozen = await engine.freeze();
  await engine.forwardBackward([sample], [[1, 1, 1, 1]], { temperature: 1 });
  await engine.step(options);
  engine.takeStats();
  expect([frozen.info, frozen.weightVersion, engine.weightVersion]).toEqual([engine.info, 0, 1]);
  expect(await frozen.sample({ ...request, cacheKey: "a" })).toEqual(before);
  expect(await frozen.logprobs([sample], { temperature: 1 })).toEqual(logprobs);
  expect(await engine.logprobs([sample], { temperature: 1 })).not.toEqual(logprobs);
  expect(engine.takeStats().sampler.sampledTokens).toBe(0);
  const prefilled = async () => {
    await frozen.sample(request);
    return frozen.takeStats().prefilledTokens;
  };
  expect(frozen.takeStats()).toMatchObject({ prefilledTokens: 6, sampledTokens: 4 });
  expect(await prefilled()).toBe(0); // the last token alone is fed
  frozen.release("a");
  expect(await prefilled()).toBe(6);

  const folder = join(root, "new", "state");
  await frozen.saveState(folder);
  const again = await engine.loadFrozen(folder);
  expect([again.weightVersion, await again.sample(request)]).toEqual([0, before]);
  for (const each of [frozen, again]) await each.dispose();

  await expect(readFrozen(folder, new Map([["other", [2]]]))).rejects.toThrow(ModelError);
  await expect(readFrozen(folder, new Map([["other", [2]]]))).rejects.toThrow(
    /^size of other in .*frozen\.safetensors is missing; expected 2\. It was saved from another model: load the model that it belongs to\.$/,
  );
  await engine.dispose();
});
