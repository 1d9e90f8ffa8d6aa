import { z } from "zod";
import { door } from "../../src/core/door.ts";
import type { TokenId } from "../../src/core/trajectory.ts";
import { parseBody } from "../http/body.ts";
import { optional, samplingFields, stopField } from "./parsed-request.ts";

/**
 * `POST /inference/v1/generate`: token ids in, token ids and log-probs out, as vLLM answers and verifiers' training client asks.
 * Source: renderers 0.1.12, renderers/client.py.
 */

const tokens = z.array(z.int().min(0));

const samplingSchema = door(
  "the sampling of token ids",
  {
    max_tokens: optional(z.int().min(1)),
    min_tokens: z.literal(0).nullish(),
    stop_token_ids: tokens.nullish(),
    stop: stopField,
    ...samplingFields,
    n: z.literal(1).nullish(),
    logprobs: z.literal([0, 1]).nullish(),
    ignore_eos: z.literal(false).nullish(),
  },
  {
    // How ids are shown as text, which they are not here.
    ignores: ["skip_special_tokens", "spaces_between_special_tokens", "detokenize", "include_stop_str_in_output", "output_kind"],
    neutral: {
      ...{ min_p: 0, presence_penalty: 0, frequency_penalty: 0, repetition_penalty: 1, logit_bias: {}, bad_words: [] },
      ...{ allowed_token_ids: [], skip_reading_prefix_cache: false },
    },
  },
);

const generateSchema = door(
  "a request in token ids",
  { model: z.string(), token_ids: tokens.min(1), sampling_params: samplingSchema.default({}) },
  { ignores: ["cache_salt", "priority", "request_id"], neutral: { stream: false } },
);

export interface GenerateRequest {
  readonly model: string;
  readonly context: readonly TokenId[];
  readonly maxTokens: number | undefined;
  readonly stopTokens: readonly TokenId[];
  readonly stopStrings: readonly string[];
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
  readonly seed: number | undefined;
}

export interface Generated {
  readonly tokens: readonly TokenId[];
  /** Under the distribution that was sampled. */
  readonly logprobs: readonly number[];
  readonly finish: "stop" | "length";
}

/** @throws HttpError (422) for requests of another form, and settings that could not be honoured */
export function readGenerate(body: Buffer): GenerateRequest {
  const { model, token_ids: context, sampling_params: parsed } = parseBody(body, generateSchema);
  const { max_tokens: maxTokens, stop_token_ids, stop, temperature, top_p: topP, top_k: topK, seed } = parsed;
  return {
    ...{ model, context, maxTokens, stopTokens: stop_token_ids ?? [], stopStrings: stop ?? [] },
    ...{ temperature, topP, topK, seed },
  };
}

/** @param id of the request */
export function writeGenerated(id: string, { tokens: ids, logprobs, finish }: Generated): object {
  const content = ids.map((token, i) => ({ token: `token_id:${token}`, logprob: logprobs[i], top_logprobs: [] }));
  return {
    request_id: id,
    choices: [{ index: 0, token_ids: ids, logprobs: { content }, finish_reason: finish }],
    prompt_logprobs: null,
  };
}

/** A model as `GET /v1/models` lists it. */
export function modelCard(id: string, maxLength: number): object {
  return { id, object: "model", created: 0, owned_by: "retrograde", root: id, max_model_len: maxLength };
}
