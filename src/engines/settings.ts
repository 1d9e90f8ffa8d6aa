import { z } from "zod";

/**
 * The engines that a configuration can choose, by `kind`, each with its own settings. A new kind is an option here and a case in
 * sdk/engine.ts.
 */

/** LoRA (arXiv:2106.09685). Defaults: rank 32, Tinker's training clients; alpha 32 and all linear modules, "LoRA Without Regret" (2025). */
const lora = z.strictObject({
  rank: z.int().min(1).default(32),
  alpha: z.number().positive().default(32),
  targets: z.union([z.literal("all-linear"), z.array(z.string().min(1)).min(1)]).default("all-linear"),
  /** A folder in PEFT format: the adapter to continue training. Default: a new adapter. */
  from: z.string().min(1).optional(),
});

/** ONNX Runtime on this machine. */
const local = z.strictObject({
  kind: z.literal("local"),
  /** What computes: the processor, the GPU through WebGPU or CUDA, or the fastest of those that work. */
  device: z.enum(["cpu", "webgpu", "cuda", "auto"]).default("cpu"),
  /** CPU threads. */
  threads: z.int().min(1).default(2),
  /** Trains an adapter instead of the model. Default: the model itself. */
  lora: lora.optional(),
});

/** A Tinker server: the hosted service, SkyRL, TuFT, or `retrograde serve --tinker`. Its key is in TINKER_API_KEY. */
const tinker = z.strictObject({
  kind: z.literal("tinker"),
  /** Without /api/v1. */
  url: z.url({ protocol: /^https?$/ }),
  /** Name of the base model there. Its tokenizer is read from the setting `model`. */
  model: z.string().min(1),
  /** Of the LoRA adapter. 0 trains the model itself, where a server can. */
  rank: z.int().min(0).default(32),
  /** Longest sequence in tokens, if the server does not say. */
  maxLength: z.int().min(2).default(32_768),
  /** Samples in flight at once. */
  inFlight: z.int().min(1).default(64),
});

export const engineSchema = z.discriminatedUnion("kind", [local, tinker]);
export type EngineConfig = z.output<typeof engineSchema>;
export type EngineKind = EngineConfig["kind"];
export type TinkerEngineConfig = Extract<EngineConfig, { kind: "tinker" }>;
export type LocalEngineConfig = Extract<EngineConfig, { kind: "local" }>;

/** The engine of a configuration that names none. */
export const defaultEngine = { kind: "local" } as const satisfies z.input<typeof engineSchema>;
