import { expect, test } from "vitest";
import { requireGpuMemory } from "./gpu-plan.ts";

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
