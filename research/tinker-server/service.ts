import { createHash, randomUUID } from "node:crypto";
import { HttpError } from "../../extensions/http/http-error.ts";
import { Semaphore } from "../../src/core/semaphore.ts";
import { type Checkpoint, CheckpointStore, formatCheckpointPath, type ModelId, parseCheckpointPath } from "./checkpoints.ts";
import { Futures, type Outcome } from "./futures.ts";
import type { AdapterSettings, ServedModel, Trained } from "./local-model.ts";
import { type SamplerSource, Samplers } from "./samplers.ts";
import { type ModelIdentity, TrainedModel } from "./trained-model.ts";

export interface ServiceOptions {
  readonly models: readonly ServedModel[];
  /** Folder of checkpoints. */
  readonly store: string;
}

/** The state of a server: sessions, models, samplers, checkpoints, and results that wait to be fetched. */
export class Service {
  readonly options: ServiceOptions;
  readonly futures = new Futures();
  /** Samples that are being drawn, by the id of their future. */
  readonly cancellable = new Map<string, AbortController>();
  readonly store: CheckpointStore;
  readonly samplers: Samplers;
  /** Samplers that clients named once, to be sampled many times. */
  readonly samplings = new Map<string, SamplerSource>();
  /** The number of models of each session that the client did not number. */
  readonly #sessions = new Map<string, number>();
  /** Undefined while a model is opened. */
  readonly #models = new Map<string, TrainedModel | undefined>();
  /** Passes and steps run one at a time, whichever model they are of: they would only share the processor. */
  readonly #oneAtATime = new Semaphore(1);

  constructor(options: ServiceOptions) {
    this.options = options;
    this.store = new CheckpointStore(options.store);
    this.samplers = new Samplers(options.models, this.store);
  }

  async close(): Promise<void> {
    for (const id of [...this.#models.keys()]) await this.unload(id);
    await this.samplers.close();
  }

  openSession(): string {
    const id = `session-${randomUUID()}`;
    this.#sessions.set(id, 0);
    return id;
  }

  /** @throws HttpError if it is not open */
  requireSession(id: string, status = 404): void {
    if (!this.#sessions.has(id)) throw new HttpError(status, "session", id, { expected: "an open session" });
  }

  /** The number of a session's next model whose client gave none. */
  nextNumber(session: string): number {
    const number = this.#sessions.get(session) ?? 0;
    this.#sessions.set(session, number + 1);
    return number;
  }

  /** @throws HttpError if it is not loaded */
  model(id: string): TrainedModel {
    const model = this.#models.get(id);
    if (model !== undefined) return model;
    throw new HttpError(404, "model", id, {
      expected: "a loaded model",
      hint: "It was unloaded, its session ended, or the server was restarted: create a model and load the last checkpoint.",
    });
  }

  async unload(id: string): Promise<void> {
    const model = this.#models.get(id);
    this.#models.delete(id);
    await model?.dispose(this.samplers);
  }

  /** Makes a future of work that has no number. */
  later(work: () => Promise<Outcome>): string {
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
    let checked: Checked;
    try {
      checked = check();
    } catch (error) {
      sequencer.refuse(number, () => backward && model.passFailed(error));
      throw error;
    }
    const run = () => this.#oneAtATime.run(() => work(checked));
    return sequencer.accept(number, fingerprint, run, (result) => this.futures.add(result));
  }

  /** Begins to create a model. @returns the id of the future @throws HttpError if its number was used */
  createModel(identity: ModelIdentity, reply: object, from?: Checkpoint, optimizer = false): string {
    const { id } = identity;
    if (this.#models.has(id)) throw new HttpError(422, "model_seq_id", id, { expected: "a number that was not used" });
    this.#models.set(id, undefined);
    return this.later(async () => {
      try {
        this.#models.set(id, await this.#oneAtATime.run(() => TrainedModel.open(identity, from, optimizer)));
      } catch (error) {
        this.#models.delete(id);
        throw error;
      }
      return { json: reply };
    });
  }

  /** @returns the id of the future @throws HttpError for a checkpoint that is not there, or of another base */
  async createFromCheckpoint(id: ModelId, session: string, path: string, optimizer: boolean, named?: string | null) {
    const checkpoint = await this.store.find(parseCheckpointPath(path, "weights"));
    const { baseModel, trained } = checkpoint.record;
    if (named != null && named !== baseModel)
      throw new HttpError(422, "base_model", named, { expected: `${baseModel}, of the checkpoint` });
    requireFit(checkpoint, trained, optimizer);
    const identity = { id, session, base: this.samplers.base(baseModel), trained };
    return this.createModel(identity, { type: "load_weights", path, model_id: id }, checkpoint, optimizer);
  }
}

/** @throws HttpError for a checkpoint that does not fit what is to be trained */
export function requireFit({ path, record, state }: Checkpoint, trained: Trained, optimizer: boolean): void {
  const where = formatCheckpointPath(path);
  const rankOf = (each: Trained) => (each === "full" ? "the whole model" : `rank ${each.rank}`);
  if (rankOf(record.trained) !== rankOf(trained))
    throw new HttpError(422, `weights of ${where}`, rankOf(record.trained), { expected: rankOf(trained) });
  if (optimizer && state === undefined)
    throw new HttpError(422, `optimiser of ${where}`, undefined, {
      expected: "a checkpoint of save_weights, or optimizer: false",
    });
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
