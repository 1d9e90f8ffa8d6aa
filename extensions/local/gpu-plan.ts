import { EngineError } from "../../src/core/errors.ts";
import type { Provider } from "./machine/device.ts";
import { type NvidiaCard, nvidiaCard, shareOf } from "./machine/gpu-memory.ts";
import { gibibytes, learnedBytesOf, type MemoryUse, weightBytes } from "./memory.ts";
import type { ModelConfig } from "./model/model-config.ts";

/** Memory of a card that other programs hold, below which none is meant: the driver's own. */
const driverBytes = 2 ** 30;

/**
 * Bytes that a GPU holds at least, whatever the passes: the weights, and of what learns gradients twice, AdamW's moments, a reference and a critic.
 */
export function leastOnGpu(config: ModelConfig, use: MemoryUse): number {
  const copies = use.training ? 4 + (use.reference ? 1 : 0) + (use.critic ? 5 : 0) : 0;
  const adapter = use.lora === undefined ? 0 : learnedBytesOf(config, use);
  return weightBytes(config, use) + adapter + copies * learnedBytesOf(config, use);
}

/** The plan of a GPU's memory, in a line for people. @throws EngineError where less is free than the least that the model takes */
export function planOnGpu(provider: Provider, model: ModelConfig, use: MemoryUse, cardOf = nvidiaCard): string | undefined {
  if (provider === "cpu") return undefined;
  const card = provider === "cuda" ? cardOf() : undefined;
  const least = leastOnGpu(model, use);
  if (card === undefined) return `${gibibytes(least)} of weights and moments; how much the GPU has is not known`;
  requireGpuMemory(card, least, use.training);
  const ofPasses = use.training ? `, passes of up to ${gibibytes(shareOf(card, "pass", least))}` : "";
  return `${cardText(card)}: ${gibibytes(least)} of weights${use.training ? " and moments" : ""}${ofPasses}`;
}

/** "NVIDIA H100, 78.3 GiB of 79.6 GiB free". */
export function cardText({ name, freeBytes, totalBytes }: NvidiaCard): string {
  return `${name}, ${gibibytes(freeBytes)} of ${gibibytes(totalBytes)} free`;
}

/** @throws EngineError naming what is free, and who holds the rest */
export function requireGpuMemory(card: NvidiaCard, needed: number, training: boolean): void {
  if (needed <= card.freeBytes) return;
  const others = card.totalBytes - card.freeBytes;
  const fitsAlone = needed <= card.totalBytes - driverBytes;
  const smaller = training ? "Train an adapter (engine.lora), or take a smaller model" : "Take a smaller model";
  throw new EngineError(`free memory of ${card.name}`, `${gibibytes(card.freeBytes)} of ${gibibytes(card.totalBytes)}`, {
    expected: `more than ${gibibytes(needed)}, which its weights${training ? ", gradients and moments" : ""} take`,
    hint:
      others > driverBytes && fitsAlone
        ? `Other programs hold ${gibibytes(others)} of the card: end them (nvidia-smi lists them), or choose another card by CUDA_VISIBLE_DEVICES.`
        : `${smaller}, or set device: "cpu".`,
  });
}
