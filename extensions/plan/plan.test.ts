import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { calibrations } from "./calibration.ts";
import { planStep } from "./estimate.ts";
import { hardwareOf } from "./hardware.ts";
import { adapterParameters, cacheBytes, forwardFlops, modelShape, parameters } from "./model-shape.ts";
import { sharedPasses, tokensOnce, tokensShared, unsharedPasses, workloadSchema } from "./workload.ts";

const work = (changes: object = {}) => workloadSchema.parse(changes);
const h100 = hardwareOf("h100", 0);
const plan = (gpus: number, changes: object = {}) => planStep(modelShape("Qwen/Qwen3-14B"), h100, gpus, work(changes));

test("every measured step lies within its estimate, and no estimate is wider than five times", () => {
  const all = calibrations();
  expect(all.filter(({ use }) => use === "fitted").length).toBeGreaterThanOrEqual(6);
  expect(all.filter(({ use }) => use === "check").length).toBeGreaterThanOrEqual(7);
  for (const { name, measured, estimated } of all) {
    expect(estimated.low, name).toBeLessThanOrEqual(measured);
    expect(estimated.high, name).toBeGreaterThanOrEqual(measured);
    expect(estimated.high / estimated.low, name).toBeLessThan(5);
  }
});

test("shapes have the numbers that the models' cards state", () => {
  const qwen = modelShape("Qwen/Qwen3-14B");
  expect(parameters(qwen) / 1e9).toBeCloseTo(14.8, 1);
  expect(parameters(modelShape("meta-llama/Llama-3.1-8B-Instruct")) / 1e9).toBeCloseTo(8.03, 2);
  expect(parameters(modelShape("Qwen/Qwen2.5-7B-Instruct")) / 1e9).toBeCloseTo(7.62, 2);
  expect(cacheBytes(qwen)).toBe(2 * 2 * 40 * 8 * 128);
  expect(adapterParameters(qwen, 32) / parameters(qwen)).toBeLessThan(0.01);
  // Without attention a pass is 2 operations for each weight but those of the embedding, which is only looked up.
  expect(forwardFlops(qwen, 0)).toBe(2 * (parameters(qwen) - 151_936 * 5120));
});

test("a model's folder is read; what is no dense model, or unknown, is refused by name", () => {
  const folder = mkdtempSync(join(tmpdir(), "plan-"));
  const config = { hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2, num_attention_heads: 4, vocab_size: 512 };
  const write = (value: unknown) => writeFileSync(join(folder, "config.json"), JSON.stringify(value));
  write(config);
  expect(parameters(modelShape(folder))).toBe(2 * 512 * 64 + 2 * (64 * 16 * 16 + 3 * 64 * 128));
  write({ ...config, num_experts: 8 });
  expect(() => modelShape(folder)).toThrow(/dense/);
  write({ ...config, hidden_size: "64" });
  expect(() => modelShape(folder)).toThrow(ConfigError);
  expect(() => modelShape("Qwen/Qwen3-14")).toThrow(/Did you mean "Qwen\/Qwen3-14B"/);
  expect(() => hardwareOf("h1000", 0)).toThrow(/h100/);
  expect(() => plan(8, { tensorParallel: 3 })).toThrow(/divisor of the 8 GPUs/);
});

test("token counts, by hand", () => {
  //             prompt 10, two turns of 3 tokens, 2 observed between
  const two = work({ algorithm: "grpo", tasks: 1, group: 4, turns: 2, prompt: 10, action: 3, observation: 2 });
  expect(tokensOnce(two)).toBe(10 + 3 + 2 + 3);
  expect(tokensShared(two)).toBe(10 + 4 * 8);
  expect(unsharedPasses(two)).toMatchObject({ forward: 0, backward: 4 * 18 });
  expect(sharedPasses(two).backward).toBeCloseTo(42, 9);
  // With two tokens of each thought dropped, turns are rows of their own: 13, and 10 + 1 + 2 + 3.
  expect(tokensOnce({ ...two, dropped: 2 })).toBe(13 + 16);
  // SeeUPO: forward over turns 2, 1 and, for the ratio, 2 again; backward over both. In process the deciding passes are not there.
  const seeupo = { ...two, algorithm: "seeupo" as const };
  expect(unsharedPasses(seeupo)).toMatchObject({ forward: 4 * (13 + 18 + 18), backward: 4 * (13 + 18) });
  expect(unsharedPasses({ ...seeupo, engine: "local" })).toMatchObject({ forward: 4 * 18, backward: 4 * (13 + 18) });
});

test("what choices cost: sharing and fewer turn updates never lose, more GPUs never do", () => {
  const { alternatives, time } = plan(16);
  expect(alternatives.shared.total.low).toBeLessThan(alternatives.unshared.total.low);
  expect(alternatives.unshared.total).toEqual(time.total);
  expect(alternatives.withoutTurnUpdates?.total.low).toBeLessThan(time.total.low);
  expect(alternatives.referenceProcedure?.total.high).toBeGreaterThan(time.total.high);
  const totals = [8, 16, 64].map((gpus) => plan(gpus).time.total.low);
  expect([...totals].sort((a, b) => b - a)).toEqual(totals);
  expect(plan(8, { rank: 32 }).time.backward.low).toBeLessThan(plan(8).time.backward.low);
  expect(plan(8, { engine: "local" }).time.waits).toEqual({ low: 0, high: 0 });
});

test("memory: 16 bytes a parameter over all GPUs, and a model that does not fit says so", () => {
  const [eight, sixteen] = [plan(8).memory, plan(16).memory];
  expect(eight.training.low - sixteen.training.low).toBeCloseTo((16 * parameters(modelShape("Qwen/Qwen3-14B"))) / 16, -3);
  expect(plan(1).memory.fits).toBe("no");
  expect(plan(1, { rank: 32, offload: true, microBatch: 4096 }).memory.fits).not.toBe("no");
});
