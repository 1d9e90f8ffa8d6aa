import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { EngineError, ModelError } from "../../src/core/errors.ts";
import { capabilities } from "../../src/core/policy.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import { engineSuite } from "../../test/engine-suite.ts";
import { createLocalEngine, type LocalEngine } from "./engine.ts";
import { Learner } from "./training/learner.ts";
import { evenSize } from "./training/packing.ts";

const golden = (name: string) => new URL(`../../test/golden/models/${name}`, import.meta.url).pathname;
const open = (name = "qwen3") => createLocalEngine({ model: golden(name), threads: 1 });

engineSuite("The local engine", open);

const plain = { temperature: 1 };
const adamW = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
const prompt = Array.from({ length: 20 }, (_, i) => 10 + i);
const group: readonly ActionInContext[] = [1, 2, 3, 4].map((first) => ({
  trajectory: `${first}`,
  turn: 0,
  context: prompt,
  action: [first, 5, 6],
}));

let folder: string;
let engine: LocalEngine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "local-engine-"));
  engine = await open();
});
afterAll(async () => {
  await engine.dispose();
  await rm(folder, { recursive: true });
});

test("it reports the model's sizes, and keeps to a shorter length", async () => {
  expect(engine.info).toEqual({
    name: golden("qwen3"),
    parameters: 300 * 64 + 2 * 49_344 + 64,
    vocabularySize: 300,
    maxLength: 512,
    capabilities: [...capabilities],
  });
  const short = await createLocalEngine({ model: golden("qwen3"), threads: 1, maxLength: 22 });
  expect(short.info.maxLength).toBe(22);
  await expect(short.logprobs(group, plain)).rejects.toThrow("turn 0 of trajectory 1 is 23; expected at most 22 tokens");
  await short.dispose();
});

test("a prompt that samples share is computed once", async () => {
  engine.takeStats();
  await engine.logprobs(group, plain);
  // From the last of three action tokens nothing is predicted.
  const computed = evenSize(20 + 4 * 2);
  expect(engine.takeStats().training).toMatchObject({ computedTokens: computed, denseTokens: 4 * 23 });
  expect(engine.takeStats().training).toEqual({ computedTokens: 0, denseTokens: 0, seconds: 0 });
});

test("weights that are known save the forward pass, decided zeros the backward pass", async () => {
  const fresh = await open();
  const computed = async (decide: Parameters<LocalEngine["forwardBackward"]>[1]) => {
    fresh.takeStats();
    await fresh.forwardBackward(group, decide, plain);
    return fresh.takeStats().training.computedTokens;
  };
  const weights = (value: number) => group.map(({ action }) => action.map(() => value));
  expect(await computed(weights(1))).toBe(32);
  expect(await computed(() => weights(1))).toBe(32 + 32);
  expect(await computed(() => weights(0))).toBe(32);
  expect(await computed(() => weights(1).with(0, [0, 0, 0]).with(2, [0, 0, 0]))).toBe(32 + 20 + 2 * 2);
  await fresh.dispose();
});

test("a critic begins at 0, learns from its head on, and its tokens are counted with shared ones once", async () => {
  const fresh = await open();
  const critic = await fresh.critic();
  const computed = async (pass: () => Promise<unknown>) => {
    fresh.takeStats();
    await pass();
    return fresh.takeStats().training;
  };
  const ones = group.map(({ action }) => action.map(() => 1));
  expect(await computed(() => critic.values(group))).toMatchObject({ computedTokens: 32, denseTokens: 4 * 23 });
  expect(await critic.values(group)).toEqual(group.map(({ action }) => action.map(() => 0)));
  expect((await computed(() => critic.forwardBackward(group, () => ones))).computedTokens).toBe(32 + 32);
  // The gradient of the bias alone is Σ w = 12.
  const { gradientNorm } = await critic.step({ ...adamW, clipNorm: Number.POSITIVE_INFINITY });
  expect(gradientNorm).toBeGreaterThan(12);
  for (const row of await critic.values(group)) for (const value of row) expect(value).toBeGreaterThan(0);
  expect(await computed(() => critic.step(adamW))).toMatchObject({ computedTokens: 0 });
  await fresh.dispose();
});

test("a restore point ends calls that wait, and brings policy, critic and moments back to the byte", async () => {
  const engine = await open();
  const critic = await engine.critic();
  const ones = group.map(({ action }) => action.map(() => 1));
  const train = async () => {
    await engine.forwardBackward(group, ones, { temperature: 1 });
    await engine.step(adamW);
    await critic.forwardBackward(group, () => ones);
    await critic.step(adamW);
    return [await engine.logprobs(group, { temperature: 1 }), await critic.values(group)];
  };
  await train();
  const point = await engine.restorePoint();
  expect(point.overSteps).toBe(true);
  const expected = await train();
  const left = engine.forwardBackward(group, ones, { temperature: 1 });
  const waiting = engine.step(adamW);
  const restored = point.restore();
  await expect(left).rejects.toThrow("broken off");
  await expect(waiting).rejects.toThrow("broken off");
  await restored;
  expect([engine.weightVersion, critic.steps]).toEqual([1, 1]);
  expect(await train()).toEqual(expected);
  await engine.dispose();
});

test("the critic of another model is refused by what does not fit", async () => {
  const other = await open("llama");
  await other.critic();
  await other.saveState(join(folder, "critics"));
  await other.dispose();
  const fresh = await open();
  await fresh.saveState(join(folder, "own"));
  for (const file of ["critic.safetensors", "critic-optimiser.safetensors"])
    await copyFile(join(folder, "critics", file), join(folder, "own", file));
  await expect(fresh.loadState(join(folder, "own"))).rejects.toThrow(/of the critic in checkpoint .*expected shape \[/);
  await fresh.saveState(join(folder, "own"));
  expect(existsSync(join(folder, "own", "critic.safetensors"))).toBe(false);
  await fresh.dispose();
});

test("weights that do not fit their samples are refused by trajectory", async () => {
  const refusal = async (row: number[]) => engine.forwardBackward(group.slice(0, 1), [row], plain);
  await expect(refusal([1, 2])).rejects.toThrow("weights of turn 0 of trajectory 1 is 2; expected 3 numbers, one a token");
  await expect(refusal([1, Number.NaN, 2])).rejects.toThrow("weights of turn 0 of trajectory 1 is NaN; expected finite numbers");
  await expect(refusal([1, 2])).rejects.toThrow(EngineError);
  const few = engine.forwardBackward(group.slice(0, 2), [[1, 2, 3]], plain);
  await expect(few).rejects.toThrow("weights of turn 0 of trajectory 2 is missing; expected 3 numbers, one a token");
});

test("several steps in a row keep their sessions; what passes took is given back before the first action after them", async () => {
  const own = await open();
  const rest = vi.spyOn(Learner.prototype, "rest");
  const action = () => own.sample({ context: prompt, maxTokens: 2, stopTokens: [], temperature: 1, seed: 1 });
  try {
    for (let i = 0; i < 2; i++) {
      await own.forwardBackward(
        group,
        group.map(() => [1, 1, 1]),
        plain,
      );
      await own.step(adamW);
    }
    expect(rest).toHaveBeenCalledTimes(0);
    await Promise.all([action(), action()]);
    await action();
    expect(rest).toHaveBeenCalledTimes(1);
    // A step that nobody waited for comes before, too.
    await own.forwardBackward(
      group,
      group.map(() => [1, 1, 1]),
      plain,
    );
    const version = own.weightVersion;
    rest.mockImplementationOnce(async () => expect(own.weightVersion).toBe(version + 1));
    await Promise.all([own.step(adamW), action()]);
    expect(rest).toHaveBeenCalledTimes(2);
  } finally {
    rest.mockRestore();
    await own.dispose();
  }
});

test("without a gradient there is no step, and without a snapshot no reference", async () => {
  const fresh = await open();
  await expect(fresh.step(adamW)).rejects.toThrow(EngineError);
  await expect(fresh.step(adamW)).rejects.toThrow("gradient is missing");
  await expect(fresh.referenceLogprobs(group, plain)).rejects.toThrow(EngineError);
  await expect(fresh.referenceLogprobs(group, plain)).rejects.toThrow("Call snapshotReference()");
  expect(fresh.weightVersion).toBe(0);
  await fresh.dispose();
});

test("a state without a reference replaces one that has it, in the folder and in the engine", async () => {
  const state = join(folder, "state");
  const [without, withOne] = [await open(), await open()];
  await withOne.snapshotReference();
  await withOne.saveState(state);
  await without.loadState(state);
  expect(await without.referenceLogprobs(group, plain)).toEqual(await withOne.referenceLogprobs(group, plain));

  const fresh = await open();
  await fresh.saveState(state);
  expect(existsSync(join(state, "reference.safetensors"))).toBe(false);
  await withOne.loadState(state);
  await expect(withOne.referenceLogprobs(group, plain)).rejects.toThrow("expected a snapshot");
  for (const each of [without, withOne, fresh]) await each.dispose();
});

test("the state of another model is refused and changes nothing", async () => {
  const other = await open("llama");
  await other.saveState(join(folder, "llama"));
  await other.dispose();
  const before = await engine.logprobs(group, plain);
  await expect(engine.loadState(join(folder, "llama"))).rejects.toThrow(EngineError);
  await expect(engine.loadState(join(folder, "nowhere"))).rejects.toThrow(ModelError);
  expect(await engine.logprobs(group, plain)).toEqual(before);
});

test("a saved model is the trained one, whatever precision it was read in", async () => {
  const trained = await open("qwen3-bf16");
  await trained.forwardBackward(
    group,
    group.map(({ action }) => action.map(() => 1)),
    plain,
  ); // a step far below bfloat16's resolution
  await trained.step({ ...adamW, learningRate: 1e-6 });
  await trained.saveModel(join(folder, "trained"));
  const read = await createLocalEngine({ model: join(folder, "trained"), threads: 1 });
  expect(await read.logprobs(group, plain)).toEqual(await trained.logprobs(group, plain));
  for (const each of [trained, read]) await each.dispose();
});
