import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { Arrays } from "../model/arrays.ts";
import { entropyHead, type Head, logprobHead, valueHead } from "../model/heads.ts";
import { initialiseAdapter, resolveLora } from "../model/lora.ts";
import { loadModel } from "../model/model-folder.ts";
import { microBatchTokens } from "./learner.ts";
import { packBatch, packRows } from "./packing.ts";
import { isLayered, passLimits, wholeGraphBytes } from "./pass-sizes.ts";
import { RecomputingGraph } from "./recompute.ts";
import { type TrainableModel, TrainingGraph } from "./training-graph.ts";

const random = randomStream(1, "recompute");
const ids = (length: number) => Array.from({ length }, () => random.integer(60));
const prompt = ids(9);
// Two turns, a sample that leaves the first after its prompt, and one that shares nothing: rows with branches and with padding.
const first = ids(5);
const samples: readonly ActionInContext[] = [
  { trajectory: "a", turn: 0, context: prompt, action: first },
  { trajectory: "a", turn: 1, context: [...prompt, ...first, ...ids(4)], action: ids(6) },
  { trajectory: "b", turn: 0, context: prompt, action: ids(7) },
  { trajectory: "c", turn: 0, context: ids(3), action: ids(4) },
];
const batch = packBatch(packRows(samples, 40));

const arraysOf = (shapes: ReadonlyMap<string, readonly number[]>, fill: () => number) =>
  new Map([...shapes].map(([name, shape]) => [name, Float32Array.from({ length: shape.reduce((a, b) => a * b) }, fill)]));

/** Largest difference, in units of the largest entry. */
function distance(a: Float32Array, b: Float32Array): number {
  const largest = (x: Float32Array) => x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  expect(a.length).toBe(b.length);
  return largest(a.map((value, i) => value - b[i])) / Math.max(largest(b), 1e-6);
}

async function pass(graph: TrainableModel, head: Head, parameters: Arrays, trained: readonly string[]) {
  const numbers = await graph.forward(batch, parameters, 1.3);
  const gradients = new Map(trained.map((name) => [name, new Float32Array(parameters.get(name)?.length ?? 0)]));
  const stream = randomStream(2, "weights");
  const weights = (head === entropyHead ? [1, 2] : [1])
    .map(() => batch.targets.map(() => 0))
    .map((x) => Float32Array.from(x, () => stream.normal()));
  expect(await graph.backward(batch, weights, parameters, gradients, 1.3)).toHaveLength(numbers.length);
  await graph.close();
  return { numbers, gradients };
}

const heads = { logprobHead, entropyHead, valueHead };
const models = ["qwen3", "qwen2", "llama", "gemma3_text", "mistral-window", "smollm3", "lfm2"] as const;
const cases = models.flatMap((model) =>
  (Object.keys(heads) as (keyof typeof heads)[]).flatMap((head) =>
    (["none", "all", "last"] as const).map((lora) => ({ model, head, lora })),
  ),
);

// Both are float32 in orders of their own: each sum is right to about 1e-7 of its largest term, of which some cancel; small pieces add up in more steps.
test.each(cases)(
  "$model, $head, layers with an adapter $lora: layer by layer it computes what the whole graph does",
  async ({ model, head, lora }) => {
    const { config: base, parameters: tensors } = await loadModel(
      new URL(`../../../../test/golden/models/${model}`, import.meta.url).pathname,
    );
    const all = model === "lfm2" ? ["q_proj", "in_proj", "w2"] : ["q_proj", "down_proj"];
    const [layers, targets] = lora === "last" ? [1, all.slice(-1)] : [undefined, all];
    const settings = { rank: 2, alpha: 3, targets, layers };
    const config = lora === "none" ? base : { ...base, lora: resolveLora(base, settings) };
    const stream = randomStream(3, "parameters");
    const parameters = arraysOf(heads[head].parameterShapes(config), () => 0.3 * stream.normal());
    for (const [name, { data }] of tensors) parameters.get(name)?.set(data);
    const adapter = initialiseAdapter(config, 1);
    const trained = lora !== "none" ? [...adapter.keys()] : [...parameters.keys()];

    const whole = await pass(new TrainingGraph(config, heads[head], { threads: 1, trained }), heads[head], parameters, trained);
    for (const pieces of [{}, { pieceTokens: 7, blockQueries: 3 }]) {
      const options = { threads: 1, trained, ...pieces };
      const layered = await pass(new RecomputingGraph(config, heads[head], options), heads[head], parameters, trained);
      expect(distance(layered.numbers, whole.numbers)).toBeLessThan(4e-6);
      expect([...layered.gradients.keys()]).toEqual(trained);
      for (const [name, gradient] of whole.gradients)
        expect(distance(layered.gradients.get(name) ?? new Float32Array(), gradient), name).toBeLessThan(4e-6);
    }
  },
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

test("passes that are asked for at once do not mix", async () => {
  const { config, parameters: tensors } = await loadModel(new URL("../../../test/golden/models/qwen3", import.meta.url).pathname);
  const parameters = new Map([...tensors].map(([name, { data }]) => [name, data]));
  const graph = new RecomputingGraph(config, logprobHead, { threads: 1 });
  const other = packBatch(packRows(samples.slice(3), 40));
  const [a, b] = await Promise.all([graph.forward(batch, parameters), graph.forward(other, parameters)]);
  expect(a).toEqual(await graph.forward(batch, parameters));
  expect(b).toEqual(await graph.forward(other, parameters));
  await graph.close();
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
  await graph.backward(batch, [weights], parameters, gradients);
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
      return (await graph.forward(batch, moved)).reduce((sum, logprob, m) => sum + logprob * weights[m], 0);
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
    wholeGraphBytes({ ...config, ...change }, batch, new Map([["w", new Float32Array(trained)]]));
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
