import { z } from "zod";

/** JSON answers, as far as they are read. Servers add fields of their own. */

export const capabilitiesSchema = z.looseObject({
  supported_models: z.array(
    z.looseObject({ model_name: z.string().nullish(), max_context_length: z.int().positive().nullish() }),
  ),
});

export const clientConfigSchema = z.looseObject({
  pjwt_auth_enabled: z.boolean().default(false),
  fwdbwd_max_chunk_len: z.int().positive().default(1024),
  fwdbwd_max_chunk_bytes_count: z.int().positive().default(5_000_000),
});

export const tokenSchema = z.looseObject({ jwt: z.string() });

export const sessionSchema = z.looseObject({
  session_id: z.string(),
  info_message: z.string().nullish(),
  warning_message: z.string().nullish(),
  error_message: z.string().nullish(),
});

/** Request ids are opaque texts; servers answer 4xx to anything else. */
export const acknowledgementSchema = z.looseObject({ request_id: z.string() });

export const createdModelSchema = z.looseObject({ model_id: z.string() });

/** A norm of null is one that is not finite. */
export const optimStepSchema = z.looseObject({ metrics: z.record(z.string(), z.number().nullable()).nullish() });

export const savedSchema = z.looseObject({ path: z.string() });

export const weightsInfoSchema = z.looseObject({ base_model: z.string(), is_lora: z.boolean(), lora_rank: z.int().nullish() });

/** The answer of `retrieve_future` instead of a result. */
export const tryAgainSchema = z.looseObject({ type: z.literal("try_again"), queue_state: z.string().nullish() });
export const failedSchema = z.looseObject({
  error: z.string(),
  category: z.enum(["user", "server", "unknown"]).catch("unknown"),
});
export const metadataSchema = z.looseObject({ status: z.literal("complete_metadata") });
