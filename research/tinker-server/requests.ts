import { z } from "zod";
import { door } from "../../src/core/door.ts";

/** JSON bodies of requests. The type says what the route says, and what users write about a model is for them. */
const said = { ignores: ["type"] };
const saidAndNoted = { ignores: ["type", "user_metadata"] };

const seqId = z.int().min(0).nullish();
/** Number of top candidates whose log-probs are returned for each token. */
const candidates = z
  .int()
  .min(0)
  .max(100)
  .nullish()
  .transform((k) => k ?? 0);
/** AdamW is the only optimiser. */
const optimizerConfig = door("an optimiser asked of a Tinker server", { type: z.literal("adamw") }).nullish();

/** There is one project here, and names are for pages. */
export const createSessionSchema = door(
  "create_session",
  { tags: z.array(z.string()).default([]) },
  { ignores: [...saidAndNoted.ignores, "sdk_version", "project_id", "display_name"] },
);
export const sessionSchema = door("session_heartbeat", { session_id: z.string() }, said);

export const createModelSchema = door(
  "create_model",
  {
    session_id: z.string(),
    model_seq_id: z.int().min(0).nullish(),
    base_model: z.string(),
    /** Absent, or of rank 0: the model itself is trained. */
    lora_config: door("lora_config of create_model", {
      rank: z.int().min(0),
      seed: z.int().nullish(),
      train_attn: z.boolean().default(true),
      train_mlp: z.boolean().default(true),
      train_unembed: z.boolean().default(true),
    }).nullish(),
    optimizer_config: optimizerConfig,
    model_role: z.literal("policy").nullish(),
  },
  saidAndNoted,
);

export const modelSchema = door("get_info and unload_model", { model_id: z.string() }, said);

const nonNegative = z.number().min(0);
export const optimStepSchema = door(
  "optim_step",
  {
    model_id: z.string(),
    seq_id: seqId,
    adam_params: door("adam_params of optim_step", {
      learning_rate: nonNegative.default(1e-4),
      beta1: nonNegative.lt(1).default(0.9),
      beta2: nonNegative.lt(1).default(0.95),
      eps: nonNegative.default(1e-12),
      weight_decay: nonNegative.default(0),
      /** 0 is none. */
      grad_clip_norm: nonNegative.default(0),
    }),
  },
  said,
);

export const saveWeightsSchema = door(
  "save_weights",
  {
    model_id: z.string(),
    seq_id: seqId,
    path: z.string().nullish(),
    overwrite: z.boolean().default(false),
  },
  saidAndNoted,
);

export const saveForSamplerSchema = door(
  "save_weights_for_sampler",
  {
    model_id: z.string(),
    seq_id: seqId,
    path: z.string().nullish(),
    sampling_session_seq_id: z.int().nullish(),
    kind: z.enum(["snapshot", "inflight"]).default("snapshot"),
  },
  saidAndNoted,
);

export const loadWeightsSchema = door(
  "load_weights",
  {
    model_id: z.string().nullish(),
    seq_id: seqId,
    session_id: z.string().nullish(),
    model_seq_id: z.int().min(0).nullish(),
    base_model: z.string().nullish(),
    path: z.string(),
    optimizer: z.boolean(),
    optimizer_config: optimizerConfig,
    weights_access_token: z.null().optional(),
  },
  saidAndNoted,
);

export const createSamplingSessionSchema = door(
  "create_sampling_session",
  {
    session_id: z.string(),
    sampling_session_seq_id: z.int(),
    base_model: z.string().nullish(),
    model_path: z.string().nullish(),
  },
  said,
);

const tokenId = z.int().min(0);
const chunk = door("a chunk of a prompt of asample", { tokens: z.array(tokenId) }, { neutral: { type: "encoded_text" } });
export const sampleSchema = door(
  "asample",
  {
    sampling_session_id: z.string().nullish(),
    seq_id: z.int().nullish(),
    base_model: z.string().nullish(),
    model_path: z.string().nullish(),
    prompt: door("a prompt of asample", { chunks: z.array(chunk) }),
    num_samples: z.int().min(1).max(1024).default(1),
    sampling_params: door("sampling_params of asample", {
      max_tokens: z.int().min(1).nullish(),
      temperature: nonNegative.default(1),
      top_k: z.int().min(-1).default(-1),
      top_p: z.number().gt(0).max(1).default(1),
      seed: z.int().min(0).nullish(),
      stop: z.union([z.string(), z.array(z.union([tokenId, z.string()]))]).nullish(),
    }),
    prompt_logprobs: z.boolean().nullish(),
    topk_prompt_logprobs: candidates,
    topk_sample_logprobs: candidates,
  },
  { ...said, neutral: { prompt_alt_tokens_k: 0, record_stability_info: false } },
);
export type SampleBody = z.output<typeof sampleSchema>;

/** Results are small enough to be sent whole. */
export const retrieveSchema = door("retrieve_future", { request_id: z.string() }, { ignores: ["type", "allow_metadata_only"] });
export const weightsInfoSchema = door("weights_info", { tinker_path: z.string() }, said);
