import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LocalEngine } from "../extensions/local/engine.ts";
import { nativeRuntime } from "../extensions/local/machine/native.ts";
import { type Arrays, copyOf } from "../extensions/local/model/arrays.ts";
import { logprobHead } from "../extensions/local/model/heads.ts";
import { loadModel, type Model } from "../extensions/local/model/model-folder.ts";
import type { LocalEngineOptions } from "../extensions/local/options.ts";
import { AdamW } from "../extensions/local/training/adamw.ts";
import { Learner } from "../extensions/local/training/learner.ts";
import { ParameterStore } from "../extensions/local/training/parameter-store.ts";
import { DivergenceError } from "../src/core/errors.ts";
import { CallOrder } from "../src/engines/call-order.ts";
import { describeOn, gpus } from "./describe-on.ts";

const folder = join(import.meta.dirname, "golden/models/qwen3");
const samples = [0, 1, 2].map((i) => ({
  ...{ trajectory: `t${i}`, turn: 0, context: [3, 5, 7], action: [11 + i, 13, 17, 19 + i] },
}));
const weights = samples.map(({ action }) => action.map((_, t) => (t % 2 ? -1 : 1)));
const optimiser = { beta1: 0.9, beta2: 0.999, epsilon: 1e-6, weightDecay: 0.01, clipNorm: 1, learningRate: 1e-2 };
const plain = { temperature: 1 };

/** An engine of its own arrays. */
function engineOn(provider: LocalEngineOptions["provider"], model: Model, options: Partial<LocalEngineOptions>): LocalEngine {
  const parameters = new Map([...model.parameters].map(([name, tensor]) => [name, { ...tensor, data: tensor.data.slice() }]));
  return new LocalEngine({ ...model, parameters }, { model: folder, threads: 1, provider, ...options });
}

/** AdamW divides by a gradient's size: where that is nearly 0, its noise moves a parameter as far as a large gradient would. */
function expectNear(a: readonly (readonly number[])[], b: readonly (readonly number[])[], tolerance = 2e-3): void {
  a.forEach((row, r) => {
    row.forEach((value, i) => {
      expect(Math.abs(value - b[r][i])).toBeLessThan(tolerance);
    });
  });
}

for (const provider of gpus)
  describeOn(provider, "training", () => {
    let model: Model;
    let engines: readonly LocalEngine[] = [];
    let temporary: string;
    beforeAll(async () => {
      model = await loadModel(folder);
      temporary = await mkdtemp(join(tmpdir(), "retrograde-gpu-"));
    });
    afterAll(() => rm(temporary, { recursive: true }));

    const both = async <T>(outcome: (engine: LocalEngine) => Promise<T>): Promise<readonly [T, T]> => [
      await outcome(engines[0]),
      await outcome(engines[1]),
    ];

    test.each([
      { name: "all weights", options: {} },
      { name: "an adapter", options: { lora: { rank: 2, alpha: 4, targets: "all-linear", seed: 1 } } },
      { name: "layer by layer", options: { recompute: true } },
    ] as const)(
      "$name: steps, entropies, a critic, a reference, states and restore points as on the CPU",
      async ({ options }) => {
        engines = [engineOn(undefined, model, options), engineOn(provider, model, options)];
        await both((engine) => engine.snapshotReference());
        const [before] = await both((engine) => engine.logprobs(samples, plain));
        for (let step = 0; step < 2; step++) {
          const [here, there] = await both(async (engine) => {
            const first = await engine.forwardBackward(samples, () => weights, { ...plain, entropyWeights: weights });
            await engine.forwardBackward(samples, weights, plain); // adds to it
            const critic = await engine.critic();
            const values = await critic.forwardBackward(samples, () => weights);
            const norms = [(await engine.step(optimiser)).gradientNorm, (await critic.step(optimiser)).gradientNorm];
            return { numbers: [...first, ...values], norms };
          });
          expectNear(here.numbers, there.numbers, step === 0 ? 1e-4 : 2e-3);
          here.norms.forEach((norm, i) => {
            expect(there.norms[i] / norm).toBeCloseTo(1, 3);
          });
        }
        const [after, afterThere] = await both((engine) => engine.logprobs(samples, plain));
        expectNear(after, afterThere);
        expectNear((await both((engine) => engine.referenceLogprobs(samples, plain)))[1], before, 1e-4);

        const point = await engines[1].restorePoint();
        await engines[1].forwardBackward(samples, weights, plain);
        await engines[1].step(optimiser);
        expect(await engines[1].logprobs(samples, plain)).not.toEqual(afterThere);
        await point.restore();
        expect(await engines[1].logprobs(samples, plain)).toEqual(afterThere);

        // What the device has learned is what is saved: the processor continues with it.
        const saved = join(temporary, `state ${Object.keys(options).join()}`);
        await engines[1].saveState(saved);
        await engines[0].loadState(saved);
        expectNear(await engines[0].logprobs(samples, plain), afterThere, 1e-4);
        await engines[0].saveState(saved);
        await engines[1].loadState(saved);
        const [continued, continuedThere] = await both(async (engine) => {
          await engine.forwardBackward(samples, weights, plain);
          await engine.step(optimiser);
          return engine.logprobs(samples, plain);
        });
        expectNear(continued, continuedThere);
        for (const engine of engines) await engine.dispose();
      },
    );

    test("a pass moves ids, weights and log-probs, and a step one number for each parameter", async () => {
      const { crossed } = (await nativeRuntime()).device;
      const moved = async (act: () => Promise<unknown>) => {
        const { up, down } = crossed;
        await act();
        return { up: crossed.up - up, down: crossed.down - down };
      };
      const shapes = logprobHead.parameterShapes(model.config);
      const arrays = new Map([...model.parameters].map(([name, { data }]) => [name, data.slice()]));
      const session = { threads: 1, provider };
      const parameters = ParameterStore.of(arrays, shapes, session);
      const learner = new Learner(model.config, [logprobHead], parameters, {
        ...{ ...session, maxLength: 64, frozen: ParameterStore.of(new Map(), shapes, session) },
        ...{ count: { computedTokens: 0, denseTokens: 0, seconds: 0 }, order: new CallOrder() },
      });
      const actions = samples.reduce((sum, { action }) => sum + action.length, 0);
      for (let step = 0; step < 2; step++) {
        const first = await moved(() => learner.forwardBackward(samples, weights, []));
        const second = await moved(() => learner.forwardBackward(samples, weights, []));
        const climbed = await moved(() => learner.step(optimiser));
        if (step === 0) continue; // parameters go there, and zeros for gradients and moments
        expect(parameters.bytes).toBeGreaterThan(20 * 4096);
        expect(first.up).toBeLessThan(4096);
        expect(second.up).toBe(first.up + 4); // the factor of a sum
        expect(second.down).toBeLessThanOrEqual(4 * actions);
        expect(climbed).toEqual({ up: 4 * 7, down: 4 * parameters.names.length });
      }
      await learner.close();
    });

    describe("AdamW", () => {
      const shapes = new Map([
        ["matrix", [9, 4]],
        ["vector", [5]],
        ["kernel", [3, 1, 2]],
        ...Array.from({ length: 9 }, (_, i) => [`small ${i}`, [2, 2]] as [string, number[]]),
      ]);
      const filled = (phase: number, scale = 1): Map<string, Float32Array> =>
        new Map(
          [...shapes].map(([name, shape], p) => [
            name,
            Float32Array.from(
              { length: shape.reduce((a, b) => a * b) },
              (_, i) => scale * Math.sin(12.9898 * (i + 1) + p + phase),
            ),
          ]),
        );
      const expectClose = (there: Arrays, here: Arrays) => {
        expect([...there.keys()]).toEqual([...here.keys()]);
        for (const [name, data] of here)
          data.forEach((value, i) => {
            expect(Math.abs((there.get(name)?.[i] ?? Number.NaN) - value), `${name} ${i}`).toBeLessThan(
              1e-6 * Math.max(1, Math.abs(value)),
            );
          });
      };

      test("is the processor's to float32 rounding, and a gradient that is not finite changes nothing", async () => {
        const arrays = filled(0);
        const [here, parameters] = [await copyOf(arrays), ParameterStore.of(arrays, shapes, { provider })];
        const [reference, onDevice] = [new AdamW(ParameterStore.of(here, shapes)), new AdamW(parameters)];
        for (const [step, learningRate] of [1e-2, 0, 1e-3].entries()) {
          const gradients = filled(step + 1, [0.01, 1, 30][step]);
          const norm = await reference.step(ParameterStore.of(await copyOf(gradients), shapes), { ...optimiser, learningRate });
          const gradient = ParameterStore.of(gradients, shapes, { provider });
          expect((await onDevice.step(gradient, { ...optimiser, learningRate })) / norm).toBeCloseTo(1, 5);
          await gradient.dispose();
        }
        const before = await parameters.host();
        expectClose(before, here);
        const moments = await onDevice.tensors();
        for (const [name, { data }] of await reference.tensors())
          expectClose(new Map([[name, moments.get(name)?.data ?? data.slice(1)]]), new Map([[name, data]]));

        const broken = filled(9);
        broken.get("kernel")?.fill(Number.NaN, 2, 3);
        const gradient = ParameterStore.of(broken, shapes, { provider });
        const refused = onDevice.step(gradient, optimiser);
        await expect(refused).rejects.toThrow(DivergenceError);
        await expect(refused).rejects.toThrow("gradient of kernel");
        expect(onDevice.steps).toBe(3);
        parameters.changed();
        expect(await parameters.host()).toEqual(before);
        for (const store of [gradient, parameters]) await store.dispose();
        await onDevice.close();
      });
    });
  });
