import { EngineError, reasonOf } from "../../../src/core/errors.ts";
import { type TinkerClient, TinkerError, type TinkerErrorKind, type TinkerModel } from "../client/index.ts";

interface Opened {
  readonly client: TinkerClient;
  readonly model: TinkerModel;
}
type Applied = (model: TinkerModel) => Promise<unknown>;

/**
 * A model that survives its server. What changes it (passes and steps) is kept since the last checkpoint. When the server has lost the model,
 * or nobody knows what it applied, a new model is made from that checkpoint, and what was kept is applied to it again: rollouts
 * that were paid for are in what was kept.
 */
export class Recovering {
  readonly #open: (from: string | undefined, fresh: boolean) => Promise<Opened>;
  readonly #most: number;
  #opened: Opened;
  #generation = 0;
  #checkpoint: string | undefined;
  #applied: Applied[] = [];
  #recovering: Promise<void> | undefined;
  /** Why the model's weights are those of no step, once they are in doubt for good. */
  #doubt: unknown;

  /**
   * @param open makes a model from a checkpoint, or from the beginning; `fresh` in a new session
   * @param most recoveries in a row without a success between
   */
  constructor(opened: Opened, open: (from: string | undefined, fresh: boolean) => Promise<Opened>, most: number) {
    this.#opened = opened;
    this.#open = open;
    this.#most = most;
  }

  get client(): TinkerClient {
    return this.#opened.client;
  }

  get current(): TinkerModel {
    return this.#opened.model;
  }

  /** Rises with every model that replaces another. */
  get generation(): number {
    return this.#generation;
  }

  get lastCheckpoint(): string | undefined {
    return this.#checkpoint;
  }

  /** Runs what does not change the model, again on a new one if this one is lost. @param task is given a number that changes with the model */
  async run<T>(task: (opened: Opened, generation: number) => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      if (this.#doubt !== undefined) throw this.#doubt;
      const generation = this.#generation;
      try {
        return await task(this.#opened, generation);
      } catch (error) {
        if (!isLost(error)) throw error;
        if (failures >= this.#most) throw gaveUp(error, failures);
        if (generation === this.#generation) await this.#recover(error);
      }
    }
  }

  /**
   * Runs what changes the model, once on each model that there is. If it fails for good after the server accepted a part of it, the model is
   * in doubt: every later call fails, so that its weights are neither sampled nor saved.
   */
  async apply<T>(task: (model: TinkerModel) => Promise<T>): Promise<T> {
    try {
      const result = await this.run(({ model }) => task(model));
      this.#applied.push(task);
      return result;
    } catch (error) {
      if (!(error instanceof TinkerError && untouchedKinds.includes(error.kind))) this.#doubt ??= error;
      throw error;
    }
  }

  /** Saves the model; what was applied before need not be kept. */
  async checkpoint(save: (model: TinkerModel) => Promise<string>): Promise<string> {
    const path = await this.run(({ model }) => save(model));
    this.#checkpoint = path;
    this.#applied = [];
    return path;
  }

  /** Continues with a checkpoint instead of the present weights. */
  async restart(path: string): Promise<void> {
    const old = this.#opened.model;
    this.#opened = await this.#open(path, false);
    this.#doubt = undefined;
    this.#generation++;
    this.#checkpoint = path;
    this.#applied = [];
    await old.unload().catch(() => {});
  }

  async close(): Promise<void> {
    await this.#opened.model.unload().catch(() => {});
    this.#opened.client.close();
  }

  /** One at a time: every call that finds the model lost waits for the same new one. */
  #recover(because: TinkerError): Promise<void> {
    this.#recovering ??= this.#replace(because).finally(() => {
      this.#recovering = undefined;
    });
    return this.#recovering;
  }

  async #replace(because: TinkerError): Promise<void> {
    this.#opened.client.close();
    try {
      this.#opened = await this.#open(this.#checkpoint, true);
      for (const task of this.#applied) await task(this.#opened.model);
    } catch (cause) {
      const from = this.#checkpoint ?? "its beginning";
      throw new EngineError(`the model, which the server lost (${because.message})`, "not rebuilt", {
        expected: `a server that continues from ${from}`,
        hint: `${reasonOf(cause)} Continue with --resume once the server runs.`,
        cause,
      });
    }
    this.#generation++;
  }
}

/** Kinds of errors after which the server may have lost the model, whatever the call was. */
const lostKinds: readonly TinkerErrorKind[] = ["address", "lost", "timeout", "not-found"];

/** Kinds of errors of calls that the server has not begun. */
const untouchedKinds: readonly TinkerErrorKind[] = ["request", "not-sent", "cancelled"];

/** Whether the model is gone, or in doubt, rather than the call wrong. */
function isLost(error: unknown): error is TinkerError {
  if (!(error instanceof TinkerError)) return false;
  return error.retry === "from-checkpoint" || lostKinds.includes(error.kind) || error.message.includes("not loaded");
}

function gaveUp(cause: TinkerError, failures: number): EngineError {
  const hint = `The server lost the model ${failures} times: ${cause.message} Continue with --resume once it is sound.`;
  return new EngineError("the model on the server", "lost", { hint, cause });
}
