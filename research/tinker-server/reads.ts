import { HttpError } from "../../extensions/http/http-error.ts";
import type { Reply } from "../../extensions/http/server.ts";
import { hasLength } from "../../src/core/present.ts";
import {
  type Checkpoint,
  type CheckpointKind,
  checkpointKinds,
  formatCheckpointPath,
  type ModelId,
  parseCheckpointName,
  parseModelId,
} from "./checkpoints.ts";
import type { Service } from "./service.ts";
import { archive } from "./tar.ts";
import type { TrainedModel } from "./trained-model.ts";

/** Returns what clients read: models that are served, sessions, models in training ("training runs") and their checkpoints. */
export async function read(service: Service, parts: readonly string[]): Promise<Reply | undefined> {
  const [first, second, third, ...rest] = parts;
  if (second === undefined) {
    if (first === "healthz") return { json: { status: "ok" } };
    if (first === "get_server_capabilities") return { json: capabilities(service) };
    if (first === "sessions") return { json: { sessions: service.sessions.list().map(({ id }) => id) } };
    return first === "training_runs" ? { json: await runs(service) } : undefined;
  }
  if (third === undefined) {
    if (first === "samplers") {
      const { id, base, path } = service.sessions.sampling(second);
      return { json: { sampler_id: id, base_model: base, model_path: path ?? null } };
    }
    if (first === "sessions") return { json: session(service, second) };
    return first === "training_runs" ? { json: await run(service, service.models.find(second)) } : undefined;
  }
  if (first === "training_runs" && third === "checkpoints") return checkpointsOf(service, parseModelId(second), rest);
  return undefined;
}

/** @returns whether there is such a route */
export async function remove(service: Service, parts: readonly string[]): Promise<Reply | undefined> {
  if (!hasLength(parts, 5)) return undefined;
  const [first, model, third, kind, name] = parts;
  if (first !== "training_runs" || third !== "checkpoints") return undefined;
  const path = { model: parseModelId(model), kind: kindOf(kind), name: parseCheckpointName(name) };
  await service.store.remove(path);
  await service.samplers.drop(formatCheckpointPath(path));
  return { status: 204 };
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

function session({ sessions, models }: Service, id: string): object {
  sessions.find(id);
  const ids = models.list().filter(({ identity }) => identity.session === id);
  return { training_run_ids: ids.map(({ identity }) => identity.id), sampler_ids: [] };
}

async function runs(service: Service): Promise<object> {
  const training_runs = await Promise.all(service.models.list().map((model) => run(service, model)));
  return { training_runs, cursor: { offset: 0, limit: training_runs.length, total_count: training_runs.length } };
}

async function run({ store }: Service, { identity, lastUsed }: TrainedModel): Promise<object> {
  const { id, base, trained } = identity;
  const saved = await store.list(id);
  const newest = (kind: CheckpointKind) =>
    saved
      .filter(({ path }) => path.kind === kind)
      .map(checkpointReply)
      .at(-1) ?? null;
  return {
    training_run_id: id,
    base_model: base.name,
    model_owner: "local",
    is_lora: trained !== "full",
    lora_rank: trained === "full" ? null : trained.rank,
    corrupted: false,
    last_request_time: new Date(lastUsed).toISOString(),
    last_checkpoint: newest("weights"),
    last_sampler_checkpoint: newest("sampler_weights"),
    user_metadata: null,
  };
}

async function checkpointsOf(service: Service, model: ModelId, rest: readonly string[]): Promise<Reply | undefined> {
  if (rest.length === 0) return { json: { checkpoints: (await service.store.list(model)).map(checkpointReply) } };
  const [action, last, first = "sampler_weights", ...more] = [...rest].reverse();
  if (last === undefined || more.length > 0 || (action !== "archive" && action !== "download")) return undefined;
  const [kind, name] = [kindOf(first), parseCheckpointName(last)];
  if (action === "archive") {
    await service.store.find({ model, kind, name });
    return { location: `/api/v1/training_runs/${model}/checkpoints/${kind}/${name}/download` };
  }
  const { folder } = await service.store.find({ model, kind, name });
  const headers = { "content-disposition": `attachment; filename="${model.replaceAll(":", "-")}_${name}.tar.gz"` };
  return { bytes: await archive(folder), type: "application/octet-stream", headers };
}

function checkpointReply({ path, record, bytes }: Checkpoint & { readonly bytes: number }): object {
  return {
    checkpoint_id: `${path.kind}/${path.name}`,
    checkpoint_type: { weights: "training", sampler_weights: "sampler" }[path.kind],
    time: record.savedAt,
    tinker_path: formatCheckpointPath(path),
    size_bytes: bytes,
    public: false,
    expires_at: null,
  };
}

function kindOf(text: string): CheckpointKind {
  const kind = checkpointKinds.find((each) => each === text);
  if (kind === undefined) throw new HttpError(422, "kind of a checkpoint", text, { expected: checkpointKinds });
  return kind;
}
