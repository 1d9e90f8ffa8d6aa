import { z } from "zod";

/** JSON bodies of requests. Fields that a client may send and that change nothing here are listed: an unknown one is refused by name. */

const seqId = z.int().min(0).nullish();
const metadata = z.record(z.string(), z.unknown()).nullish();
const type = z.string().optional();
/** After which a checkpoint is gone. At most a hundred years: dates end. */
const ttlSeconds = z.int().min(1).max(3_155_760_000).nullish();
/** Number of top candidates whose log-probs are returned for each token. */
const candidates = z
  .int()
  .min(0)
  .max(100)
  .nullish()
  .transform((k) => k ?? 0);
/** AdamW is the only optimiser. */
const optimizerConfig = z.looseObject({ type: z.literal("adamw") }).nullish();

export const createSessionSchema = z.looseObject({ tags: z.array(z.string()).default([]), sdk_version: z.string().nullish() });
export const sessionSchema = z.looseObject({ session_id: z.string() });

export const createModelSchema = z.strictObject({
  session_id: z.string(),
  model_seq_id: z.int().min(0).nullish(),
  base_model: z.string(),
  /** Absent, or of rank 0: the model itself is trained. */
  lora_config: z
    .strictObject({
      rank: z.int().min(0),
      seed: z.int().nullish(),
      train_attn: z.boolean().default(true),
      train_mlp: z.boolean().default(true),
      train_unembed: z.boolean().default(true),
    })
    .nullish(),
  user_metadata: metadata,
  optimizer_config: optimizerConfig,
  model_role: z.literal("policy").nullish(),
  type,
});

export const modelSchema = z.looseObject({ model_id: z.string() });

const nonNegative = z.number().min(0);
export const optimStepSchema = z.strictObject({
  model_id: z.string(),
  seq_id: seqId,
  adam_params: z.strictObject({
    learning_rate: nonNegative.default(1e-4),
    beta1: nonNegative.lt(1).default(0.9),
    beta2: nonNegative.lt(1).default(0.95),
    eps: nonNegative.default(1e-12),
    weight_decay: nonNegative.default(0),
    /** 0 is none. */
    grad_clip_norm: nonNegative.default(0),
  }),
  type,
});

export const saveWeightsSchema = z.strictObject({
  model_id: z.string(),
  seq_id: seqId,
  path: z.string().nullish(),
  overwrite: z.boolean().default(false),
  ttl_seconds: ttlSeconds,
  user_metadata: metadata,
  type,
});

export const saveForSamplerSchema = z.strictObject({
  model_id: z.string(),
  seq_id: seqId,
  path: z.string().nullish(),
  sampling_session_seq_id: z.int().nullish(),
  kind: z.enum(["snapshot", "inflight"]).default("snapshot"),
  ttl_seconds: ttlSeconds,
  user_metadata: metadata,
  type,
});

export const saveExternalSchema = z.strictObject({
  model_id: z.string(),
  seq_id: seqId,
  path: z.string(),
  ttl_seconds: ttlSeconds,
  /** Files are not encrypted here. */
  age_encryption_recipients: z.array(z.string()).max(0).nullish(),
  type,
});

export const loadWeightsSchema = z.strictObject({
  model_id: z.string().nullish(),
  seq_id: seqId,
  session_id: z.string().nullish(),
  model_seq_id: z.int().min(0).nullish(),
  base_model: z.string().nullish(),
  path: z.string(),
  optimizer: z.boolean(),
  optimizer_config: optimizerConfig,
  user_metadata: metadata,
  weights_access_token: z.null().optional(),
  type,
});

export const createSamplingSessionSchema = z.strictObject({
  session_id: z.string(),
  sampling_session_seq_id: z.int(),
  base_model: z.string().nullish(),
  model_path: z.string().nullish(),
  type,
});

const tokenId = z.int().min(0);
export const sampleSchema = z.strictObject({
  sampling_session_id: z.string().nullish(),
  seq_id: z.int().nullish(),
  base_model: z.string().nullish(),
  model_path: z.string().nullish(),
  prompt: z.object({ chunks: z.array(z.object({ type: z.literal("encoded_text").optional(), tokens: z.array(tokenId) })) }),
  num_samples: z.int().min(1).max(1024).default(1),
  sampling_params: z.strictObject({
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
  prompt_logprobs_last_n: z.int().min(1).nullish(),
  /** Row i has ids to score behind token i of the prompt; −1 asks for nothing. With the two lists of indices, listed cells alone (CSR). */
  target_prompt_logprobs: z
    .strictObject({
      data: z.array(z.int().min(-1)).max(4096),
      dtype: z.literal("int64"),
      shape: z.tuple([z.int().min(0), z.int().min(0)]),
      sparse_crow_indices: z.array(z.int().min(0)).nullish(),
      sparse_col_indices: z.array(z.int().min(0)).nullish(),
    })
    .nullish(),
  prompt_alt_tokens_k: z.int().nullish(),
  record_stability_info: z.boolean().nullish(),
  type,
});
export type SampleBody = z.output<typeof sampleSchema>;

export const retrieveSchema = z.looseObject({ request_id: z.string(), allow_metadata_only: z.boolean().optional() });
export const retrieveManySchema = z.strictObject({
  target: z.strictObject({
    type: z.literal("sampling_session").optional(),
    sampling_session_id: z.string(),
    cloned_sampler_id: z.int().min(0).default(0),
  }),
  prev_cursor: z.int().min(0).default(0),
  /** In seconds. */
  timeout: z.number().min(0).nullish(),
  /** Results are forgotten by their age. */
  retrieved_request_ids: z.array(z.string()).default([]),
});
export const copyWeightsSchema = z.strictObject({
  session_id: z.string().nullish(),
  model_seq_id: z.int().min(0).nullish(),
  /** There is one project here. */
  destination_project_id: z.string().nullish(),
  source_path: z.string(),
  ttl_seconds: z.int().min(3600).nullish(),
});
export const weightsInfoSchema = z.looseObject({ tinker_path: z.string() });
