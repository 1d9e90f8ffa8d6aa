import { HttpError } from "../../extensions/http/http-error.ts";
import type { Logprobs } from "../../src/core/policy.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import type { ForwardOptions, SampledAction, SampleRequest } from "../../src/engines/engine.ts";
import { type CheckpointStore, formatCheckpointPath, parseCheckpointPath } from "./checkpoints.ts";
import type { ServedModel } from "./local-model.ts";

/** A source of samples: frozen weights of a model in training, or an engine that holds saved ones. */
export interface OpenSampler {
  sample(request: SampleRequest): Promise<SampledAction>;
  logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs>;
  dispose(): Promise<void>;
}

/** Where samples come from, as requests name it. */
export interface SamplerSource {
  readonly base: ServedModel;
  /** The path of saved weights; undefined for the base itself. */
  readonly path: string | undefined;
}

interface Shelved {
  readonly opened: Promise<OpenSampler>;
  /** The model in training whose engine it shares. */
  readonly owner: string | undefined;
  users: number;
}

const mostOpen = 4;

/** The samplers in memory: those used last, up to a limit. Others are on disk, and are reopened on demand. */
export class Samplers {
  readonly #shelf = new Map<string, Shelved>();
  readonly #store: CheckpointStore;
  readonly #models: readonly ServedModel[];

  constructor(models: readonly ServedModel[], store: CheckpointStore) {
    this.#models = models;
    this.#store = store;
  }

  /** @throws HttpError for a base or a checkpoint that is not there */
  async source({ base_model, model_path }: { base_model?: string | null; model_path?: string | null }): Promise<SamplerSource> {
    if (model_path != null) {
      const { path, record } = await this.#store.find(parseCheckpointPath(model_path, "sampler_weights"));
      return { base: this.base(record.baseModel), path: formatCheckpointPath(path) };
    }
    if (base_model == null)
      throw new HttpError(422, "model of a sample", undefined, { expected: "base_model, model_path or sampling_session_id" });
    return { base: this.base(base_model), path: undefined };
  }

  /** @throws HttpError if it is not served */
  base(name: string): ServedModel {
    const base = this.#models.find((each) => each.name === name);
    if (base !== undefined) return base;
    throw new HttpError(404, "base_model", name, { expected: this.#models.map((each) => each.name) });
  }

  /** Puts a sampler that is open already on the shelf. @param owner the model whose engine it shares */
  async put(path: string, sampler: OpenSampler, owner: string): Promise<void> {
    await this.drop(path);
    this.#shelf.set(path, { opened: Promise.resolve(sampler), owner, users: 0 });
    await this.#trim();
  }

  /** Uses a sampler, which stays open meanwhile. */
  async use<T>(source: SamplerSource, task: (sampler: OpenSampler) => Promise<T>): Promise<T> {
    const key = source.path ?? `base ${source.base.name}`;
    const shelved = this.#shelf.get(key) ?? { opened: this.#open(source), owner: undefined, users: 0 };
    this.#shelf.delete(key);
    this.#shelf.set(key, shelved); // the newest is last
    shelved.users++;
    try {
      return await task(await shelved.opened);
    } catch (error) {
      if ((await Promise.allSettled([shelved.opened]))[0].status === "rejected") this.#shelf.delete(key);
      throw error;
    } finally {
      shelved.users--;
      await this.#trim();
    }
  }

  /** Closes the samplers that share the engine of a model. They are reopened from disk on demand. */
  async release(owner: string): Promise<void> {
    for (const [path, shelved] of this.#shelf) if (shelved.owner === owner) await this.drop(path);
  }

  async drop(path: string): Promise<void> {
    const shelved = this.#shelf.get(path);
    this.#shelf.delete(path);
    if (shelved !== undefined) await close(shelved);
  }

  async close(): Promise<void> {
    for (const path of [...this.#shelf.keys()]) await this.drop(path);
  }

  async #open({ base, path }: SamplerSource): Promise<OpenSampler> {
    if (path === undefined) return (await base.open(baseAdapter(base))).engine;
    const { record, folder } = await this.#store.find(parseCheckpointPath(path, "sampler_weights"));
    return (await base.open(record.trained, folder)).engine;
  }

  async #trim(): Promise<void> {
    for (const [path, shelved] of this.#shelf) {
      if (this.#shelf.size <= mostOpen) return;
      if (shelved.users === 0) await this.drop(path);
    }
  }
}

/** A base is sampled with an adapter that changes nothing: so its weights are shared with every model that is trained on it. */
function baseAdapter({ modules }: ServedModel) {
  return { rank: 1, alpha: 1, targets: modules.attention.slice(0, 1), seed: 0 };
}

async function close({ opened }: Shelved): Promise<void> {
  const [result] = await Promise.allSettled([opened]);
  if (result.status === "fulfilled") await result.value.dispose();
}
