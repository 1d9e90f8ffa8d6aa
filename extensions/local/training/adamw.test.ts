import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { EngineError, ModelError } from "../../../src/core/errors.ts";
import { numbersInTurn } from "../machine/turns.ts";
import { readSafetensors, writeSafetensors } from "../model/safetensors.ts";
import { AdamW } from "./adamw.ts";
import { gradientNorm, nonFiniteGradient, scalesOf } from "./host-adamw.ts";
import { ParameterStore } from "./parameter-store.ts";

const golden = new URL("../../../test/golden/", import.meta.url);
const arrays = z.record(z.string(), z.array(z.number()));
const settingsSchema = z.object({
  beta1: z.number(),
  beta2: z.number(),
  epsilon: z.number(),
  weightDecay: z.number(),
  clipNorm: z.number(),
});
const traceSchema = z.object({
  settings: settingsSchema,
  initial: arrays,
  steps: z.array(z.object({ learningRate: z.number(), gradients: arrays, norm: z.number() })),
  checkpoints: z.record(z.string(), arrays),
});
const trace = traceSchema.parse(JSON.parse(await readFile(new URL("adamw.json", golden), "utf8")));

const stored = (numbers: ReadonlyMap<string, Float32Array>) => ParameterStore.of(numbers, new Map());
const float32 = (values: Record<string, number[]>) =>
  new Map(Object.entries(values).map(([name, v]) => [name, Float32Array.from(v)]));

test("AdamW follows PyTorch for 100 steps, with clipping and a falling learning rate", async () => {
  const parameters = float32(trace.initial);
  const optimiser = new AdamW(stored(parameters));
  for (const { learningRate, gradients, norm } of trace.steps) {
    expect(await optimiser.step(stored(float32(gradients)), { ...trace.settings, learningRate })).toBeCloseTo(norm, 6);
    for (const [name, values] of Object.entries(trace.checkpoints[optimiser.steps] ?? {})) {
      // PyTorch rounds to float32 within a step too: a random walk of units in the last place (4.8e-7 for numbers from 4 to 8).
      const tolerance = 6e-7 * Math.sqrt(optimiser.steps);
      for (const [i, value] of values.entries())
        expect(Math.abs((parameters.get(name)?.[i] ?? Number.NaN) - value)).toBeLessThan(tolerance);
    }
  }
  expect(optimiser.steps).toBe(100);
});

test("the gradient norm is PyTorch's", async () => {
  const expected = z
    .object({ adamw: z.array(z.object({ steps: z.array(z.object({ gradL2: z.number() })) })) })
    .parse(JSON.parse(await readFile(new URL("models/qwen3/expected.json", golden), "utf8")));
  const gradients = await readSafetensors(new URL("models/qwen3/gradients.safetensors", golden).pathname);
  const norm = await gradientNorm(new Map([...gradients].map(([name, { data }]) => [name, data])));
  expect(norm / expected.adamw[0].steps[0].gradL2).toBeCloseTo(1, 6);
});

test("saved and loaded, it continues with the same numbers", async () => {
  const folder = await mkdtemp(join(tmpdir(), "adamw-"));
  const file = join(folder, "optimiser.safetensors");
  const run = async (optimiser: AdamW, from: number, to: number) => {
    for (const { learningRate, gradients } of trace.steps.slice(from, to))
      await optimiser.step(stored(float32(gradients)), { ...trace.settings, learningRate });
  };
  const parameters = float32(trace.initial);
  const first = new AdamW(stored(parameters));
  await run(first, 0, 30);
  await writeSafetensors(file, await first.tensors(), { dtype: "float32" });
  const copies = new Map([...parameters].map(([name, values]) => [name, values.slice()]));
  const second = new AdamW(stored(copies));
  await second.restore(await readSafetensors(file), file);
  await run(first, 30, 60);
  await run(second, 30, 60);
  expect(copies).toEqual(parameters);
  expect(second.steps).toBe(60);

  const other = new AdamW(stored(new Map([["weight", new Float32Array(5)]])));
  const saved = await readSafetensors(file);
  await expect(other.restore(saved, file)).rejects.toThrow(ModelError);
  await rm(folder, { recursive: true });
});

test("a gradient that is not finite is refused by name and changes nothing", async () => {
  const parameters = float32(trace.initial);
  const optimiser = new AdamW(stored(parameters));
  const gradients = float32(trace.steps[0].gradients).set("bias", Float32Array.of(0, Number.NaN, 0));
  const step = () => optimiser.step(stored(gradients), { ...trace.settings, learningRate: 1 });
  await expect(step()).rejects.toThrow(/gradient of bias is "not finite"/);
  await expect(step()).rejects.toThrow(EngineError);
  expect(parameters).toEqual(float32(trace.initial));
  expect(optimiser.steps).toBe(0);
});

test("the event loop turns within a step over a large parameter, whose numbers are those of small ones", async () => {
  const size = 3 * numbersInTurn;
  const values = (phase: number) => new Float32Array(size).map((_, i) => ((i * 7919 + phase) % 1000) / 1000 - 0.4);
  const cut = (array: Float32Array) =>
    new Map([0, 1, 2].map((i) => [`part ${i}`, array.slice(i * numbersInTurn, (i + 1) * numbersInTurn)] as const));
  const [whole, gradient] = [new Map([["whole", values(0)]]), values(1)];
  const parts = cut(values(0));
  const settings = { ...trace.settings, learningRate: 0.1, clipNorm: Number.POSITIVE_INFINITY };
  let turns = 0;
  let ended = false;
  const step = new AdamW(stored(whole)).step(stored(new Map([["whole", gradient]])), settings);
  void step.then(() => (ended = true));
  for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(turns).toBeGreaterThanOrEqual(2 * 3); // the norm and the update: three pieces each
  await new AdamW(stored(parts)).step(stored(cut(gradient)), settings);
  for (const [name, part] of cut(whole.get("whole") ?? new Float32Array()))
    expect(Buffer.compare(new Uint8Array(part.buffer), new Uint8Array(parts.get(name)?.buffer ?? part.buffer.slice(1)))).toBe(0);
});

test("moments take no memory before they are asked for, and the event loop turns while they are made", async () => {
  const parameters = stored(new Map([0, 1, 2].map((i) => [`${i}`, new Float32Array(numbersInTurn)] as const)));
  const before = process.memoryUsage().arrayBuffers;
  const optimiser = new AdamW(parameters);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(parameters.bytes);
  let [turns, ended] = [0, false];
  void optimiser.tensors().then(() => (ended = true));
  for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
  expect(turns).toBeGreaterThanOrEqual(2 * 3);
});

test("a step's scales are those of the paper, by hand", () => {
  const options = { learningRate: 0.1, beta1: 0.5, beta2: 0.75, weightDecay: 0.2, clipNorm: 1 };
  const scales = scalesOf(options, 2, 4);
  expect(scales.clipScale).toBeCloseTo(1 / 4, 6);
  expect(scales.clipScale).toBe(1 / (4 + 1e-6));
  expect(scales.decay).toBe(1 - 0.1 * 0.2);
  expect(scales.stepSize).toBe(0.1 / (1 - 0.25));
  expect(scales.secondScale).toBe(1 / Math.sqrt(1 - 0.75 ** 2));
  expect(scalesOf(options, 1, 0.5).clipScale).toBe(1);
});

test("a gradient's norm counts every number, whatever is left of four", async () => {
  for (const length of [0, 1, 3, 4, 5, 8, 11]) {
    const numbers = Float32Array.from({ length }, (_, i) => i + 1);
    const squares = (length * (length + 1) * (2 * length + 1)) / 6;
    expect(await gradientNorm(new Map([["a", numbers]]))).toBeCloseTo(Math.sqrt(squares), 9);
    expect(
      await gradientNorm(
        new Map([
          ["a", numbers],
          ["b", numbers],
        ]),
      ),
    ).toBeCloseTo(Math.sqrt(2 * squares), 9);
  }
});

test("what was remembered is put back, the numbers, moments and steps, until it is remembered again", async () => {
  const parameters = float32(trace.initial);
  const optimiser = new AdamW(stored(parameters));
  const step = (i: number) =>
    optimiser.step(stored(float32(trace.steps[i]?.gradients ?? {})), { ...trace.settings, learningRate: 0.1 });
  await step(0);
  const back = await optimiser.remember();
  const copies = () => new Map([...parameters].map(([name, values]) => [name, values.slice()]));
  await step(1);
  const after = copies();
  expect(optimiser.steps).toBe(2);
  for (let i = 0; i < 2; i++) {
    await back();
    expect(optimiser.steps).toBe(1);
    await step(1);
    expect(copies()).toEqual(after);
  }
  await optimiser.remember();
  await expect(back()).rejects.toThrow("a copy that a later one has overwritten");
});

test("a gradient of all parameters that is not finite is refused with what to do", () => {
  expect(nonFiniteGradient().message).toBe(
    'gradient of all parameters is "not finite"; expected finite numbers. Lower the learning rate, or look at the rewards and log-probs of this step.',
  );
});
