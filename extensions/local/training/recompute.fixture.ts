import { expect } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { Arrays } from "../model/arrays.ts";
import { entropyHead, type Head, logprobHead, valueHead } from "../model/heads.ts";
import { initialiseAdapter, resolveLora } from "../model/lora.ts";
import { loadModel } from "../model/model-folder.ts";
import { packBatch, packRows } from "./packing.ts";
import { RecomputingGraph } from "./recompute.ts";
import { type TrainableModel, TrainingGraph } from "./training-graph.ts";

export const random = randomStream(1, "recompute");
export const ids = (length: number) => Array.from({ length }, () => random.integer(60));
export const prompt = ids(9);
// Two turns, a sample that leaves the first after its prompt, and one that shares nothing: rows with branches and with padding.
export const first = ids(5);
export const samples: readonly ActionInContext[] = [
  { trajectory: "a", turn: 0, context: prompt, action: first },
  { trajectory: "a", turn: 1, context: [...prompt, ...first, ...ids(4)], action: ids(6) },
  { trajectory: "b", turn: 0, context: prompt, action: ids(7) },
  { trajectory: "c", turn: 0, context: ids(3), action: ids(4) },
];
export const batch = packBatch(packRows(samples, 40));

export const arraysOf = (shapes: ReadonlyMap<string, readonly number[]>, fill: () => number) =>
  new Map([...shapes].map(([name, shape]) => [name, Float32Array.from({ length: shape.reduce((a, b) => a * b) }, fill)]));

/** Largest difference, in units of the largest entry. */
export function distance(a: Float32Array, b: Float32Array): number {
  const largest = (x: Float32Array) => x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  expect(a.length).toBe(b.length);
  return largest(a.map((value, i) => value - b[i])) / Math.max(largest(b), 1e-6);
}

export async function pass(graph: TrainableModel, head: Head, parameters: Arrays, trained: readonly string[]) {
  const numbers = await graph.forward({ batch, temperature: 1.3 }, parameters);
  const gradients = new Map(trained.map((name) => [name, new Float32Array(parameters.get(name)?.length ?? 0)]));
  const stream = randomStream(2, "weights");
  const weights = (head === entropyHead ? [1, 2] : [1])
    .map(() => batch.targets.map(() => 0))
    .map((x) => Float32Array.from(x, () => stream.normal()));
  expect(await graph.backward({ batch, weights, temperature: 1.3 }, parameters, gradients)).toHaveLength(numbers.length);
  await graph.close();
  return { numbers, gradients };
}

export const heads = { logprobHead, entropyHead, valueHead };
export type Model = "qwen3" | "qwen2" | "llama" | "gemma3_text" | "mistral-window" | "smollm3" | "lfm2";
export interface Case {
  readonly model: Model;
  readonly head: keyof typeof heads;
  readonly lora: "none" | "all" | "last";
}

export function casesOf(...models: readonly Model[]): Case[] {
  return models.flatMap((model) =>
    (Object.keys(heads) as (keyof typeof heads)[]).flatMap((head) =>
      (["none", "all", "last"] as const).map((lora) => ({ model, head, lora })),
    ),
  );
}

// Both are float32 in orders of their own: each sum is right to about 1e-7 of its largest term, of which some cancel; small pieces add up in more steps.
export async function expectLayersToBeTheWhole({ model, head, lora }: Case): Promise<void> {
  const { config: base, parameters: tensors } = await loadModel(
    new URL(`../../../test/golden/models/${model}`, import.meta.url).pathname,
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
}
