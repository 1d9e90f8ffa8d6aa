import { randomUUID } from "node:crypto";
import { parseBody } from "../../extensions/http/body.ts";
import { HttpError } from "../../extensions/http/http-error.ts";
import type { Reply } from "../../extensions/http/server.ts";
import type { ForwardBackwardRequest } from "../../extensions/tinker/client/wire/forward-backward.ts";
import { ShapeError } from "../../src/core/errors.ts";
import {
  type CheckpointPath,
  formatCheckpointPath,
  parseCheckpointKind,
  parseCheckpointName,
  parseCheckpointPath,
  parseModelId,
} from "./checkpoints.ts";
import type { ServedModel, Trained } from "./local-model.ts";
import { requirePass } from "./passes.ts";
import * as schemas from "./requests.ts";
import type { SamplerSource } from "./samplers.ts";
import { checkSample, drawSamples } from "./sampling.ts";
import { adapterReply, fingerprintOf, modelReply, requireFit, type Service } from "./service.ts";
import { archive } from "./tar.ts";
import { decodeForwardBackward, encodeForwardBackwardResult, encodeSamples } from "./wire.ts";

export interface RouteRequest {
  readonly body: Buffer;
  readonly contentType: string;
}
export type Route = (service: Service, request: RouteRequest) => Reply | Promise<Reply>;

/** Scale of an adapter, α/rank·B·A: fixed, as the hosted service and SkyRL have it. */
const alpha = 32;
/** Longest that one poll is held: clients give up after 45 s. */
const pollMs = 20_000;

const acknowledged = (requestId: string, more: object = {}): Reply => ({ json: { request_id: requestId, ...more } });

/** What clients read, behind /api/v1/. @returns undefined if there is no such route */
export async function getRoute(service: Service, parts: readonly string[]): Promise<Reply | undefined> {
  const [first, second, third, ...rest] = parts;
  if (parts.length === 1 && first === "healthz") return { json: { status: "ok" } };
  if (parts.length === 1 && first === "get_server_capabilities") return { json: capabilities(service) };
  if (parts.length === 2 && first === "samplers" && second !== undefined) {
    const { base, path } = samplingOf(service, second);
    return { json: { sampler_id: second, base_model: base.name, model_path: path ?? null } };
  }
  const [action, name, kind = "sampler_weights", ...more] = rest.reverse();
  const isCheckpoint = first === "training_runs" && third === "checkpoints" && name !== undefined && more.length === 0;
  if (!isCheckpoint || (action !== "archive" && action !== "download")) return undefined;
  const { folder } = await service.store.find(checkpointOf(second, kind, name));
  if (action === "archive") return { location: `/api/v1/${[...parts.slice(0, -1), "download"].join("/")}` };
  return { bytes: await archive(folder), type: "application/octet-stream" };
}

/** @returns undefined if there is no such route */
export async function deleteRoute(service: Service, parts: readonly string[]): Promise<Reply | undefined> {
  const [first, model, third, kind, name] = parts;
  if (first !== "training_runs" || third !== "checkpoints" || parts.length !== 5) return undefined;
  const path = checkpointOf(model, kind, name);
  await service.store.remove(path);
  await service.samplers.drop(formatCheckpointPath(path));
  return { status: 204 };
}

function checkpointOf(model = "", kind = "", name = ""): CheckpointPath {
  return { model: parseModelId(model), kind: parseCheckpointKind(kind), name: parseCheckpointName(name) };
}

function capabilities({ options }: Service): object {
  const supported_models = options.models.map(({ name, maxLength }) => ({
    model_name: name,
    max_context_length: maxLength,
    trainable: true,
    sampleable: true,
  }));
  return { supported_models };
}

/** Routes that clients post to, behind /api/v1/. */
export const postRoutes: Readonly<Record<string, Route>> = {
  "client/config": () => ({
    json: {
      ...{ pjwt_auth_enabled: false, proto_compress_fwdbwd: false, use_pyqwest_transport: false },
      ...{ sample_use_retrieve_futures: false, custom_loss_server_side: false },
    },
  }),
  "client/dynamic_config": () => ({ json: { sample_cancel_enabled: true } }),
  telemetry: () => ({ json: { status: "accepted" } }),

  create_session: (service, { body }) => {
    parseBody(body, schemas.createSessionSchema);
    const info_message = "Adapters have no part in the unembedding here: train_unembed is not honoured.";
    const session_id = service.openSession();
    return { json: { type: "create_session", session_id, info_message, warning_message: null, error_message: null } };
  },

  session_heartbeat: (service, { body }) => {
    service.requireSession(parseBody(body, schemas.sessionSchema).session_id, 410);
    return { json: { type: "session_heartbeat" } };
  },

  create_model: (service, { body }) => {
    const { session_id, model_seq_id, base_model, lora_config } = parseBody(body, schemas.createModelSchema);
    service.requireSession(session_id);
    const base = service.samplers.base(base_model);
    const id = parseModelId(`${session_id}:train:${model_seq_id ?? service.nextNumber(session_id)}`);
    const trained = trainedBy(lora_config, base);
    const reply = modelReply(id, base, trained);
    return acknowledged(service.createModel({ id, session: session_id, base, trained }, reply), reply);
  },

  get_info: (service, { body }) => {
    const { id, base, trained } = service.model(parseBody(body, schemas.modelSchema).model_id).identity;
    return {
      json: {
        type: "get_info",
        model_id: id,
        model_name: base.name,
        model_data: { arch: base.architecture, model_name: base.name, tokenizer_id: base.folder, base_model: base.name },
        is_lora: trained !== "full",
        lora_rank: trained === "full" ? null : trained.rank,
        ...(trained === "full" ? {} : { lora_config: adapterReply(trained, base) }),
      },
    };
  },

  unload_model: (service, { body }) => {
    const { model_id } = parseBody(body, schemas.modelSchema);
    service.model(model_id);
    const id = service.later(async () => {
      await service.unload(model_id);
      return { json: { type: "unload_model", model_id, status: "unloaded" } };
    });
    return acknowledged(id, { model_id });
  },

  forward_backward: (service, { body, contentType }) => {
    if (!contentType.startsWith("application/x-protobuf")) {
      const hint = "Upgrade the client: JSON passes are of an earlier protocol (tinker SDK below 0.25).";
      throw new HttpError(415, "content-type of forward_backward", contentType, { expected: "application/x-protobuf", hint });
    }
    const request = decoded(body);
    const model = service.model(request.modelId);
    const work = async () => {
      const result = await model.pass(request);
      return { protobuf: encodeForwardBackwardResult(result, request.lossFn) };
    };
    const check = () => requirePass(request, model.identity.base);
    const backward = !request.forwardOnly;
    return acknowledged(
      service.inOrder(model, request.seqId, fingerprintOf("forward_backward", body), check, work, { backward }),
      { model_id: request.modelId },
    );
  },

  optim_step: (service, { body }) => {
    const { model_id, seq_id, adam_params: adam } = parseBody(body, schemas.optimStepSchema);
    const model = service.model(model_id);
    const options = {
      learningRate: adam.learning_rate,
      beta1: adam.beta1,
      beta2: adam.beta2,
      epsilon: adam.eps,
      weightDecay: adam.weight_decay,
      clipNorm: adam.grad_clip_norm === 0 ? Number.POSITIVE_INFINITY : adam.grad_clip_norm,
    };
    const check = () => {};
    const work = async () => {
      const { gradientNorm, learningRate } = await model.step(options);
      return { json: { metrics: { grad_norm: gradientNorm, learning_rate: learningRate } } };
    };
    return acknowledged(service.inOrder(model, seq_id, fingerprintOf("optim_step", body), check, work), { model_id });
  },

  save_weights: (service, { body }) => {
    const { model_id, seq_id, path: name, overwrite } = parseBody(body, schemas.saveWeightsSchema);
    const model = service.model(model_id);
    const given = name ?? `step-${model.steps}-${randomUUID().slice(0, 8)}`;
    const check = () => service.store.take(checkpointOf(model.identity.id, "weights", given), overwrite);
    const work = async (path: CheckpointPath) => {
      await model.save(service.store, path, true);
      return { json: { type: "save_weights", path: formatCheckpointPath(path) } };
    };
    return acknowledged(service.inOrder(model, seq_id, fingerprintOf("save_weights", body), check, work), { model_id });
  },

  save_weights_for_sampler: (service, { body }) => {
    const { model_id, seq_id, path: given, sampling_session_seq_id } = parseBody(body, schemas.saveForSamplerSchema);
    const model = service.model(model_id);
    const { session, base } = model.identity;
    const name = given ?? `session-${sampling_session_seq_id ?? 0}-${randomUUID().slice(0, 8)}`;
    const check = () => service.store.take(checkpointOf(model.identity.id, "sampler_weights", name), false);
    const work = async (path: CheckpointPath) => {
      await model.saveForSampler(service.store, service.samplers, path);
      const saved = { type: "save_weights_for_sampler", path: formatCheckpointPath(path), sampling_session_id: null };
      if (given != null) return { json: saved };
      const id = `${session}:sample:${name}`;
      service.samplings.set(id, { base, path: formatCheckpointPath(path) });
      return { json: { ...saved, path: null, sampling_session_id: id } };
    };
    return acknowledged(service.inOrder(model, seq_id, fingerprintOf("save_for_sampler", body), check, work), { model_id });
  },

  load_weights: async (service, { body }) => {
    const request = parseBody(body, schemas.loadWeightsSchema);
    const { model_id, session_id, model_seq_id, seq_id, path, optimizer, base_model } = request;
    if (model_id == null) {
      if (session_id == null)
        throw new HttpError(422, "model_id", undefined, { expected: "model_id, or session_id with model_seq_id" });
      service.requireSession(session_id);
      const id = parseModelId(`${session_id}:train:${model_seq_id ?? service.nextNumber(session_id)}`);
      return acknowledged(await service.createFromCheckpoint(id, session_id, path, optimizer, base_model), { model_id: id });
    }
    const model = service.model(model_id);
    const fingerprint = fingerprintOf("load_weights", body);
    const known = model.sequencer.repeated(model.sequencer.numberOf(seq_id), fingerprint);
    if (known !== undefined) return acknowledged(known, { model_id });
    const checkpoint = await service.store.find(parseCheckpointPath(path, "weights"));
    requireFit(checkpoint, model.identity.trained, optimizer);
    const check = () => {
      if (model.sequencer.fresh) return;
      const hint = "Create another model, and load the weights as its first request.";
      throw new HttpError(422, "load_weights", "not the first request of its model", { hint });
    };
    const work = async () => {
      await model.load(checkpoint, optimizer);
      return { json: { type: "load_weights", path } };
    };
    return acknowledged(service.inOrder(model, seq_id, fingerprint, check, work), { model_id });
  },

  create_sampling_session: async (service, { body }) => {
    const request = parseBody(body, schemas.createSamplingSessionSchema);
    service.requireSession(request.session_id);
    const id = `${request.session_id}:sample:${request.sampling_session_seq_id}`;
    service.samplings.set(id, await service.samplers.source(request));
    return { json: { type: "create_sampling_session", sampling_session_id: id } };
  },

  asample: async (service, { body }) => {
    const request = parseBody(body, schemas.sampleSchema);
    const source = await sourceOf(service, request);
    const call = checkSample(request, source.base);
    const stopped = new AbortController();
    const id = service.later(async () => ({
      protobuf: encodeSamples(await service.samplers.use(source, (sampler) => drawSamples(sampler, call, stopped.signal))),
    }));
    service.cancellable.set(id, stopped);
    const sequences = Array.from({ length: call.samples }, (_, n) => `${id}:${n}`);
    return acknowledged(id, { sample_sequence_ids: sequences });
  },

  cancel_future: (service, { body }) => {
    service.cancellable.get(parseBody(body, schemas.retrieveSchema).request_id)?.abort();
    return { json: {} };
  },

  retrieve_future: async (service, { body }) => {
    const { request_id } = parseBody(body, schemas.retrieveSchema);
    const outcome = await service.futures.retrieve(request_id, pollMs);
    if (outcome === undefined)
      throw new HttpError(404, "future", request_id, { expected: "a request of this server, not long ago" });
    if (outcome === "pending") return { json: { type: "try_again", request_id, queue_state: "active" } };
    service.cancellable.delete(request_id);
    if ("protobuf" in outcome) return { bytes: outcome.protobuf, type: "application/x-protobuf" };
    return { json: "json" in outcome ? outcome.json : outcome };
  },

  weights_info: async ({ store }, { body }) => {
    const { tinker_path } = parseBody(body, schemas.weightsInfoSchema);
    const { record } = await store.find(parseCheckpointPath(tinker_path, "sampler_weights"));
    const { trained, baseModel } = record;
    return { json: { base_model: baseModel, is_lora: trained !== "full", lora_rank: trained === "full" ? null : trained.rank } };
  },
};

async function sourceOf(service: Service, request: schemas.SampleBody): Promise<SamplerSource> {
  if (request.sampling_session_id == null) return service.samplers.source(request);
  return samplingOf(service, request.sampling_session_id);
}

function samplingOf({ samplings }: Service, id: string): SamplerSource {
  const sampling = samplings.get(id);
  if (sampling === undefined) throw new HttpError(404, "sampling session", id, { expected: "one of an open session" });
  return sampling;
}

function decoded(body: Buffer): ForwardBackwardRequest {
  try {
    return decodeForwardBackward(body);
  } catch (cause) {
    const detail = cause instanceof ShapeError ? cause.message : "broken protobuf";
    throw new HttpError(422, "body of forward_backward", detail, { expected: "a ForwardBackwardRequest", cause });
  }
}

/** @throws HttpError where nothing would be trained */
function trainedBy(
  lora: { rank: number; seed?: number | null; train_attn: boolean; train_mlp: boolean } | null | undefined,
  { modules, maxRank }: ServedModel,
): Trained {
  if (lora == null || lora.rank === 0) return "full";
  if (lora.rank > maxRank)
    throw new HttpError(422, "lora_config.rank", lora.rank, { expected: `at most ${maxRank}, the width of the model` });
  const targets = [...(lora.train_attn ? modules.attention : []), ...(lora.train_mlp ? modules.mlp : [])];
  if (targets.length === 0)
    throw new HttpError(422, "lora_config", "train_unembed alone", {
      expected: "train_attn or train_mlp: the unembedding has no adapter here",
    });
  return { rank: lora.rank, alpha, targets, seed: lora.seed ?? 0 };
}
