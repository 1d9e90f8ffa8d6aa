import { HttpError } from "../../extensions/http/http-error.ts";
import { Semaphore } from "../../src/core/semaphore.ts";
import { type Checkpoint, formatCheckpointPath, type ModelId } from "./checkpoints.ts";
import type { Samplers } from "./samplers.ts";
import type { ServedModel, Trained } from "./served-model.ts";
import type { Sessions } from "./sessions.ts";
import { TrainedModel } from "./trained-model.ts";

export interface ModelLimits {
  /** Models in memory at once. */
  readonly models: number;
  /** Bytes of all models together, as `ServedModel.bytes` estimates them. */
  readonly bytes: number;
}

/** The models of all sessions. Passes and steps run one at a time, whichever model they are of: they would only share the processor. */
export class Models {
  readonly #models = new Map<string, TrainedModel>();
  /** Places taken by models that are being opened. */
  readonly #opening = new Map<string, number>();
  readonly #samplers: Samplers;
  readonly #sessions: Sessions;
  readonly #limits: ModelLimits;
  readonly #oneAtATime = new Semaphore(1);

  constructor(samplers: Samplers, sessions: Sessions, limits: ModelLimits) {
    this.#samplers = samplers;
    this.#sessions = sessions;
    this.#limits = limits;
  }

  list(): readonly TrainedModel[] {
    return [...this.#models.values()];
  }

  /** @throws HttpError if it is not loaded */
  find(id: string): TrainedModel {
    const model = this.#models.get(id);
    if (model === undefined) {
      throw new HttpError(404, "model", id, {
        expected: "a loaded model",
        hint: "It was unloaded, its session ended, or the server was restarted: create a model and load the last checkpoint.",
      });
    }
    this.#sessions.seen(model.identity.session);
    model.lastUsed = Date.now();
    return model;
  }

  has(id: string): boolean {
    return this.#models.has(id) || this.#opening.has(id);
  }

  /** Takes a place for a model. @throws HttpError if there is none, and says which limit it is */
  reserve(id: string, base: ServedModel, trained: Trained): void {
    const bytes = base.bytes(trained);
    const others = this.list().map(({ identity }) => identity.base.bytes(identity.trained));
    const used = [...others, ...this.#opening.values()];
    if (used.length >= this.#limits.models) {
      const hint = "Unload one, let a session end, or start the server with a larger --max-models.";
      throw new HttpError(422, "loaded models", used.length + 1, { expected: `at most ${this.#limits.models}`, hint });
    }
    const sum = used.reduce((a, b) => a + b, bytes);
    if (sum > this.#limits.bytes) {
      const hint = "Unload a model, train an adapter of a lower rank, or start the server with a larger --memory.";
      throw new HttpError(422, "memory of the loaded models", gib(sum), { expected: `at most ${gib(this.#limits.bytes)}`, hint });
    }
    this.#opening.set(id, bytes);
  }

  /** Opens a model in the place that was reserved, with the weights of a checkpoint where one is given. */
  async open(
    identity: { readonly id: ModelId; readonly session: string; readonly base: ServedModel; readonly trained: Trained },
    from?: { readonly checkpoint: Checkpoint; readonly optimizer: boolean },
  ): Promise<TrainedModel> {
    try {
      const { base, trained } = identity;
      const weights = from === undefined || (from.optimizer && from.checkpoint.state) ? undefined : from.checkpoint.folder;
      const model = new TrainedModel({ ...identity, createdAt: new Date() }, await base.open(trained, weights));
      if (from?.optimizer && from.checkpoint.state !== undefined) await model.load(from.checkpoint, true);
      this.#models.set(identity.id, model);
      return model;
    } finally {
      this.#opening.delete(identity.id);
    }
  }

  /** Runs work of a model when the processor is free. */
  compute<T>(work: () => Promise<T>): Promise<T> {
    return this.#oneAtATime.run(work);
  }

  async unload(id: string): Promise<void> {
    const model = this.#models.get(id);
    this.#models.delete(id);
    await model?.dispose(this.#samplers);
  }

  async unloadSession(session: string): Promise<void> {
    for (const { identity } of this.list()) if (identity.session === session) await this.unload(identity.id);
  }

  async close(): Promise<void> {
    for (const { identity } of this.list()) await this.unload(identity.id);
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

function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}
