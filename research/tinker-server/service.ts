import { createHash } from "node:crypto";
import { HttpError } from "../../extensions/http/http-error.ts";
import { type CheckpointPath, CheckpointStore, formatCheckpointPath, type ModelId, parseCheckpointPath } from "./checkpoints.ts";
import { Futures, type Outcome } from "./futures.ts";
import { Models, requireFit } from "./models.ts";
import { Samplers } from "./samplers.ts";
import type { AdapterSettings, ServedModel, Trained } from "./served-model.ts";
import { Sessions } from "./sessions.ts";
import type { TrainedModel } from "./trained-model.ts";

export interface ServiceOptions {
  readonly models: readonly ServedModel[];
  /** Folder of checkpoints. */
  readonly store: string;
  /** Folders that clients can load as `tinker://import/weights/NAME`. */
  readonly imports: ReadonlyMap<string, string>;
  readonly limits: {
    /** Models in memory at once. */
    readonly models: number;
    /** Sessions at a time. Default 1024. */
    readonly sessions?: number;
    /** Bytes of all models together. */
    readonly bytes: number;
    /** Requests that were acknowledged and are not done. Beyond it clients get 429. */
    readonly queue: number;
    /** Bytes of results that wait to be fetched, and a while longer. Default 512 MiB. */
    readonly results?: number;
    /** Samplers in memory at once. */
    readonly samplers: number;
  };
  /** After so long without a request a session is over, and its models are unloaded. */
  readonly sessionMs: number;
}

/** The state of a server: sessions, models, samplers, checkpoints, and results that wait to be fetched. */
export class Service {
  readonly options: ServiceOptions;
  readonly futures: Futures;
  /** Samples that are being drawn, by the id of their future. */
  readonly cancellable = new Map<string, AbortController>();
  readonly store: CheckpointStore;
  readonly samplers: Samplers;
  readonly sessions: Sessions;
  readonly models: Models;

  constructor(options: ServiceOptions) {
    this.options = options;
    this.futures = new Futures(options.limits.results);
    this.store = new CheckpointStore(options.store, options.models, options.imports);
    this.samplers = new Samplers(options.models, this.store, options.limits.samplers);
    this.sessions = new Sessions(options.sessionMs, options.limits.sessions ?? 1024, (session) =>
      this.models.unloadSession(session),
    );
    this.models = new Models(this.samplers, this.sessions, options.limits);
  }

  async close(): Promise<void> {
    this.sessions.close();
    await this.models.close();
    await this.samplers.close();
  }

  /** @throws HttpError (429) while too many requests wait */
  requireRoom(): void {
    const { queue } = this.options.limits;
    if (this.futures.pending >= queue)
      throw new HttpError(429, "waiting requests", this.futures.pending, { expected: `less than ${queue}`, retryAfter: 1 });
  }

  /** Makes a future of work that has no number. */
  later(work: () => Promise<Outcome>): string {
    this.requireRoom();
    return this.futures.add(work());
  }

  /**
   * Makes a future of a request of a model, in the order of its number.
   * @param fingerprint says whether a repeat is one
   * @param check gives what the work needs, or refuses the request before it is accepted; its number is then free again
   * @param backward whether a step behind the request needs it
   */
  inOrder<Checked>(
    model: TrainedModel,
    seqId: number | null | undefined,
    fingerprint: string,
    check: () => Checked,
    work: (checked: Checked) => Promise<Outcome>,
    { backward = false }: { readonly backward?: boolean } = {},
  ): string {
    const { sequencer } = model;
    const number = sequencer.numberOf(seqId);
    const known = sequencer.repeated(number, fingerprint);
    if (known !== undefined) return known;
    this.requireRoom();
    let checked: Checked;
    try {
      checked = check();
    } catch (error) {
      sequencer.refuse(number, () => backward && model.passFailed(error));
      throw error;
    }
    const run = () => this.models.compute(() => work(checked));
    return sequencer.accept(number, fingerprint, run, (result) => this.futures.add(result));
  }

  /** Begins to create a model. @returns the id of the future */
  createModel(id: ModelId, session: string, base: ServedModel, trained: Trained): string {
    if (this.models.has(id)) throw new HttpError(422, "model_seq_id", id, { expected: "a number that was not used" });
    this.models.reserve(id, base, trained);
    return this.later(async () => {
      await this.models.compute(() => this.models.open({ id, session, base, trained }));
      return { json: modelReply(id, base, trained) };
    });
  }

  async createFromCheckpoint(
    id: ModelId,
    session: string,
    path: string,
    optimizer: boolean,
    base?: string | null,
  ): Promise<string> {
    if (this.models.has(id)) throw new HttpError(422, "model_seq_id", id, { expected: "a number that was not used" });
    const checkpoint = await this.store.find(parseCheckpointPath(path, "weights"));
    const { baseModel, trained } = checkpoint.record;
    if (base != null && base !== baseModel)
      throw new HttpError(422, "base_model", base, { expected: `${baseModel}, of the checkpoint` });
    requireFit(checkpoint, trained, optimizer);
    const served = this.samplers.base(baseModel);
    this.models.reserve(id, served, trained);
    return this.later(async () => {
      await this.models.compute(() => this.models.open({ id, session, base: served, trained }, { checkpoint, optimizer }));
      return { json: { type: "load_weights", path, model_id: id } };
    });
  }

  /** Takes a name for a checkpoint. @throws HttpError if it is used, unless it may be overwritten */
  takeName(path: CheckpointPath, overwrite: boolean): CheckpointPath {
    if (this.store.taken(path) && !overwrite) {
      const hint = "Names of checkpoints are used once: number them with the step.";
      throw new HttpError(422, formatCheckpointPath(path), "already exists", { hint });
    }
    this.store.reserve(path);
    return path;
  }
}

export function fingerprintOf(path: string, body: Uint8Array): string {
  return createHash("sha256").update(path).update(body).digest("hex");
}

export function modelReply(id: string, base: ServedModel, trained: Trained): object {
  return {
    type: "create_model",
    model_id: id,
    base_model: base.name,
    is_lora: trained !== "full",
    lora_config: trained === "full" ? null : adapterReply(trained, base),
  };
}

/** Returns what was really made of a client's LoRA settings: the unembedding has no adapter. */
export function adapterReply({ rank, alpha, seed, targets }: AdapterSettings, { modules }: ServedModel): object {
  const has = (of: readonly string[]) => of.some((module) => targets.includes(module));
  return { rank, alpha, seed, train_attn: has(modules.attention), train_mlp: has(modules.mlp), train_unembed: false };
}
