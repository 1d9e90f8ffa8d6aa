import { expect, test } from "vitest";
import type { z } from "zod";
import * as schemas from "./requests.ts";

const model = { model_id: "m" };
const ofSession = { session_id: "s" };

/** A body with the least that its route takes, and what it is read as. */
const least: readonly (readonly [string, z.ZodType, object, object])[] = [
  ["create_session", schemas.createSessionSchema, {}, { tags: [] }],
  ["session_heartbeat", schemas.sessionSchema, ofSession, ofSession],
  ["create_model", schemas.createModelSchema, { ...ofSession, base_model: "b" }, { ...ofSession, base_model: "b" }],
  ["get_info and unload_model", schemas.modelSchema, model, model],
  [
    "optim_step",
    schemas.optimStepSchema,
    { ...model, adam_params: {} },
    { ...model, adam_params: { learning_rate: 1e-4, beta1: 0.9, beta2: 0.95, eps: 1e-12, weight_decay: 0, grad_clip_norm: 0 } },
  ],
  ["save_weights", schemas.saveWeightsSchema, model, { ...model, overwrite: false }],
  ["save_weights_for_sampler", schemas.saveForSamplerSchema, model, { ...model, kind: "snapshot" }],
  ["load_weights", schemas.loadWeightsSchema, { path: "p", optimizer: true }, { path: "p", optimizer: true }],
  [
    "create_sampling_session",
    schemas.createSamplingSessionSchema,
    { ...ofSession, sampling_session_seq_id: 2 },
    { ...ofSession, sampling_session_seq_id: 2 },
  ],
  [
    "asample",
    schemas.sampleSchema,
    { prompt: { chunks: [{ tokens: [0, 5] }] }, sampling_params: {} },
    {
      ...{ prompt: { chunks: [{ tokens: [0, 5] }] }, num_samples: 1, topk_prompt_logprobs: 0, topk_sample_logprobs: 0 },
      sampling_params: { temperature: 1, top_k: -1, top_p: 1 },
    },
  ],
  ["retrieve_future", schemas.retrieveSchema, { request_id: "r" }, { request_id: "r" }],
  ["weights_info", schemas.weightsInfoSchema, { tinker_path: "p" }, { tinker_path: "p" }],
];

test.each(least)("%s: the least that it takes, its type, and nothing unknown", (name, schema, body, read) => {
  expect(schema.parse(body)).toEqual(read);
  expect(schema.parse({ ...body, type: "whatever" })).toMatchObject(read);
  const texts = Object.entries(body).filter(([, value]) => typeof value !== "object");
  for (const [key] of texts) expect(schema.safeParse({ ...body, [key]: {} }).success, key).toBe(false);
  expect(() => schema.parse({ ...body, unheard_of: 1 })).toThrow("unheard_of");
  if (Object.keys(body).length > 0) expect(schema.safeParse({}).success, name).toBe(false);
});

test.each([
  ["create_session", schemas.createSessionSchema, ["user_metadata", "sdk_version", "project_id", "display_name"]],
  ["create_model", schemas.createModelSchema, ["user_metadata"]],
  ["save_weights", schemas.saveWeightsSchema, ["user_metadata"]],
  ["save_weights_for_sampler", schemas.saveForSamplerSchema, ["user_metadata"]],
  ["load_weights", schemas.loadWeightsSchema, ["user_metadata"]],
  ["retrieve_future", schemas.retrieveSchema, ["allow_metadata_only"]],
] as const)("%s passes over what is for pages", (name, schema, keys) => {
  const body = least.find(([each]) => each === name)?.[2] ?? {};
  for (const key of keys) expect(schema.safeParse({ ...body, [key]: { a: 1 } }).success, key).toBe(true);
});

const adam = (adam_params: object) => ({ ...model, adam_params });
const sampled = (sampling_params: object, more: object = {}) => ({
  ...{ prompt: { chunks: [{ tokens: [1], type: "encoded_text" }] }, sampling_params },
  ...more,
});
const created = (more: object) => ({ ...ofSession, base_model: "b", ...more });

test.each<[string, z.ZodType, readonly object[], readonly object[]]>([
  [
    "create_model",
    schemas.createModelSchema,
    [
      ...[{ model_seq_id: 0 }, { model_seq_id: null }, { lora_config: null }, { lora_config: { rank: 0, seed: null } }],
      ...[{ lora_config: { rank: 8, seed: 1, train_attn: false, train_mlp: false, train_unembed: false } }],
      ...[{ optimizer_config: { type: "adamw" } }, { optimizer_config: null }, { model_role: "policy" }, { model_role: null }],
    ].map(created),
    [
      ...[{ model_seq_id: -1 }, { lora_config: {} }, { lora_config: { rank: -1 } }, { lora_config: { rank: 1, alpha: 2 } }],
      ...[{ optimizer_config: { type: "sgd" } }, { optimizer_config: { type: "adamw", momentum: 1 } }, { model_role: "critic" }],
    ].map(created),
  ],
  [
    "optim_step",
    schemas.optimStepSchema,
    [{ learning_rate: 0 }, { beta1: 0, beta2: 0.999 }, { eps: 0, weight_decay: 0, grad_clip_norm: 2 }].map(adam),
    [
      ...[{ learning_rate: -1 }, { beta1: 1 }, { beta2: 1 }, { beta1: -0.1 }, { eps: -1 }, { weight_decay: -1 }],
      ...[{ grad_clip_norm: -1 }, { nesterov: true }],
    ].map(adam),
  ],
  ["numbers of requests", schemas.saveWeightsSchema, [{ ...model, seq_id: 0 }], [{ ...model, seq_id: -1 }]],
  [
    "save_weights_for_sampler",
    schemas.saveForSamplerSchema,
    [{ kind: "inflight" }, { path: null, sampling_session_seq_id: null }, { path: "p" }].map((more) => ({ ...model, ...more })),
    [{ kind: "other" }, { path: 1 }].map((more) => ({ ...model, ...more })),
  ],
  [
    "load_weights",
    schemas.loadWeightsSchema,
    [
      { model_id: null, session_id: "s", model_seq_id: 0, base_model: "b", weights_access_token: null },
      { model_id: "m", seq_id: 1, optimizer_config: { type: "adamw" } },
    ].map((more) => ({ path: "p", optimizer: false, ...more })),
    [{ weights_access_token: "t" }, { model_seq_id: -1 }].map((more) => ({ path: "p", optimizer: false, ...more })),
  ],
  [
    "asample",
    schemas.sampleSchema,
    [
      ...[
        { max_tokens: 1 },
        { max_tokens: null },
        { temperature: 0 },
        { top_k: 0 },
        { top_p: 0.01 },
        { seed: 0 },
        { seed: null },
      ],
      ...[{ stop: "a" }, { stop: ["a", 3] }, { stop: null }],
    ].map((params) => sampled(params)),
    [
      ...[{ max_tokens: 0 }, { temperature: -1 }, { top_k: -2 }, { top_p: 0 }, { top_p: 1.01 }, { seed: -1 }, { stop: 3 }],
      ...[{ stop: [-1] }, { stop: [{}] }, { presence_penalty: 1 }],
    ].map((params) => sampled(params)),
  ],
  [
    "asample, of its prompt and number",
    schemas.sampleSchema,
    [
      ...[{ num_samples: 1024 }, { topk_prompt_logprobs: 100 }, { topk_sample_logprobs: null }, { prompt_logprobs: null }],
      ...[{ prompt_alt_tokens_k: 0 }, { record_stability_info: false }],
    ].map((more) => sampled({}, more)),
    [
      ...[{ num_samples: 0 }, { num_samples: 1025 }, { topk_prompt_logprobs: 101 }, { topk_sample_logprobs: -1 }],
      ...[{ prompt_alt_tokens_k: 1 }, { record_stability_info: true }, { prompt: { chunks: [{ tokens: [-1] }] } }],
      ...[{ prompt: { chunks: [{ type: "image", tokens: [1] }] } }, { prompt: { chunks: [], extra: 1 } }],
    ].map((more) => sampled({}, more)),
  ],
])("%s at its bounds", (_, schema, taken, refused) => {
  for (const body of taken) expect(schema.safeParse(body).error?.message, JSON.stringify(body)).toBeUndefined();
  for (const body of refused) expect(schema.safeParse(body).success, JSON.stringify(body)).toBe(false);
});

test("what a door refuses names the request", () => {
  const refusals = [
    ...least.map(([name, schema, body]) => [name, schema, { ...body, unheard_of: 1 }] as const),
    ["lora_config of create_model", schemas.createModelSchema, created({ lora_config: { rank: 1, alpha: 2 } })] as const,
    [
      "an optimiser asked of a Tinker server",
      schemas.createModelSchema,
      created({ optimizer_config: { type: "adamw", a: 1 } }),
    ] as const,
    ["adam_params of optim_step", schemas.optimStepSchema, adam({ nesterov: true })] as const,
    ["a prompt of asample", schemas.sampleSchema, sampled({}, { prompt: { chunks: [], extra: 1 } })] as const,
    [
      "a chunk of a prompt of asample",
      schemas.sampleSchema,
      sampled({}, { prompt: { chunks: [{ tokens: [1], extra: 1 }] } }),
    ] as const,
    ["sampling_params of asample", schemas.sampleSchema, sampled({ presence_penalty: 1 })] as const,
  ];
  for (const [name, schema, body] of refusals) expect(schema.safeParse(body).error?.message, name).toContain(name);
});
