import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { EngineError, ModelError } from "../../../src/core/errors.ts";
import { readSafetensors, writeSafetensors } from "../model/safetensors.ts";
import { AdamW, gradientNorm } from "./adamw.ts";

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

const float32 = (values: Record<string, number[]>) =>
  new Map(Object.entries(values).map(([name, v]) => [name, Float32Array.from(v)]));

test("AdamW follows PyTorch for 100 steps, with clipping and a falling learning rate", () => {
  const parameters = float32(trace.initial);
  const optimiser = new AdamW(parameters);
  for (const { learningRate, gradients, norm } of trace.steps) {
    expect(optimiser.step(float32(gradients), { ...trace.settings, learningRate })).toBeCloseTo(norm, 6);
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
  const norm = gradientNorm(new Map([...gradients].map(([name, { data }]) => [name, data])));
  expect(norm / expected.adamw[0].steps[0].gradL2).toBeCloseTo(1, 6);
});

test("saved and loaded, it continues with the same numbers", async () => {
  const folder = await mkdtemp(join(tmpdir(), "adamw-"));
  const file = join(folder, "optimiser.safetensors");
  const run = (optimiser: AdamW, from: number, to: number) => {
    for (const { learningRate, gradients } of trace.steps.slice(from, to))
      optimiser.step(float32(gradients), { ...trace.settings, learningRate });
  };
  const parameters = float32(trace.initial);
  const first = new AdamW(parameters);
  run(first, 0, 30);
  await writeSafetensors(file, first.tensors(), { dtype: "float32" });
  const copies = new Map([...parameters].map(([name, values]) => [name, values.slice()]));
  const second = new AdamW(copies);
  second.restore(await readSafetensors(file), file);
  run(first, 30, 60);
  run(second, 30, 60);
  expect(copies).toEqual(parameters);
  expect(second.steps).toBe(60);

  const other = new AdamW(new Map([["weight", new Float32Array(5)]]));
  const saved = await readSafetensors(file);
  expect(() => other.restore(saved, file)).toThrow(ModelError);
  await rm(folder, { recursive: true });
});

test("a gradient that is not finite is refused by name and changes nothing", () => {
  const parameters = float32(trace.initial);
  const optimiser = new AdamW(parameters);
  const gradients = float32(trace.steps[0].gradients).set("bias", Float32Array.of(0, Number.NaN, 0));
  expect(() => optimiser.step(gradients, { ...trace.settings, learningRate: 1 })).toThrow(/gradient of bias is "not finite"/);
  expect(() => optimiser.step(gradients, { ...trace.settings, learningRate: 1 })).toThrow(EngineError);
  expect(parameters).toEqual(float32(trace.initial));
  expect(optimiser.steps).toBe(0);
});
