import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createLocalEngine } from "../extensions/local/engine.ts";
import { loadModel, saveModel } from "../extensions/local/model/model-folder.ts";
import { findPython } from "../research/bench/python.ts";

const found = await findPython();
const python = found !== undefined && (await imports(found, "peft")) ? found : undefined;
const pathOf = (name: string) => fileURLToPath(new URL(`golden/${name}`, import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "peft-"));
});
afterAll(() => rm(folder, { recursive: true }));

test.skipIf(python === undefined)(
  "PEFT loads a trained adapter and computes the engine's log-probs and greedy text, as transformers does merged",
  async () => {
    const lora = { rank: 5, alpha: 7, targets: ["k_proj", "o_proj", "up_proj", "down_proj"], seed: 3 };
    const model = pathOf("models/qwen3");
    const engine = await createLocalEngine({ model, threads: 1, lora });
    const sample = { trajectory: "a", turn: 0, context: [5, 17, 42], action: [8, 99, 250, 3, 3, 120] };
    const before = await engine.logprobs([sample], { temperature: 1 });
    for (let step = 0; step < 3; step++) {
      await engine.forwardBackward([sample], [sample.action.map(() => 1)], { temperature: 1 });
      await engine.step({ learningRate: 1e-2, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
    }
    const [logprobs] = await engine.logprobs([sample], { temperature: 1 });
    expect(sum(logprobs)).toBeGreaterThan(sum(before[0]) + 1);
    const { context } = sample;
    const greedy = await engine.sample({ context, maxTokens: 12, stopTokens: [], seed: 1, temperature: 0 });
    await engine.saveModel(folder);
    await engine.dispose();

    const ids = [
      [...context, ...sample.action],
      [...context, ...greedy.tokens],
    ];
    const adapted = await logitsOf("check_adapter.py", [model, join(folder, "adapter")], ids);
    const whole = join(folder, "whole");
    await saveModel(whole, await loadModel(folder), { dtype: "float32" });
    const merged = await logitsOf("check_checkpoint.py", [whole], ids);
    for (const [logits, continued] of [adapted, merged]) {
      const best = continued.map((row) => row.indexOf(Math.max(...row)));
      expect(best.slice(context.length - 1, -1)).toEqual([...greedy.tokens]);
      for (const [i, token] of sample.action.entries()) {
        const row = logits[sample.context.length + i - 1];
        expect(Math.abs(row[token] - Math.log(sum(row.map(Math.exp))) - logprobs[i])).toBeLessThan(1e-4);
      }
    }
  },
);

function logitsOf(program: string, args: readonly string[], ids: readonly number[][]): Promise<number[][][]> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, output: string) =>
      error === null ? resolve(z.array(z.array(z.array(z.number()))).parse(JSON.parse(output))) : reject(error);
    const child = execFile(python ?? "", [pathOf(program), ...args], { maxBuffer: 2 ** 28 }, done);
    child.stdin?.end(JSON.stringify(ids));
  });
}

function imports(command: string, module: string): Promise<boolean> {
  return new Promise((resolve) => void execFile(command, ["-c", `import ${module}`], (error) => resolve(error === null)));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
