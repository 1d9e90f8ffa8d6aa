import { z } from "zod";
import { acts } from "../core/acts.ts";
import type { Check } from "../core/settings.ts";
import { longestTimer } from "../core/timer.ts";

/**
 * The engines that a configuration can choose, by `kind`, each with its own settings. A new kind is an option here and a case in
 * sdk/engine.ts.
 */

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
const local = z.strictObject({
  kind: z.literal("local"),
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

/** A Tinker server: the hosted service, SkyRL, TuFT, or `retrograde-rl serve --tinker`. Its key is in TINKER_API_KEY. */
const tinker = z.strictObject({
  kind: z.literal("tinker"),
  /** Without /api/v1. */
  url: acts.address(z.url({ protocol: /^https?$/ }), () => "TINKER_API_KEY"),
  /** Name of the base model there. Its tokenizer is read from the setting `model`. */
  model: z.string().min(1),
  /** The rank of the LoRA adapter. 0 trains the model itself, where a server can. */
  rank: z.int().min(0).default(32),
  /** Longest sequence in tokens, if the server does not say. */
  maxLength: z.int().min(2).default(32_768),
  /** Adam's settings of a server that takes none from requests, as it was started. Default: those of SkyRL 0.4.0. */
  adam: z
    .strictObject({
      beta1: z.number().min(0).lt(1).default(0.9),
      beta2: z.number().min(0).lt(1).default(0.999),
      epsilon: z.number().positive().default(1e-8),
      weightDecay: z.number().min(0).default(0.01),
    })
    .optional(),
  /** Samples in flight at once. */
  inFlight: z.int().min(1).default(64),
});

const price = z.number().min(0);

/** A model behind a server of the chat-completions protocol: messages without tokens. It is evaluated, and never trained. */
const openai = z.strictObject({
  kind: z.literal("openai"),
  /** Up to, and without, /chat/completions: such as "http://localhost:8000/v1". */
  baseUrl: acts.address(z.url({ protocol: /^https?$/, error: "an http or https URL" }), (url) =>
    new URL(url).host === "api.openai.com" ? "OPENAI_API_KEY" : undefined,
  ),
  /** Name of the model there. The setting `model` if left out. */
  model: z.string().min(1).optional(),
  /**
   * The environment variable that holds the API key; null sends none. If left out, OPENAI_API_KEY for api.openai.com and none for others. The key
   * itself is never written anywhere.
   */
  apiKeyEnv: acts
    .variable(z.string().regex(/^[A-Z_][A-Z0-9_]*$/, "the name of an environment variable, in capitals"))
    .nullable()
    .optional(),
  /** The timeout of one answer. */
  timeoutMs: z.int().min(1).max(longestTimer).default(120_000),
  /** The number of retries of a request that met 408, 409, 425, 429, a 5xx, nonsense or a broken connection. */
  retries: z.int().min(0).default(4),
  /** Before the first of them, doubled each time up to 8 seconds; a wait that the server asks for is taken instead. */
  retryDelayMs: z.int().min(0).max(longestTimer).default(500),
  /** The request's limit of tokens. Newer models of OpenAI take "max_completion_tokens" alone. */
  maxTokensField: z.enum(["max_tokens", "max_completion_tokens"]).default("max_tokens"),
  /**
   * How a text protocol of one growing message continues: "messages" gives results as messages of the user; "prefill" lets the server continue the
   * message (`continue_final_message` of vLLM and SGLang).
   */
  growing: z.enum(["messages", "prefill"]).default("messages"),
  /** Further fields of each request, such as reasoning_effort. null leaves out a field that is sent otherwise, such as seed. */
  request: z.record(z.string(), z.unknown()).default({}),
  /** For a million tokens, in any currency: reports then have the cost. */
  prices: z.strictObject({ input: price, output: price, currency: z.string().min(1).default("USD") }).optional(),
});

export const engineSchema = z.discriminatedUnion("kind", [local, tinker, openai]);
export type EngineConfig = z.output<typeof engineSchema>;
export type EngineKind = EngineConfig["kind"];
export type OpenaiEngineConfig = Extract<EngineConfig, { kind: "openai" }>;
export type TinkerEngineConfig = Extract<EngineConfig, { kind: "tinker" }>;
export type LocalEngineConfig = Extract<EngineConfig, { kind: "local" }>;

/** The engine of a configuration that names none. */
export const defaultEngine = { kind: "local" } as const satisfies z.input<typeof engineSchema>;

/** True for precisions of frozen layers that hold weights in fewer bits than they are trained in. */
export function isRounded(base: unknown): base is "int8" | "int4" {
  return base === "int8" || base === "int4";
}

/** Settings of the local engine that may exclude each other, of a configuration or of the engine's own options. */
export interface LocalChoice extends Pick<LocalEngineConfig, "device" | "workers"> {
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
