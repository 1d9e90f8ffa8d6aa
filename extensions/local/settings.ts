import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import type { Check } from "../../src/core/settings.ts";

const precision = z.enum(["float32", "int8"]);

/** LoRA (arXiv:2106.09685). Defaults: rank 32, Tinker's training clients; alpha 32 and all linear modules, "LoRA Without Regret" (2025). */
const lora = z.strictObject({
  rank: z.int().min(1).default(32),
  alpha: z.number().positive().default(32),
  targets: z.union([z.literal("all-linear"), z.array(z.string().min(1)).min(1)]).default("all-linear"),
  /** How many layers have an adapter, counted from the last: fewer need less time and memory. Default: all. */
  layers: z.int().min(1).optional(),
  /** A folder in PEFT format: the adapter to continue training. Default: a new adapter. */
  from: acts.reads(z.string().min(1)).optional(),
  /**
   * The precision that the matrices of the frozen layers are held in. 8 bits take a quarter of the memory, 4 a sixth, and the sampler
   * then computes with them too.
   */
  base: z.enum(["float32", "int8", "int4"]).default("float32"),
});

/** ONNX Runtime on this machine. */
export const localSettings = z.strictObject({
  /**
   * The device that computes: the processor, the GPU through WebGPU or CUDA, or
   * the fastest of the first three that works.
   */
  device: z.enum(["cpu", "webgpu", "cuda", "auto"]).default("cpu"),
  /** CPU threads. */
  threads: z.int().min(1).max(1024).default(2),
  /**
   * The number of workers that make passes of training side by side, each with a thread of its own and its own copy of the weights. With as many
   * workers results are the same to the byte. Default 1.
   */
  workers: z.int().min(1).max(64).optional(),
  /** GiB that the engine may take. It plans what it holds from that, and from what is free. Default: what is free. */
  memory: z.number().positive().optional(),
  /** Longest sequence in tokens, context and action together. Default: the model's own. */
  maxLength: z.int().min(2).optional(),
  /** Trains an adapter instead of the model. Default: the model itself. */
  lora: lora.optional(),
  sampling: z
    .strictObject({
      /**
       * The precision that the sampler's products compute with. In 8 bits its log-probs differ from the trainer's, which a
       * correction accounts for.
       */
      weights: precision.default("float32"),
      /** GiB of keys and values that are kept of rollouts which wait for their next turn. What does not fit is computed again. */
      cacheGib: z.number().min(0).default(0.5),
    })
    .optional(),
});

export type LocalSettings = z.output<typeof localSettings>;

/** True for precisions of frozen layers that hold weights in fewer bits than they are trained in. */
export function isRounded(base: unknown): base is "int8" | "int4" {
  return base === "int8" || base === "int4";
}

/** Settings of the local engine that may exclude each other, of a configuration or of the engine's own options. */
export interface LocalChoice extends Pick<LocalSettings, "device" | "workers"> {
  readonly lora?: { readonly base?: string };
  readonly sampling?: { readonly weights?: string };
  /** Whether models run in another library than ONNX Runtime's binding for Node. */
  readonly otherRuntime?: boolean;
}

/** Conditions between settings of the local engine. */
export const localChecks: readonly Check<LocalChoice>[] = [
  {
    holds: ({ lora, sampling }) => !isRounded(lora?.base) || sampling?.weights !== "float32",
    setting: "sampling.weights",
    expected: '"int8" where lora.base is "int8" or "int4"',
    hint: 'The frozen layers are held in no other form: set lora.base to "float32" to sample with float32.',
  },
  {
    holds: ({ workers = 1, device, lora, otherRuntime = false }) =>
      workers === 1 || ((device === "cpu" || device === "auto") && !isRounded(lora?.base) && !otherRuntime),
    setting: "workers",
    expected: "1",
    hint: "Only sessions of float32 on the processor, in ONNX Runtime's binding for Node, can be made side by side.",
  },
];
