import { expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { chooseProvider, fastest, type Measures, tryProvider } from "./device-choice.ts";
import type { Provider } from "./machine/device.ts";
import { defaultRuntime } from "./machine/native.ts";
import type { Runtime } from "./machine/runtime.ts";
import { readModelConfig } from "./model/model-folder.ts";
import { measureShape } from "./speed.ts";

/** As if each provider had this speed; 0 is one that is not there. */
const speeds = (numbers: Readonly<Record<Provider, number>>) => {
  const asked: Provider[] = [];
  const measured = async (provider: Provider) => {
    asked.push(provider);
    if (numbers[provider] === 0) throw new EngineError(provider, undefined);
    return { score: numbers[provider], text: `${numbers[provider]} tokens/s` };
  };
  return { asked, measured };
};

test("the fastest is taken, and what else was tried is said", async () => {
  const { measured } = speeds({ cuda: 0, webgpu: 20, cpu: 30 });
  expect(await fastest(measured)).toEqual({
    provider: "cpu",
    description: "cpu 30 tokens/s, the fastest here (cuda not available, webgpu 20 tokens/s)",
  });
  expect((await fastest(speeds({ cuda: 90, webgpu: 20, cpu: 30 }).measured)).provider).toBe("cuda");
});

test("a processor that nothing competes with is not measured", async () => {
  const { asked, measured } = speeds({ cuda: 0, webgpu: 0, cpu: 30 });
  expect((await fastest(measured)).provider).toBe("cpu");
  expect(asked).toEqual(["cuda", "webgpu"]);
});

test("a fault of this program is none of a device's", async () => {
  await expect(fastest(() => Promise.reject(new TypeError("x is undefined")))).rejects.toThrow(TypeError);
});

test("a model's shape is measured by two of its layers, in training and in sampling, whichever layers have an adapter", async () => {
  const config = { ...(await readModelConfig("models/office/config.json")), vocabSize: 64 };
  const lora = { rank: 4, alpha: 4, targets: "all-linear" as const, seed: 1, layers: 3 };
  const { training, sampling } = await measureShape(config, { provider: "cpu", threads: 1, lora });
  expect(training).toBeGreaterThan(0);
  expect(sampling).toBeGreaterThan(0);
  expect(Number.isFinite(training + sampling)).toBe(true);
});

test("a provider by name is tried, not measured", async () => {
  expect(await chooseProvider("cpu", 1)).toEqual({ provider: "cpu", description: "cpu" });
  const { asked, measures } = measuring({});
  expect(await chooseProvider("cuda", 1, undefined, measures)).toEqual({ provider: "cuda", description: "cuda" });
  expect(asked).toEqual(["try cuda"]);
});

/** Measures of a machine whose GPUs are software unless they are named. */
function measuring(peaks: Partial<Record<Provider, number>>, hardware: readonly Provider[] = []) {
  const asked: unknown[] = [];
  const measures: Measures = {
    isHardware: async ({ provider = "cpu", threads }) => {
      asked.push(`hardware ${provider} ${threads}`);
      return hardware.includes(provider);
    },
    measurePeak: async ({ provider = "cpu", threads }) => {
      asked.push(`peak ${provider} ${threads}`);
      const peak = peaks[provider];
      if (peak === undefined) throw new EngineError(provider, undefined);
      return peak;
    },
    measureShape: async (_, options) => {
      asked.push(options);
      // The processor trains at 40, and a GPU samples less fast than it trains.
      return options.provider === "cpu" ? { training: 40, sampling: 1100 } : { training: 4000, sampling: 30 };
    },
    tryProvider: async (provider) => {
      asked.push(`try ${provider}`);
    },
  };
  return { asked, measures };
}

test("without a model products of matrices are measured, small numbers with a decimal", async () => {
  const { asked, measures } = measuring({ webgpu: 9.96, cpu: 1234.5 });
  expect(await chooseProvider("auto", 3, undefined, measures)).toEqual({
    provider: "cpu",
    description: "cpu 1,235 GFLOP/s, the fastest here (cuda not available, webgpu 10.0 GFLOP/s)",
  });
  expect(asked).toEqual(["peak cuda 3", "peak webgpu 3", "peak cpu 3"]);
  const equal = measuring({ cuda: 10, cpu: 10 }).measures;
  expect(await chooseProvider("auto", 3, undefined, equal)).toEqual({
    provider: "cuda",
    description: "cuda 10 GFLOP/s, the fastest here (webgpu not available, cpu 10 GFLOP/s)",
  });
});

test("for a model its own shape is measured where hardware computes, sampling alone or with training", async () => {
  const config = await readModelConfig("models/office/config.json");
  const lora = { rank: 4, alpha: 4, targets: "all-linear" as const, seed: 1 };
  const { asked, measures } = measuring({ webgpu: 0.1 }, ["cuda"]);
  // Seconds of a token: 1/4000 + 1/30 on the GPU, 1/40 + 1/1100 on the processor.
  expect(await chooseProvider("auto", 3, { config, training: true, lora, precision: "tf32" }, measures)).toEqual({
    provider: "cpu",
    description:
      "cpu trains 40 and samples 1,100 tokens/s in 2 of the model's layers, the fastest here (cuda trains 4,000 and samples 30 tokens/s in 2 of the model's layers, webgpu 0.1 GFLOP/s)",
  });
  const shape = (provider: Provider) => ({ config, training: true, lora, precision: "tf32", provider, threads: 3 });
  expect(asked).toEqual(["hardware cuda 3", shape("cuda"), "hardware webgpu 3", "peak webgpu 3", shape("cpu")]);
  const slow: Measures = {
    ...measures,
    measureShape: async (_, { provider }) =>
      provider === "cpu" ? { training: 1, sampling: 29 } : { training: 1000, sampling: 30 },
  };
  expect((await chooseProvider("auto", 3, { config, training: false }, slow)).provider).toBe("cuda");
});

test("a GPU in software is not taken, however fast it says that it is", async () => {
  const config = await readModelConfig("models/office/config.json");
  const { asked, measures } = measuring({ cuda: 5000, webgpu: 5000 });
  expect(await chooseProvider("auto", 1, { config, training: true }, measures)).toEqual({
    provider: "cpu",
    description: "cpu, the fastest here (cuda 5,000 GFLOP/s, webgpu 5,000 GFLOP/s)",
  });
  expect(asked).not.toContain("hardware cpu 1");
});

test("a GPU is tried by a run, and its session closed whether that succeeds or not", async () => {
  const node = await defaultRuntime();
  let [runs, open] = [0, 0];
  const runtime = (fault?: Error): Runtime => ({
    ...node,
    InferenceSession: {
      create: async (model, options) => {
        expect(options.executionProviders).toEqual(["webgpu"]);
        const session = await node.InferenceSession.create(model, { ...options, executionProviders: ["cpu"], extra: {} });
        open++;
        return {
          run: async (...values) => {
            runs++;
            if (fault !== undefined) throw fault;
            return session.run(...values);
          },
          release: async () => {
            open--;
            await session.release();
          },
        };
      },
    },
  });
  await tryProvider("webgpu", runtime());
  await expect(tryProvider("webgpu", runtime(new Error("Device was lost")))).rejects.toThrow(/^the GPU is "lost/);
  expect([runs, open]).toEqual([2, 0]);
});
