import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { ConfigError, EngineError, ModelError } from "../../../src/core/errors.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import {
  adamW,
  distance,
  expectClose,
  otherWeights,
  plain,
  rounding,
  samples,
  someWeights,
} from "../../../test/engine-fixtures.ts";
import { engineSuite } from "../../../test/engine-suite.ts";
import { createLocalEngine } from "../engine.ts";
import type { LocalEngineOptions, LoraOptions } from "../options.ts";
import { SamplingGraph } from "../sampling/sampling-graph.ts";
import { packBatch, packRows } from "../training/packing.ts";
import { TrainingGraph } from "../training/training-graph.ts";
import { readAdapter } from "./adapter-folder.ts";
import { logprobHead } from "./heads.ts";
import { adapterShapes, initialAdapter, initialiseAdapter, moduleOf, resolveLora } from "./lora.ts";
import { loadModel } from "./model-folder.ts";
import { readSafetensors } from "./safetensors.ts";

const golden = (name: string) => new URL(`../../../test/golden/${name}`, import.meta.url).pathname;
const small: LoraOptions = { rank: 3, alpha: 6, targets: ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"], seed: 1 };
const open = (
  lora: LoraOptions = { rank: 4, alpha: 8, targets: "all-linear", seed: 1 },
  options: Partial<LocalEngineOptions> = {},
) => createLocalEngine({ model: golden("models/qwen2"), threads: 1, lora, ...options });

engineSuite("The local engine with an adapter", open);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lora-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("as PEFT computes it in float64 (test/golden/lora.py)", () => {
  const inputsSchema = z.object({
    inputIds: z.array(z.array(z.number())),
    weights: z.array(z.array(z.number())),
    lengths: z.array(z.number()),
  });
  const read = async () => {
    const json = async (file: string) => JSON.parse(await readFile(golden(file), "utf8"));
    const { inputIds, weights, lengths } = inputsSchema.parse(await json("models/qwen2/inputs.json"));
    const expected = z.array(z.array(z.number())).parse(await json("lora/logprobs.json"));
    const rows: ActionInContext[] = inputIds.map((ids, i) => ({
      ...{ trajectory: `${i}`, turn: 0 },
      ...{ context: ids.slice(0, 1), action: ids.slice(1, lengths[i]) },
    }));
    return { rows, expected, weights: weights.map((row, i) => row.slice(1, lengths[i])) };
  };

  test("log-probs of an adapter that PEFT wrote, and of the sampler with it", async () => {
    const { rows, expected } = await read();
    const engine = await open({ ...small, from: golden("lora") });
    // Float32 on log-probs of size 10.
    expect(distance(await engine.logprobs(rows, plain), expected)).toBeLessThan(rounding);
    const { context, action } = rows[0];
    for (const [t] of action.entries()) {
      const prefix = [...context, ...action.slice(0, t)];
      const { tokens, modelLogprobs } = await engine.sample({ context: prefix, maxTokens: 1, stopTokens: [], seed: t });
      const [[logprob]] = await engine.logprobs([{ ...rows[0], context: prefix, action: tokens }], plain);
      expect(Math.abs(modelLogprobs[0] - logprob)).toBeLessThan(rounding);
      if (tokens[0] === action[t]) expect(Math.abs(modelLogprobs[0] - expected[0][t])).toBeLessThan(rounding);
    }
    await engine.dispose();
  });

  test("gradients of A and B, and of nothing else", async () => {
    const { rows, weights } = await read();
    const model = await loadModel(golden("models/qwen2"));
    const config = { ...model.config, lora: resolveLora(model.config, small) };
    const adapter = await readAdapter(golden("lora"), config);
    const base = new Map([...model.parameters].map(([name, { data }]) => [name, data]));
    const parameters = new Map([...base, ...adapter]);
    const batch = packBatch(packRows(rows, 64));
    const summed = new Float32Array(batch.targets.length);
    for (const { sample, scored } of batch.scoredSamples)
      for (const [j, at] of scored.entries()) summed[at] += weights[sample][j];
    const gradients = new Map([...adapter].map(([name, { length }]) => [name, new Float32Array(length)]));
    const graph = new TrainingGraph(config, logprobHead, { threads: 1, trained: [...adapter.keys()] });
    await graph.backward({ batch, weights: [summed] }, parameters, gradients);
    await graph.close();
    const expected = await readSafetensors(golden("lora/gradients.safetensors"));
    expect([...gradients.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [name, { data }] of expected) {
      const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const worst = data.reduce(
        (most, value, i) => Math.max(most, Math.abs(value - (gradients.get(name)?.[i] ?? Number.NaN))),
        0,
      );
      expect(worst / largest, name).toBeLessThan(1e-5);
    }
  });
});

test("a weight belongs to the module of its name", () => {
  expect(["model.norm.weight", "lm_head.weight", "a.weight.b", "model.layers.0.self_attn.q_proj.bias"].map(moduleOf)).toEqual([
    ...["model.norm", "lm_head", undefined, undefined],
  ]);
});

test("training begins with the base, and moves the adapter alone", async () => {
  const base = await createLocalEngine({ model: golden("models/qwen2"), threads: 1 });
  const engine = await open();
  const before = await base.logprobs(samples, plain);
  expectClose(await engine.logprobs(samples, plain), before);
  for (const weights of [someWeights, otherWeights]) {
    await engine.forwardBackward(samples, weights, plain);
    await engine.step({ ...adamW, epsilon: 1e-8, learningRate: 1e-2 });
  }
  expect(distance(await engine.logprobs(samples, plain), before)).toBeGreaterThan(0.1);
  // Nothing was snapshotted: the reference is the base.
  expectClose(await engine.referenceLogprobs(samples, plain), before);
  await engine.snapshotReference();
  expect(await engine.referenceLogprobs(samples, plain)).toEqual(await engine.logprobs(samples, plain));
  for (const each of [base, engine]) await each.dispose();
});

test("rank, alpha, targets and seed decide what is learned", async () => {
  const learned = async (lora: Partial<LoraOptions>) => {
    const engine = await open({ ...small, ...lora });
    for (let step = 0; step < 2; step++) {
      await engine.forwardBackward(samples, someWeights, plain);
      await engine.step({ ...adamW, epsilon: 1e-8, learningRate: 1e-2 });
    }
    const result = await engine.logprobs(samples, plain);
    await engine.dispose();
    return result;
  };
  const usual = await learned({});
  expect(await learned({})).toEqual(usual);
  for (const change of [{ rank: 4 }, { alpha: 3 }, { targets: ["q_proj"] }, { targets: "all-linear" as const }, { seed: 2 }])
    expect(distance(await learned(change), usual), JSON.stringify(change)).toBeGreaterThan(rounding);
});

test("A is uniform in ±1/√in, B is 0", async () => {
  const { config } = await loadModel(golden("models/qwen2"));
  const adapted = { ...config, lora: resolveLora(config, { rank: 8, alpha: 8, targets: "all-linear" }) };
  const adapter = initialiseAdapter(adapted, 1);
  for (const [name, [, columns]] of adapterShapes(adapted)) {
    const data = adapter.get(name) ?? new Float32Array();
    const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) * Math.sqrt(columns);
    if (name.endsWith("lora_B.weight")) expect(largest).toBe(0);
    else expect(largest).toBeGreaterThan(0.9);
    expect(largest).toBeLessThanOrEqual(1);
  }
});

test("targets that the model lacks are named beside those that it has", async () => {
  const refusal = (targets: string[]) => open({ ...small, targets });
  await expect(refusal(["q_proj", "query"])).rejects.toThrow(ConfigError);
  await expect(refusal(["q_proj", "query"])).rejects.toThrow(
    /lora.targets is "query"; expected "all-linear", "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj" or "down_proj"/,
  );
  await expect(refusal([])).rejects.toThrow("lora.targets is []");
  await expect(refusal(["lm_head"])).rejects.toThrow("lora.targets");
});

test("weights as inputs of the sampler give what weights as constants give", async () => {
  const { config, parameters } = await loadModel(golden("models/qwen2"));
  const adapted = { ...config, lora: resolveLora(config, small) };
  const adapter = await readAdapter(golden("lora"), adapted);
  const all = new Map([...[...parameters].map(([name, { data }]) => [name, data] as const), ...adapter]);
  const cached = Array.from({ length: config.layers }, () => new Float32Array(config.kvHeads * config.headDim));
  const inputs = {
    ...{ rows: 1, chunk: 3, cached: 1, tokens: Int32Array.of(5, 6, 7), positions: BigInt64Array.of(0n, 1n, 2n) },
    ...{ mask: Float32Array.of(-1e9, 0, -1e9, -1e9, -1e9, 0, 0, -1e9, -1e9, 0, 0, 0), keys: cached, values: cached },
    ...{ read: Int32Array.of(2), inverseTemperatures: Float32Array.of(1) },
  };
  const [merged, apart] = await Promise.all(
    [false, true].map(async (weightsAsInputs) => {
      const graph = await SamplingGraph.open(adapted, all, { threads: 1, weightsAsInputs });
      const { logits = new Float32Array() } = await graph.step(inputs, { logits: true });
      await graph.close();
      return [Array.from(logits)];
    }),
  );
  expect(distance(apart, merged)).toBeLessThan(rounding);
});

describe("files", () => {
  const trained = async () => {
    const engine = await open(small);
    await engine.forwardBackward(samples, someWeights, plain);
    await engine.step({ ...adamW, epsilon: 1e-8, learningRate: 1e-2 });
    return engine;
  };

  test("an adapter, saved and loaded, is the same; merged, it is a model without one", async () => {
    const engine = await trained();
    const expected = await engine.logprobs(samples, plain);
    const path = join(folder, "model");
    await engine.saveModel(path);
    const again = await open({ ...small, from: join(path, "adapter"), seed: 9 });
    expect(await again.logprobs(samples, plain)).toEqual(expected);
    const merged = await createLocalEngine({ model: path, threads: 1 });
    expectClose(await merged.logprobs(samples, plain), expected);
    for (const each of [engine, again, merged]) await each.dispose();
  });

  test("adapters on the last layers alone are written as PEFT's layers_to_transform, read again, and merged", async () => {
    const last = { ...small, layers: 1 };
    const engine = await open(last);
    await engine.forwardBackward(samples, someWeights, plain);
    await engine.step({ ...adamW, epsilon: 1e-8, learningRate: 1e-2 });
    const expected = await engine.logprobs(samples, plain);
    const path = join(folder, "last");
    await engine.saveModel(path);
    const from = join(path, "adapter");
    expect(JSON.parse(await readFile(join(from, "adapter_config.json"), "utf8"))).toMatchObject({ layers_to_transform: [1] });
    expect(
      [...(await readSafetensors(join(from, "adapter_model.safetensors"))).keys()].every((name) => name.includes(".1.")),
    ).toBe(true);
    const again = await open({ ...last, from, seed: 9 });
    expect(await again.logprobs(samples, plain)).toEqual(expected);
    const merged = await createLocalEngine({ model: path, threads: 1 });
    expectClose(await merged.logprobs(samples, plain), expected);
    await expect(open({ ...small, from })).rejects.toThrow("lora.layers is missing; expected 1, as in ");
    await expect(open({ ...small, layers: 3 })).rejects.toThrow("lora.layers is 3; expected at most 2, the layers of this model");
    for (const each of [engine, again, merged]) await each.dispose();
  });

  test("the names and settings in them are PEFT's", async () => {
    const engine = await open({ ...small, from: golden("lora") });
    const path = join(folder, "peft");
    await engine.saveAdapter(path);
    await engine.dispose();
    expect(await readSafetensors(join(path, "adapter_model.safetensors"))).toEqual(
      await readSafetensors(golden("lora/adapter_model.safetensors")),
    );
    const json = async (file: string) => JSON.parse(await readFile(file, "utf8"));
    const [ours, theirs] = [await json(join(path, "adapter_config.json")), await json(golden("lora/adapter_config.json"))];
    expect([...ours.target_modules].sort()).toEqual(theirs.target_modules);
    const rest = ({ target_modules: _, base_model_name_or_path: __, ...others }: Record<string, unknown>) => others;
    expect(theirs).toMatchObject(rest(ours));
  });

  test("an engine without an adapter has none to save", async () => {
    const engine = await createLocalEngine({ model: golden("models/qwen2"), threads: 1 });
    await expect(engine.saveAdapter(join(folder, "nothing"))).rejects.toThrow(EngineError);
    await engine.dispose();
  });

  test("an adapter of other settings, or of a kind that is not computed, is refused by name", async () => {
    const from = golden("lora");
    await expect(open({ ...small, from, rank: 4 })).rejects.toThrow("lora.rank is 4; expected 3, as in ");
    await expect(open({ ...small, from, alpha: 4 })).rejects.toThrow("lora.alpha is 4; expected 6, as in ");
    await expect(open({ ...small, from, targets: ["q_proj"] })).rejects.toThrow(
      'lora.targets is ["q_proj"]; expected ["q_proj","v_proj"',
    );
    await expect(open({ ...small, from: join(folder, "nowhere") })).rejects.toThrow(ModelError);

    const changed = join(folder, "changed");
    await mkdir(changed);
    await copyFile(join(from, "adapter_model.safetensors"), join(changed, "adapter_model.safetensors"));
    const config = JSON.parse(await readFile(join(from, "adapter_config.json"), "utf8"));
    for (const [name, value] of [
      ["use_dora", true],
      ["peft_type", "IA3"],
      ["bias", "all"],
      ["rank_pattern", { q_proj: 2 }],
      ["use_rslora", true],
      ["modules_to_save", ["lm_head"]],
      ["alora_invocation_tokens", [5, 6]],
      ["init_lora_weights", "pissa"], // takes from the base what it gives the adapter
      ["not_yet_invented", 1],
    ] as const) {
      await writeFile(join(changed, "adapter_config.json"), JSON.stringify({ ...config, [name]: value }));
      await expect(open({ ...small, from: changed }), name).rejects.toThrow(name);
    }
    for (const [modules, message] of [
      [
        ["lm_head", "q_proj"],
        'target_modules in .* is "lm_head"; expected linear modules of this model\'s layers: q_proj, k_proj',
      ],
      [["layers.0.self_attn.q_proj"], "the same modules in every layer: model.layers.1.self_attn.q_proj is missing"],
    ] as const) {
      await writeFile(join(changed, "adapter_config.json"), JSON.stringify({ ...config, target_modules: modules }));
      await expect(open({ ...small, from: changed })).rejects.toThrow(new RegExp(message));
    }
    const inFull = [
      "self_attn.q_proj",
      ...config.target_modules.slice(0, 3),
      "layers.0.self_attn.v_proj",
      "model.layers.1.self_attn.v_proj",
    ];
    await writeFile(join(changed, "adapter_config.json"), JSON.stringify({ ...config, target_modules: inFull }));
    await (await open({ ...small, from: changed })).dispose();

    // SkyRL's servers write null there, and Unsloth a pattern; the tensors tell. To PEFT an empty list of layers means all.
    const unsloth = String.raw`(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|mlp)\.(?:(?:q_proj|v_proj|o_proj|gate_proj|down_proj)))`;
    for (const fields of [{ target_modules: null }, { target_modules: unsloth }, { layers_to_transform: [] }]) {
      await writeFile(join(changed, "adapter_config.json"), JSON.stringify({ ...config, ...fields }));
      await (await open({ ...small, from: changed })).dispose();
    }

    const trainedElsewhere = { lora_dropout: 0.05, init_lora_weights: "gaussian", inference_mode: false, revision: "main" };
    await writeFile(join(changed, "adapter_config.json"), JSON.stringify({ ...config, ...trainedElsewhere }));
    await (await open({ ...small, from: changed })).dispose();
    await expect(createLocalEngine({ model: golden("models/qwen3"), threads: 1, lora: { ...small, from } })).rejects.toThrow(
      /shape of tensor .* in /,
    );
  });

  test("a state of the model itself does not fit an adapter, nor the other way round", async () => {
    const [engine, base] = [await open(small), await createLocalEngine({ model: golden("models/qwen2"), threads: 1 })];
    await base.saveState(join(folder, "base"));
    await engine.saveState(join(folder, "adapter"));
    await expect(engine.loadState(join(folder, "base"))).rejects.toThrow(ModelError);
    await expect(base.loadState(join(folder, "adapter"))).rejects.toThrow(ModelError);
    for (const each of [engine, base]) await each.dispose();
  });
});

test("a wide adapter is initialised in parts, with the numbers that it has at once", async () => {
  const model = await loadModel(golden("models/qwen2"));
  const wide = { ...model.config, hiddenSize: 1024, lora: { rank: 512, alpha: 32, targets: ["q_proj"] } };
  const parts = initialAdapter(wide, 3);
  let pauses = 0;
  let part = parts.next();
  for (; part.done !== true; part = parts.next()) pauses++;
  expect(pauses).toBe(2 * model.config.layers);
  expect(part.value).toEqual(initialiseAdapter(wide, 3));
});
