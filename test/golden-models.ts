import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { LocalEngine } from "../extensions/local/engine.ts";
import type { SessionOptions } from "../extensions/local/machine/device.ts";
import { logprobHead } from "../extensions/local/model/heads.ts";
import { loadModel, type Model } from "../extensions/local/model/model-folder.ts";
import { readSafetensors, type Tensor } from "../extensions/local/model/safetensors.ts";
import { packBatch, packRows } from "../extensions/local/training/packing.ts";
import { TrainingGraph } from "../extensions/local/training/training-graph.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";

// Small models with random weights and what transformers 5.23 on PyTorch 2.15 computes from them: float32, on a CPU. golden/model.py makes another.
// PyTorch itself is up to 9e-6 away from the same computation in float64; a fault of a formula moves log-probs by far more than 1e-4.
const logprobTolerance = 1e-4;

const matrix = z.array(z.array(z.number()));
const inputsSchema = z.object({ inputIds: matrix, weights: matrix, lengths: z.array(z.int()) });
const adamwSchema = z.object({
  hyperparameters: z.object({
    learningRate: z.number(),
    beta1: z.number(),
    beta2: z.number(),
    epsilon: z.number(),
    weightDecay: z.number(),
  }),
  steps: z.array(z.object({ loss: z.number(), gradL2: z.number() })),
  lossAfter: z.number(),
  tokenLogprobsAfter: matrix,
  parameters: z.record(z.string(), z.object({ sum: z.number(), l2: z.number() })),
});
const expectedSchema = z.object({
  objective: z.number(),
  adamw: z.array(adamwSchema),
  greedy: z.object({ prompt: z.array(z.int()), continuation: z.array(z.int()) }),
});

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  return schema.parse(JSON.parse(await readFile(file, "utf8")));
}

/** The rows without their padding: the first token is the context of all others. */
function samplesOf({ inputIds, lengths }: z.infer<typeof inputsSchema>): ActionInContext[] {
  return inputIds.map((ids, row) => ({
    trajectory: `row ${row}`,
    turn: 0,
    context: ids.slice(0, 1),
    action: ids.slice(1, lengths[row]),
  }));
}

/** Of [B][T], what belongs to the action tokens of `samplesOf`. */
function ofActions(rows: readonly (readonly number[])[], { lengths }: z.infer<typeof inputsSchema>): number[][] {
  return rows.map((values, row) => values.slice(1, lengths[row]));
}

function rowsOf({ shape: [count, width], data }: Tensor): number[][] {
  return Array.from({ length: count }, (_, row) => Array.from(data.subarray(row * width, (row + 1) * width)));
}

function read(tensors: ReadonlyMap<string, Tensor>, name: string): Tensor {
  return tensors.get(name) ?? expect.unreachable(`no tensor ${name}`);
}

function largest(values: ArrayLike<number>): number {
  return Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** Largest distance of two ragged matrices of the same sizes. */
function distance(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  expect(a.map((row) => row.length)).toEqual(b.map((row) => row.length));
  return largest(a.flatMap((row, i) => row.map((value, j) => value - b[i][j])));
}

const dot = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]) =>
  a.reduce((sum, row, i) => row.reduce((partial, value, j) => partial + value * b[i][j], sum), 0);

const root = new URL("golden/models", import.meta.url).pathname;
const all = readdirSync(root).sort();
/** Those with gradients; the others hold values alone. */
const names = all.filter((name) => existsSync(`${root}/${name}/gradients.safetensors`));

/**
 * What the engine must compute on every provider: values, gradients, three optimiser steps and what is sampled.
 * @param thorough whether also what every provider shares is tried: weights in bfloat16, other hyperparameters
 */
export function goldenSuite(session: SessionOptions, { thorough }: { readonly thorough: boolean }): void {
  describe.each(thorough ? all : names)("%s as transformers computes it", (name) => {
    const folder = `${root}/${name}`;
    let model: Model;
    let engine: LocalEngine;
    beforeAll(async () => {
      model = await loadModel(folder);
      engine = new LocalEngine(model, { model: folder, ...session });
    });
    afterAll(() => engine.dispose());

    test("log-probs", async () => {
      const inputs = await readJson(`${folder}/inputs.json`, inputsSchema);
      const expected = read(await readSafetensors(`${folder}/expected.safetensors`), "tokenLogprobs");
      const logprobs = await engine.logprobs(samplesOf(inputs), { temperature: 1 });
      expect(distance(logprobs, ofActions(rowsOf(expected), inputs))).toBeLessThan(logprobTolerance);
    });

    test("log-probs and entropies of the sampler, after every prefix", async () => {
      const inputs = await readJson(`${folder}/inputs.json`, inputsSchema);
      const tensors = await readSafetensors(`${folder}/expected.safetensors`);
      const entropies = ofActions(rowsOf(read(tensors, "tokenEntropy")), inputs);
      const { shape, data } = read(tensors, "logits");
      const [, length, vocabulary] = shape;
      for (const [row, { context, action }] of samplesOf(inputs).entries()) {
        const ids = [...context, ...action];
        const drawn = await Promise.all(
          action.map((_, t) => engine.sample({ context: ids.slice(0, t + 1), maxTokens: 1, stopTokens: [], seed: t })),
        );
        drawn.forEach(({ tokens: [token], modelLogprobs, entropies: [entropy] }, t) => {
          const start = (row * length + t) * vocabulary;
          const logits = data.subarray(start, start + vocabulary);
          expect(Math.abs(entropy - entropies[row][t])).toBeLessThan(logprobTolerance);
          expect(Math.abs(modelLogprobs[0] - logSoftmax(logits)[token])).toBeLessThan(logprobTolerance);
        });
      }
    });
  });

  describe.each(names)("%s trains as with PyTorch", (name) => {
    const folder = `${root}/${name}`;

    test("objective and gradients", async () => {
      const inputs = await readJson(`${folder}/inputs.json`, inputsSchema);
      const { objective } = await readJson(`${folder}/expected.json`, expectedSchema);
      const expected = await readSafetensors(`${folder}/gradients.safetensors`);
      const { config, parameters: tensors } = await loadModel(folder);
      const parameters = new Map([...tensors].map(([key, { data }]) => [key, data]));
      const gradients = new Map([...parameters].map(([key, { length }]) => [key, new Float32Array(length)]));
      const batch = packBatch(packRows(samplesOf(inputs), config.maxPositionEmbeddings));
      const weights = new Float32Array(batch.targets.length);
      const weightOf = ofActions(inputs.weights, inputs);
      for (const { sample, scored } of batch.scoredSamples) {
        scored.forEach((at, j) => {
          weights[at] += weightOf[sample][j];
        });
      }

      const graph = new TrainingGraph(config, logprobHead, session);
      const logprobs = await graph.backward({ batch, weights: [weights] }, parameters, gradients);
      await graph.close();
      // About 40 terms of size 10, each 1e-5 from PyTorch's at most.
      expect(Math.abs(logprobs.reduce((sum, logprob, i) => sum + weights[i] * logprob, 0) - objective)).toBeLessThan(1e-3);
      expect([...gradients.keys()].sort()).toEqual([...expected.keys()].sort());
      for (const [key, { data }] of expected) {
        const gradient = gradients.get(key) ?? expect.unreachable();
        expect(largest(data.map((value, i) => value - gradient[i])) / largest(data), key).toBeLessThan(1e-4);
      }
    });

    test.each(thorough ? [0, 1] : [0])("three AdamW steps up the objective, with hyperparameters %i", async (run) => {
      const inputs = await readJson(`${folder}/inputs.json`, inputsSchema);
      const expected = (await readJson(`${folder}/expected.json`, expectedSchema)).adamw[run];
      const model = await loadModel(folder);
      const engine = new LocalEngine(model, { model: folder, ...session });
      const samples = samplesOf(inputs);
      const weights = ofActions(inputs.weights, inputs);
      for (const { loss, gradL2 } of expected.steps) {
        const logprobs = await engine.forwardBackward(samples, weights, { temperature: 1 });
        expect(-dot(weights, logprobs) - loss).toBeCloseTo(0, 2);
        const { gradientNorm } = await engine.step({ ...expected.hyperparameters, clipNorm: Number.POSITIVE_INFINITY });
        expect(gradientNorm / gradL2).toBeCloseTo(1, 4);
      }
      const after = await engine.logprobs(samples, { temperature: 1 });
      const saved = await mkdtemp(join(tmpdir(), "retrograde-golden-"));
      await engine.saveModel(saved);
      await engine.dispose();
      const { parameters } = await loadModel(saved);
      await rm(saved, { recursive: true });
      // Steps differ where a gradient is nearly 0: AdamW divides by its size. Log-probs moved by several nats.
      expect(distance(after, ofActions(expected.tokenLogprobsAfter, inputs))).toBeLessThan(2e-3);
      expect(-dot(weights, after) - expected.lossAfter).toBeCloseTo(0, 2);
      for (const [key, { sum, l2 }] of Object.entries(expected.parameters)) {
        const values = Float64Array.from(read(parameters, key).data);
        // A key bias adds nearly the same to all scores of a query, which changes nothing: its gradient is mostly rounding noise,
        // and with ε = 1e-8 AdamW makes full steps of that.
        const isNoise = key.endsWith("k_proj.bias") && expected.hyperparameters.epsilon < 1e-6;
        expect(Math.abs(values.reduce((a, b) => a + b) - sum), `sum of ${key}`).toBeLessThan(isNoise ? 5e-3 : 1e-3);
        expect(Math.hypot(...values) / l2 - 1, `norm of ${key}`).toBeCloseTo(0, isNoise ? 2 : 4);
      }
    });

    test("the most probable continuation", async () => {
      const { prompt, continuation } = (await readJson(`${folder}/expected.json`, expectedSchema)).greedy;
      const engine = new LocalEngine(await loadModel(folder), { model: folder, ...session });
      const request = { context: prompt, maxTokens: continuation.length, stopTokens: [], seed: 1, temperature: 0 };
      expect((await engine.sample(request)).tokens).toEqual(continuation);
      await engine.dispose();
    });
  });
}

function logSoftmax(logits: Float32Array): number[] {
  const peak = Math.max(...logits);
  const logSum = peak + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - peak), 0));
  return Array.from(logits, (logit) => logit - logSum);
}
