import type { Hardware } from "./hardware.ts";
import type { Interval } from "./interval.ts";
import { adapterParameters, cacheBytes, layerParameters, type ModelShape, parameters } from "./model-shape.ts";
import { contextBefore, type Workload } from "./workload.ts";

/** Bytes on each GPU. */
export interface Memory {
  /** While it trains. */
  readonly training: Interval;
  /** The sampler's weights. */
  readonly samplerWeights: number;
  /** Trajectories at full length whose keys and values fit beside them, on one copy of the sampler. */
  readonly sequences: number;
  /** Whether both halves fit; "perhaps" if only the lower estimate does. */
  readonly fits: "yes" | "perhaps" | "no";
}

/**
 * Memory of weights, gradients and Adam in 32 bits, sharded over all GPUs (16 bytes a parameter), the reference, what a micro-batch leaves, and logits.
 * An adapter's base is in 16 bits.
 */
export function memoryOf(shape: ModelShape, hardware: Hardware, gpus: number, work: Workload): Memory {
  const size = parameters(shape);
  const states = work.rank > 0 ? (2 * size + 16 * adapterParameters(shape, work.rank)) / gpus : (16 * size) / gpus;
  // An adapter's reference is its base; other references are frozen copies, in 32 bits at worst.
  const reference =
    work.kl && work.rank === 0 ? { low: work.offload ? 0 : (2 * size) / gpus, high: (4 * size) / gpus } : { low: 0, high: 0 };
  const gathered = gpus > 1 ? 2 * (layerParameters(shape) + shape.vocabulary * shape.hidden) : 0;
  const tokens = work.microBatch;
  const kept = work.recompute
    ? 2 * tokens * shape.layers * shape.hidden
    : 2 * tokens * shape.layers * (10 * shape.hidden + 3 * shape.intermediate);
  const layer = 2 * tokens * (10 * shape.hidden + 3 * shape.intermediate);
  const logits = tokens * shape.vocabulary;
  const training: Interval = {
    low: states + reference.low + gathered + kept + layer + 2 * logits,
    high: states + reference.high + 2 * gathered + kept + 2 * layer + 10 * logits,
  };
  const samplerWeights = (2 * size) / work.tensorParallel;
  // What is not moved to the machine's memory stays beside the sampler.
  const resident = work.offload ? 0 : states + reference.low;
  const room = work.tensorParallel * (0.9 * hardware.memoryBytes - samplerWeights - resident);
  const sequences = Math.max(0, Math.floor(room / (cacheBytes(shape) * (contextBefore(work, work.turns) + work.action))));
  const most = hardware.memoryBytes;
  const fits = sequences < 1 || training.low > most ? "no" : training.high > most ? "perhaps" : "yes";
  return { training, samplerWeights, sequences, fits };
}
