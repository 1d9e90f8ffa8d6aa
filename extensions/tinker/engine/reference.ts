import { EngineError } from "../../../src/core/errors.ts";
import type { TinkerModel } from "../client/index.ts";

/** The frozen copy of the policy: a model of its own on the server, opened again from its checkpoint where the server has lost it. */
export class RemoteReference {
  readonly #load: (path: string) => Promise<TinkerModel>;
  #path: string | undefined;
  #opened: { readonly generation: number; readonly model: TinkerModel } | undefined;

  constructor(load: (path: string) => Promise<TinkerModel>) {
    this.#load = load;
  }

  /** The checkpoint on the server; undefined if there is no reference. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Replaces the reference by a checkpoint. @param generation of the model that trains: its successor needs the reference opened again */
  async open(path: string, generation: number): Promise<void> {
    await this.close();
    this.#path = path;
    await this.model(generation);
  }

  /** @throws EngineError if there is none */
  async model(generation: number): Promise<TinkerModel> {
    if (this.#path === undefined) {
      const hint = "Call snapshotReference() before training starts.";
      throw new EngineError("reference model", undefined, { expected: "a snapshot", hint });
    }
    if (this.#opened?.generation !== generation) this.#opened = { generation, model: await this.#load(this.#path) };
    return this.#opened.model;
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#path = undefined;
    this.#opened = undefined;
    await opened?.model.unload().catch(() => {}); // a server that is gone has forgotten it
  }
}
