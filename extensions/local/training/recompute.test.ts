import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import { logprobHead } from "../model/heads.ts";
import { initialiseAdapter, resolveLora } from "../model/lora.ts";
import { loadModel } from "../model/model-folder.ts";
import { microBatchTokens } from "./learner.ts";
import { isLayered, passLimits, wholeGraphBytes } from "./pass-sizes.ts";
import { arraysOf, batch, casesOf, distance, expectLayersToBeTheWhole, pass } from "./recompute.fixture.ts";
import { RecomputingGraph } from "./recompute.ts";
import { TrainingGraph } from "./training-graph.ts";

// The other architectures are in recompute.slow.test.ts.
test.each(casesOf("qwen3"))(
  "$model, $head, layers with an adapter $lora: layer by layer it computes what the whole graph does",
  expectLayersToBeTheWhole,
);

test("adapters on the last layers alone have the gradients that adapters on all layers have there", async () => {
  const { config: base, parameters: tensors } = await loadModel(
    new URL("../../../test/golden/models/qwen3", import.meta.url).pathname,
  );
  const all = { ...base, lora: resolveLora(base, { rank: 2, alpha: 3, targets: "all-linear" }) };
  const last = { ...base, lora: resolveLora(base, { rank: 2, alpha: 3, targets: "all-linear", layers: 1 }) };
  // B is 0 below the last layer, so that both compute the same.
  const stream = randomStream(5, "last");
  const adapter = initialiseAdapter(all, 1);
  const names = [...initialiseAdapter(last, 1).keys()];
  for (const name of names)
    for (const [i] of adapter.get(name)?.entries() ?? []) (adapter.get(name) ?? [])[i] = 0.1 * stream.normal();
  const parameters = new Map([...tensors].map(([name, { data }]) => [name, data]));
  for (const graph of [TrainingGraph, RecomputingGraph]) {
    const gradientsOf = async (config: typeof all) => {
      const trained = config === all ? [...adapter.keys()] : names;
      const held = new Map([...parameters, ...[...adapter].filter(([name]) => trained.includes(name))]);
      return pass(new graph(config, logprobHead, { threads: 1, trained }), logprobHead, held, trained);
    };
    const [whole, ended] = [await gradientsOf(all), await gradientsOf(last)];
    expect(ended.numbers).toEqual(whole.numbers);
    expect([...ended.gradients.keys()].length).toBe([...whole.gradients.keys()].length / base.layers);
    for (const [name, gradient] of ended.gradients)
      expect(distance(gradient, whole.gradients.get(name) ?? new Float32Array()), name).toBeLessThan(1e-6);
  }
});

test("a trie may have more tokens than the model has positions", async () => {
  const { config: base, parameters: tensors } = await loadModel(
    new URL("../../../test/golden/models/qwen3", import.meta.url).pathname,
  );
  const depth = Math.max(...batch.tries.flatMap(({ positions }) => [...positions])) + 1;
  const config = { ...base, maxPositionEmbeddings: depth };
  expect(batch.tries.reduce((sum, { tokens }) => sum + tokens.length, 0)).toBeGreaterThan(depth);
  const parameters = new Map([...tensors].map(([name, { data }]) => [name, data]));
  const passOf = (of: typeof config) =>
    pass(new RecomputingGraph(of, logprobHead, { threads: 1 }), logprobHead, parameters, [...parameters.keys()]);
  const [few, many] = [await passOf(config), await passOf(base)];
  expect(distance(few.numbers, many.numbers)).toBeLessThan(4e-6);
  for (const [name, gradient] of many.gradients)
    expect(distance(few.gradients.get(name) ?? new Float32Array(), gradient), name).toBeLessThan(4e-6);
});

test("in a wide model, whose norms are not folded into matrices, gradients agree with central differences", async () => {
  const { config: tiny } = await loadModel(new URL("../../../test/golden/models/qwen2", import.meta.url).pathname);
  const config = {
    ...tiny,
    hiddenSize: 520,
    layers: 1,
    lora: resolveLora(tiny, { rank: 2, alpha: 3, targets: ["k_proj", "up_proj"] }),
  };
  const stream = randomStream(4, "wide");
  const parameters = arraysOf(logprobHead.parameterShapes(config), () => 0.2 * stream.normal());
  const trained = [...parameters.keys()];
  const weights = Float32Array.from(batch.targets, () => stream.normal());
  const graph = new TrainingGraph(config, logprobHead, { threads: 1, trained });
  const gradients = arraysOf(logprobHead.parameterShapes(config), () => 0);
  await graph.backward({ batch, weights: [weights] }, parameters, gradients);
  const checked: string[] = [];
  // Along its own direction, the slope of Σ w·log π is the gradient's norm; one parameter at a time, so that none hides another.
  for (const name of trained.filter((each) => each.startsWith("model.layers.0."))) {
    const [parameter, gradient] = [parameters, gradients].map((arrays) => arrays.get(name) ?? expect.unreachable());
    const norm = Math.hypot(...gradient);
    const at = async (distance: number) => {
      const moved = new Map(parameters).set(
        name,
        parameter.map((value, i) => value + (distance * gradient[i]) / norm),
      );
      return (await graph.forward({ batch }, moved)).reduce((sum, logprob, m) => sum + logprob * weights[m], 0);
    };
    const step = 1e-2;
    if (norm < 1e-2) continue; // rounding would hide it
    checked.push(name);
    expect(((await at(step)) - (await at(-step))) / (2 * step) / norm, name).toBeCloseTo(1, 1);
  }
  await graph.close();
  expect(checked.length).toBeGreaterThan(12);
});

test("what the whole graph needs grows with layers, logits and what is trained", async () => {
  const { config } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  const bytes = (change: Partial<typeof config>, trained = 0) =>
    wholeGraphBytes({ ...config, ...change }, batch, new Map([["w", [trained]]]));
  const ofLayer = bytes({ layers: 2 }) - bytes({ layers: 1 });
  expect(bytes({ layers: 10 }) - bytes({ layers: 2 })).toBe(8 * ofLayer);
  expect(bytes({ vocabSize: 1_000 }) - bytes({ vocabSize: 0 })).toBe(4 * 4 * 1_000 * batch.targets.length);
  expect(bytes({}, 1_000) - bytes({})).toBe(2 * 4 * 1_000);
});

test("logits of a large vocabulary come in pieces, however small the model is", async () => {
  const { config } = await loadModel(new URL("../../../test/golden/models/gemma3_text", import.meta.url).pathname);
  const scored = (targets: number, vocabSize: number) =>
    isLayered({ ...config, vocabSize }, { rows: 1, length: 512, queryCount: 512, targets: { length: targets } }, new Map());
  expect(scored(256, 262_144)).toBe(false);
  expect(scored(257, 262_144)).toBe(true);
  expect(scored(512, 32_000)).toBe(false);
});

test("a micro-batch has the tokens that one graph over the whole model holds, where a row fits", async () => {
  const { config } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  const large = { ...config, hiddenSize: 576, intermediateSize: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64 };
  const batch = (tokens: number) => ({ rows: tokens / 96, length: 96, queryCount: 96, targets: { length: tokens / 4 } });
  for (const most of [2 ** 29, 2 ** 30]) {
    const tokens = microBatchTokens(large, 96, 0, most);
    expect(tokens).toBeLessThan(1536);
    expect(isLayered(large, batch(tokens - 1), new Map(), most)).toBe(false);
    expect(isLayered(large, batch(2 * tokens), new Map(), most)).toBe(true);
  }
});

test("on a GPU, micro-batches are larger, and whole where logits come in pieces on the processor", async () => {
  const { config } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  const large = { ...config, vocabSize: 49_152 };
  const batch = { rows: 8, length: 1024, queryCount: 1024, targets: { length: 8192 } };
  expect(isLayered(large, batch, new Map(), 2 ** 40)).toBe(true);
  for (const provider of ["cuda", "webgpu"] as const) {
    expect(microBatchTokens(config, 192, 0, 2 ** 40, passLimits(provider))).toBe(8192);
    expect(isLayered(large, batch, new Map(), 2 ** 40, passLimits(provider))).toBe(false);
    expect(isLayered(large, batch, new Map(), 2 ** 30, passLimits(provider))).toBe(true);
    // 2^31 logits are more than a kernel counts.
    expect(isLayered({ ...config, vocabSize: 2 ** 18 }, batch, new Map(), 2 ** 40, passLimits(provider))).toBe(true);
  }
});

test("micro-batches of large models are smaller", async () => {
  const { config } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  expect(microBatchTokens(config, 192, 0)).toBe(1536);
  const large = { ...config, hiddenSize: 8192, intermediateSize: 28_672, heads: 64, kvHeads: 8, headDim: 128 };
  expect(microBatchTokens(large, 192, 0)).toBeLessThan(1536);
  expect(microBatchTokens(large, 2048, 0)).toBeLessThan(microBatchTokens(large, 192, 0));
});
