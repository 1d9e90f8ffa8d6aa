import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import type { Check } from "../../src/core/settings.ts";
import { precisions } from "./machine/device.ts";

const samplerPrecision = z.enum(["float32", "int8"]);

/** LoRA (arXiv:2106.09685). Defaults: rank 32, Tinker's training clients; alpha 32 and all linear modules, "LoRA Without Regret" (2025). */
const lora = z.strictObject({
  rank: z.int().min(1).default(32).describe("r: rows of A and columns of B"),
  alpha: z.number().positive().default(32).describe("B·A counts alpha/rank times"),
  targets: z
    .union([z.literal("all-linear"), z.array(z.string().min(1)).min(1)])
    .default("all-linear")
    .describe(
      "modules with an adapter: `all-linear`, or a list of `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj`, `down_proj`",
    ),
  layers: z.int().min(1).optional().describe("layers with an adapter, counted from the last; all if omitted"),
  from: acts
    .reads(z.string().min(1))
    .optional()
    .describe("a PEFT folder: the adapter to continue, with the same rank, alpha, targets and layers"),
  base: z
    .enum(["float32", "int8", "int4"])
    .default("float32")
    .describe(
      "precision of the frozen matrices: `float32`, `int8` (a quarter of the memory) or `int4` (a sixth) ([lora.md](lora.md#a-base-in-8-or-4-bits))",
    ),
});

/** ONNX Runtime on this machine. */
export const localSettings = z.strictObject({
  device: z
    .enum(["cpu", "webgpu", "cuda", "auto"])
    .default("cpu")
    .describe("`cpu`, `webgpu` (any GPU, without CUDA), `cuda`, or `auto`, the fastest of the three ([gpu.md](gpu.md))"),
  precision: z
    .enum(precisions)
    .optional()
    .describe("products on CUDA: `float32`, `tf32` or `bfloat16` ([gpu.md](gpu.md#cuda)). Default `float32`"),
  threads: z.int().min(1).max(1024).default(2).describe("CPU threads"),
  memory: z
    .number()
    .positive()
    .optional()
    .describe("GiB that the engine plans with ([engine.md](engine.md#memory-plan)); what is free if omitted"),
  maxLength: z.int().min(2).optional().describe("tokens of the longest sequence; the model's own limit if omitted"),
  /** Trains an adapter instead of the model. Default: the model itself. */
  lora: lora.optional(),
  sampling: z
    .strictObject({
      weights: samplerPrecision
        .default("float32")
        .describe(
          "the sampler's precision: `float32`, or `int8` ([engine.md](engine.md#sampling-in-8-bits)); `int8` where the base is rounded",
        ),
      cacheGib: z
        .number()
        .min(0)
        .optional()
        .describe(
          "GiB of keys and values kept for rollouts that wait for their next turn. Default 0.5, and on an NVIDIA GPU a fifth of what is free",
        ),
    })
    .optional(),
});

export type LocalSettings = z.output<typeof localSettings>;

/** True for precisions of frozen layers that hold weights in fewer bits than they are trained in. */
export function isRounded(base: unknown): base is "int8" | "int4" {
  return base === "int8" || base === "int4";
}

/** Settings of the local engine that may exclude each other, of a configuration or of the engine's own options. */
export interface LocalChoice extends Pick<LocalSettings, "device" | "precision"> {
  readonly lora?: { readonly base?: string };
  readonly sampling?: { readonly weights?: string };
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
    holds: ({ precision = "float32", device }) => precision === "float32" || device === "cuda" || device === "auto",
    setting: "precision",
    expected: '"float32", as device is not "cuda"',
    hint: "ONNX Runtime multiplies in fewer bits on CUDA alone.",
  },
];
