import { expect, test } from "vitest";
import { EngineError } from "../../src/core/errors.ts";
import { chooseProvider, fastest } from "./device-choice.ts";
import type { Provider } from "./machine/device.ts";
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
});
