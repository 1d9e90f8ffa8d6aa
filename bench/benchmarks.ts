import type { Engine } from "../src/engines/engine.ts";
import { denseBatch, randomTokens } from "./model.ts";

/** One quantity, measured on this engine and on a peer that does the same work. */
export interface Benchmark {
  readonly name: string;
  readonly unit: "tokens/s";
  /** Tokens that one call of `work` processes. */
  readonly tokens: number;
  work(engine: Engine): Promise<unknown>;
  /** The peer's program in `bench/peers/`, and its arguments after the model's folder and the number of threads. */
  readonly peer: { readonly script: string; readonly args: readonly number[] };
}

const adamw = { learningRate: 1e-5, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1 };

/** Forward, backward, clipping and AdamW over rows of unrelated tokens: no prefix is shared, nothing is padded. */
function denseTraining(rows: number, length: number): Benchmark {
  const samples = denseBatch(rows, length);
  const weights = samples.map(({ action }) => action.map((_, i) => Math.sin(i)));
  return {
    name: "training-dense",
    unit: "tokens/s",
    tokens: rows * length,
    work: async (engine) => {
      await engine.forwardBackward(samples, weights, { temperature: 1 });
      await engine.step(adamw);
    },
    peer: { script: "training.py", args: [rows, length] },
  };
}

/** From fresh prompts, prefill included; counts new tokens. Ours also returns log-probs and entropies, which `generate` does not. */
function sampling(rows: number, promptLength: number, newTokens: number): Benchmark {
  const prompts = Array.from({ length: rows }, (_, row) => randomTokens(promptLength, "prompt", row));
  let seed = 0;
  return {
    name: `sampling-batch-${rows}`,
    unit: "tokens/s",
    tokens: rows * newTokens,
    work: (engine) =>
      Promise.all(prompts.map((context) => engine.sample({ context, maxTokens: newTokens, stopTokens: [], seed: seed++ }))),
    peer: { script: "sampling.py", args: [rows, promptLength, newTokens] },
  };
}

export const benchmarks: readonly Benchmark[] = [denseTraining(8, 512), sampling(1, 64, 128), sampling(32, 64, 128)];
