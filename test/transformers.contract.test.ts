import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createLocalEngine } from "../extensions/local/engine.ts";
import { loadModel, saveModel } from "../extensions/local/model/model-folder.ts";
import { readSafetensors } from "../extensions/local/model/safetensors.ts";
import { findPython } from "../research/bench/python.ts";
import type { ActionInContext } from "../src/core/trajectory.ts";

const python = await findPython();
const pathOf = (name: string) => fileURLToPath(new URL(`golden/${name}`, import.meta.url));
const logitsSchema = z.array(z.array(z.array(z.number())));
const inputsSchema = z.object({ inputIds: z.array(z.array(z.number())), lengths: z.array(z.number()) });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "checkpoint-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Per row, logits [tokens][vocabulary] as Python's transformers computes them from a folder. */
function transformersLogits(command: string, model: string, rows: readonly (readonly number[])[]): Promise<number[][][]> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, output: string) =>
      error === null ? resolve(logitsSchema.parse(JSON.parse(output))) : reject(error);
    const child = execFile(command, [pathOf("check_checkpoint.py"), model], { maxBuffer: 2 ** 28 }, done);
    child.stdin?.end(JSON.stringify(rows));
  });
}

test.each([
  ["qwen3", "qwen3", "float32"],
  ["qwen3", "qwen3-bf16", "bfloat16"],
] as const)(
  `%s, loaded and saved, gives transformers the logits of %s (%s)${python === undefined ? " — Python absent: weights compared only" : ""}`,
  async (source, expectation, dtype) => {
    const saved = join(folder, `${source}-${dtype}`);
    await saveModel(saved, await loadModel(pathOf(`models/${source}`)), { dtype });
    const expectedModel = await loadModel(pathOf(`models/${expectation}`));
    expect((await loadModel(saved)).parameters).toEqual(expectedModel.parameters);

    if (python === undefined) return;
    const { inputIds, lengths } = inputsSchema.parse(JSON.parse(await readFile(pathOf(`models/${source}/inputs.json`), "utf8")));
    const rows = inputIds.map((ids, row) => ids.slice(0, lengths[row]));
    const { shape, data } =
      (await readSafetensors(pathOf(`models/${expectation}/expected.safetensors`))).get("logits") ?? expect.unreachable();
    const [, T, V] = shape;
    for (const [row, logits] of (await transformersLogits(python, saved, rows)).entries()) {
      const start = row * T * V;
      const expected = data.subarray(start, start + lengths[row] * V);
      const worst = logits.flat().reduce((max, logit, i) => Math.max(max, Math.abs(logit - expected[i])), 0);
      expect(worst).toBeLessThan(1e-4);
    }
  },
);

test(`a trained and saved model gives ${python === undefined ? "a second engine (Python absent)" : "transformers"} the engine's log-probs`, async () => {
  const saved = join(folder, "trained");
  const sample = { trajectory: "a", turn: 0, context: [5, 17, 42], action: [8, 99, 250, 3, 3, 120] };
  const engine = await createLocalEngine({ model: pathOf("models/qwen3"), threads: 1 });
  const before = await engine.forwardBackward([sample], ([row]) => [row.map(() => 1)], { temperature: 1 });
  await engine.step({ learningRate: 1e-2, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
  const [logprobs] = await engine.logprobs([sample], { temperature: 1 });
  await engine.saveModel(saved);
  await engine.dispose();
  expect(sum(logprobs)).toBeGreaterThan(sum(before[0]) + 1);

  const reread = python === undefined ? await engineLogprobs(saved, sample) : await pythonLogprobs(python, saved, sample);
  for (const [i, logprob] of logprobs.entries()) expect(Math.abs(reread[i] - logprob)).toBeLessThan(1e-4);
});

async function engineLogprobs(model: string, sample: ActionInContext): Promise<readonly number[]> {
  const engine = await createLocalEngine({ model, threads: 1 });
  const [logprobs] = await engine.logprobs([sample], { temperature: 1 });
  await engine.dispose();
  return logprobs;
}

async function pythonLogprobs(command: string, model: string, { context, action }: ActionInContext): Promise<number[]> {
  const [logits] = await transformersLogits(command, model, [[...context, ...action]]);
  return action.map((token, i) => {
    const row = logits[context.length + i - 1];
    return row[token] - Math.log(sum(row.map(Math.exp)));
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
