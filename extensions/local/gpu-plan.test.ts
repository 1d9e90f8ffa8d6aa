import { expect, test } from "vitest";
import { cardText, leastOnGpu, planOnGpu, requireGpuMemory } from "./gpu-plan.ts";
import { gpuBytes } from "./machine/gpu-memory.ts";
import type { ModelConfig } from "./model/model-config.ts";

const gib = 2 ** 30;
const card = { name: "NVIDIA L4", driver: "580.1", totalBytes: 24 * gib, freeBytes: 23.5 * gib };

test("a model that fits is let in; one that is too large for the card is refused, with what fits", () => {
  expect(() => requireGpuMemory(card, 23 * gib, true)).not.toThrow();
  expect(() => requireGpuMemory(card, 30 * gib, true)).toThrow(
    'free memory of NVIDIA L4 is "23.5 GiB of 24.0 GiB"; expected more than 30.0 GiB, which its weights, gradients and moments take. Train an adapter (engine.lora), or take a smaller model, or set device: "cpu".',
  );
});

test("a second run on a card that another one fills is refused with who holds it", () => {
  expect(() => requireGpuMemory({ ...card, freeBytes: 2 * gib }, 8 * gib, false)).toThrow(
    /is "2\.0 GiB of 24\.0 GiB".*Other programs hold 22\.0 GiB of the card: end them.*CUDA_VISIBLE_DEVICES\.$/,
  );
});

test("a card is the model's up to its last byte, and the driver's own GiB is no other program's", () => {
  const refusal = (freeBytes: number, needed: number, training = false) => {
    try {
      requireGpuMemory({ ...card, freeBytes }, needed, training);
    } catch (error) {
      return String(error);
    }
  };
  expect(refusal(8 * gib, 8 * gib)).toBeUndefined();
  const smaller = 'Take a smaller model, or set device: "cpu".';
  const of = (free: string, needed: string) =>
    `EngineError: free memory of NVIDIA L4 is "${free} GiB of 24.0 GiB"; expected more than ${needed} GiB, which its weights take.`;
  expect(refusal(23 * gib, 23 * gib + 1)).toBe(`${of("23.0", "23.0")} ${smaller}`);
  const ended = (held: string) =>
    `Other programs hold ${held} GiB of the card: end them (nvidia-smi lists them), or choose another card by CUDA_VISIBLE_DEVICES.`;
  expect(refusal(8 * gib, 23 * gib)).toBe(`${of("8.0", "23.0")} ${ended("16.0")}`);
  expect(refusal(8 * gib, 23 * gib + 1)).toBe(`${of("8.0", "23.0")} ${smaller}`);
});

test("half of what is free beside what stays is a pass's, a fifth the cache's", () => {
  expect([gpuBytes("pass", 3.5 * gib, card), gpuBytes("cache", 3.5 * gib, card)]).toEqual([10 * gib, 4 * gib]);
  expect([gpuBytes("pass", 30 * gib, card), gpuBytes("cache", 30 * gib, card)]).toEqual([0, 0]);
  expect(cardText(card)).toBe("NVIDIA L4, 23.5 GiB of 24.0 GiB free");
});

test("a GPU holds weights, and of what learns gradients twice and two moments, a reference and a critic", () => {
  // 1,000 tokens of 64 numbers, one layer: 2·64 of norms, (4 + 2·2 + 4)·16·64 of attention, 3·100·64 of the MLP; a norm.
  const model: ModelConfig = {
    ...{ architecture: "qwen3", eosTokenIds: [], maxPositionEmbeddings: 128, rmsNormEps: 1e-6, attentionBias: false },
    ...{ rope: { theta: 1e4, scaling: undefined }, qkNorm: false, tieWordEmbeddings: true, kvHeads: 2, headDim: 16 },
    ...{ hiddenSize: 64, intermediateSize: 100, layers: 1, heads: 4, vocabSize: 1000 },
  };
  const weights = 4 * (64_000 + 128 + 12_288 + 19_200 + 64);
  const use = { training: true, concurrency: 1, length: 128, reference: false, critic: false } as const;
  expect(leastOnGpu(model, { ...use, training: false })).toBe(weights);
  expect(leastOnGpu(model, use)).toBe(5 * weights);
  expect(leastOnGpu(model, { ...use, reference: true })).toBe(6 * weights);
  expect(leastOnGpu(model, { ...use, reference: true, critic: true })).toBe(11 * weights);
  // q_proj: A [2, 64] and B [64, 2].
  const lora = { rank: 2, alpha: 2, targets: ["q_proj"] };
  expect(leastOnGpu(model, { ...use, lora })).toBe(weights + 5 * 4 * 256);
  expect(planOnGpu("cpu", model, use, () => card)).toBeUndefined();
  // How much another GPU has its driver does not say: the NVIDIA card beside it is not meant.
  const unknown = "0.00 GiB of weights and moments; how much the GPU has is not known";
  expect(planOnGpu("webgpu", model, use, () => card)).toBe(unknown);
  expect(planOnGpu("cuda", model, use, () => undefined)).toBe(unknown);
  const whole = { ...use, length: 64 };
  const large = { ...model, vocabSize: 2 ** 24 };
  // 4 GiB of an embedding, five times as it is trained; half of the 3.5 GiB beside.
  expect(planOnGpu("cuda", large, whole, () => card)).toBe(
    "NVIDIA L4, 23.5 GiB of 24.0 GiB free: 20.0 GiB of weights and moments, passes of up to 1.7 GiB",
  );
  expect(planOnGpu("cuda", large, { ...whole, training: false }, () => card)).toBe(
    "NVIDIA L4, 23.5 GiB of 24.0 GiB free: 4.0 GiB of weights",
  );
  expect(() => planOnGpu("cuda", large, { ...whole, reference: true }, () => card)).toThrow(
    /^free memory of NVIDIA L4 is .*expected more than 24\.0 GiB, which its weights, gradients and moments take/,
  );
});
