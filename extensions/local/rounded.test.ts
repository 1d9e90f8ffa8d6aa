import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { randomStream } from "../../src/core/random.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import type { SampleRequest } from "../../src/engines/engine.ts";
import { createLocalEngine, LocalEngine } from "./engine.ts";
import { quantise8 } from "./model/int8.ts";
import { parameterShapes } from "./model/model-config.ts";
import { loadModel, type Model } from "./model/model-folder.ts";
import { dequantise, layerMatrices, quantise, roundedLogprobTolerance, roundedOf } from "./model/rounded.ts";
import type { LoraOptions } from "./options.ts";
import { LocalSampler } from "./sampling/sampler.ts";

const folder = new URL("../../test/golden/models/qwen3", import.meta.url).pathname;
const model = await loadModel(folder);
const arrays = new Map([...model.parameters].map(([name, { data }]) => [name, data]));
const lora: LoraOptions = { rank: 4, alpha: 8, targets: "all-linear", seed: 1 };
const engines: LocalEngine[] = [];
afterAll(async () => {
  for (const engine of engines) await engine.dispose();
});

function open(from: Model, options: Partial<ConstructorParameters<typeof LocalEngine>[1]> = {}): LocalEngine {
  const engine = new LocalEngine(from, { model: folder, threads: 1, ...options });
  engines.push(engine);
  return engine;
}

const requests: SampleRequest[] = Array.from({ length: 12 }, (_, i) => {
  const random = randomStream(1, "prompt", i);
  const context = Array.from({ length: 3 + 4 * i }, () => random.integer(300));
  return { context, maxTokens: 24, stopTokens: [], seed: i };
});

async function gap(
  sampler: { sample(request: SampleRequest): Promise<{ tokens: readonly number[]; logprobs: readonly number[] }> },
  trainer: LocalEngine,
): Promise<{ mean: number; max: number }> {
  const actions = await Promise.all(requests.map((each) => sampler.sample(each)));
  const samples: ActionInContext[] = requests.map(({ context }, i) => ({
    ...{ trajectory: `${i}`, turn: 0, context },
    action: actions[i].tokens,
  }));
  const trained = await trainer.logprobs(samples, { temperature: 1 });
  const gaps = actions.flatMap(({ logprobs }, i) => logprobs.map((logprob, j) => Math.abs(logprob - trained[i][j])));
  return { mean: gaps.reduce((a, b) => a + b) / gaps.length, max: Math.max(...gaps) };
}

describe("a sampler in 8 bits", () => {
  test("is near its trainer: above float32's noise, and well below the limit of its precision", async () => {
    const engine = open(model, { sampling: { weights: "int8" } });
    expect(engine.info.logprobTolerance).toBe(roundedLogprobTolerance);
    const { mean, max } = await gap(engine, engine);
    expect(mean).toBeGreaterThan(1e-3);
    expect(mean).toBeLessThan(0.08);
    expect(max).toBeLessThan(roundedLogprobTolerance / 2);
  });

  test("draws the same tokens for a request whatever runs beside it", async () => {
    const engine = open(model, { sampling: { weights: "int8" } });
    const together = await Promise.all(requests.map((each) => engine.sample(each)));
    for (const [i, each] of requests.entries()) expect((await engine.sample(each)).tokens).toEqual(together[i].tokens);
  });

  test("follows the weights", async () => {
    const engine = open(await loadModel(folder), { sampling: { weights: "int8" } });
    const sample = { trajectory: "", turn: 0, context: [1, 2], action: [3, 4] };
    await engine.forwardBackward([sample], [[1, 1]], { temperature: 1 });
    await engine.step({ learningRate: 1e-2, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
    expect((await gap(engine, engine)).max).toBeLessThan(roundedLogprobTolerance);
  });

  test("of 4 bits is beyond the limit, and would end a run", async () => {
    const shapes = parameterShapes(model.config);
    const coarse = new Map(
      [...roundedOf(model.config, arrays).keys()].map((name) => {
        const [outputs, inputs] = shapes.get(name) ?? [];
        const fine = quantise8(arrays.get(name) ?? new Float32Array(0), outputs, inputs);
        const integers = fine.integers.map((integer) => Math.round((integer * 7) / 127));
        return [name, { ...fine, integers, scales: fine.scales.map((scale) => (scale * 127) / 7) }];
      }),
    );
    const sampler = new LocalSampler(model.config, arrays, 0, {
      ...{ threads: 1, slots: 32, maxLength: 512, cacheBytes: 2 ** 24, decode: undefined },
      ...{ weights: "int8", rounded: coarse },
    });
    expect((await gap(sampler, open(model))).max).toBeGreaterThan(roundedLogprobTolerance);
    await sampler.close();
  });
});

describe.each(["int8", "int4"] as const)("an adapter on a base in %s", (base) => {
  /** The same model with matrices that so many bits can hold, all of them float32. */
  const rounded: Model = {
    ...model,
    parameters: new Map(
      [...model.parameters].map(([name, { shape, data }]) => {
        if (!layerMatrices(model.config).includes(name)) return [name, { shape, data }];
        return [name, { shape, data: dequantise(quantise(data, shape[0], shape[1], base)) }];
      }),
    ),
  };
  const samples: ActionInContext[] = requests.map(({ context }, i) => ({
    ...{ trajectory: `${i}`, turn: 0, context },
    action: Array.from({ length: 5 }, (_, j) => (7 * i + j) % 300),
  }));
  const weights = samples.map(({ action }, i) => action.map((_, j) => Math.sin(i + j)));
  const step = { learningRate: 1e-2, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };

  test("is trained as on the rounded base in float32: log-probs, gradient norm, and log-probs after steps", async () => {
    const [rounding, float32] = [open(model, { lora: { ...lora, base } }), open(rounded, { lora, recompute: true })];
    for (let i = 0; i < 3; i++) {
      const [a, b] = [
        await rounding.forwardBackward(samples, weights, { temperature: 1 }),
        await float32.forwardBackward(samples, weights, { temperature: 1 }),
      ];
      expect(Math.max(...a.flat().map((value, j) => Math.abs(value - b.flat()[j])))).toBeLessThan(1e-5);
      const [one, other] = [await rounding.step(step), await float32.step(step)];
      expect(Math.abs(one.gradientNorm / other.gradientNorm - 1)).toBeLessThan(1e-5);
    }
    // Its sampler rounds activations alone: weights are the trainer's.
    const { mean, max } = await gap(rounding, rounding);
    expect(mean).toBeLessThan(0.06);
    expect(max).toBeLessThan(roundedLogprobTolerance / 2);
  });

  test("is saved with the base that it was trained on", async () => {
    const trained = open(model, { lora: { ...lora, base } });
    const saved = mkdtempSync(join(tmpdir(), "retrograde-int8-"));
    await trained.saveModel(saved);
    const { parameters } = await loadModel(saved);
    const withoutSigns = (data?: Float32Array) => data?.map((x) => x + 0); // of zeros
    for (const [name, { data }] of rounded.parameters)
      expect(withoutSigns(parameters.get(name)?.data)).toEqual(withoutSigns(data));
  });

  test("is rounded while the folder is read, to the same numbers", async () => {
    const read = await createLocalEngine({ model: folder, threads: 1, lora: { ...lora, base } });
    engines.push(read);
    const made = open(model, { lora: { ...lora, base } });
    expect(await read.logprobs(samples, { temperature: 1 })).toEqual(await made.logprobs(samples, { temperature: 1 }));
    expect(read.info.parameters).toBe(made.info.parameters);
  });

  test("cannot be sampled in float32", () => {
    const options = { lora: { ...lora, base }, sampling: { weights: "float32" as const } };
    expect(() => open(model, options)).toThrow(EngineError);
    expect(() => open(model, options)).toThrow('sampling.weights is "float32"; expected "int8"');
  });
});
