import { HttpError } from "../../extensions/http/http-error.ts";
import type { ForwardBackwardCall, ForwardBackwardResult } from "../../extensions/tinker/client/data.ts";
import { EngineError, reasonOf } from "../../src/core/errors.ts";
import type { StepReport } from "../../src/core/policy.ts";
import type { StepOptions } from "../../src/engines/engine.ts";
import { type Checkpoint, type CheckpointPath, type CheckpointStore, formatCheckpointPath, type ModelId } from "./checkpoints.ts";
import type { OpenedModel, ServedModel, Trained } from "./local-model.ts";
import { runPass } from "./passes.ts";
import type { Samplers } from "./samplers.ts";
import { Sequencer } from "./sequencer.ts";

export interface ModelIdentity {
  readonly id: ModelId;
  readonly session: string;
  readonly base: ServedModel;
  readonly trained: Trained;
}

/** One model of a client: an engine, the order of its requests, and whether its last pass failed. */
export class TrainedModel {
  readonly identity: ModelIdentity;
  readonly sequencer = new Sequencer();
  #opened: OpenedModel;
  #steps = 0;
  /** Whether a pass has left a gradient since the last step. */
  #pending = false;
  /** Why the last pass failed, until another succeeds or a step was refused for it. */
  #failedPass: string | undefined;

  constructor(identity: ModelIdentity, opened: OpenedModel) {
    this.identity = identity;
    this.#opened = opened;
  }

  /** Opens a model, with the weights of a checkpoint where one is given. */
  static async open(identity: ModelIdentity, from?: Checkpoint, optimizer = false): Promise<TrainedModel> {
    const { base, trained } = identity;
    const model = new TrainedModel(identity, await base.open(trained, optimizer ? undefined : from?.folder));
    if (optimizer && from !== undefined) await model.load(from, true);
    return model;
  }

  get steps(): number {
    return this.#steps;
  }

  async pass(pass: ForwardBackwardCall): Promise<ForwardBackwardResult> {
    if (pass.forwardOnly) return runPass(this.#opened.engine, pass);
    try {
      const result = await runPass(this.#opened.engine, pass);
      this.#pending = true;
      this.#failedPass = undefined;
      return result;
    } catch (error) {
      this.passFailed(error);
      throw error;
    }
  }

  /** A pass was refused or failed: the step that was meant to follow it must not run without it. */
  passFailed(error: unknown): void {
    this.#failedPass = reasonOf(error);
  }

  /** A step without a pass moves the model along its moments, as PyTorch's AdamW does with a gradient of zeros. */
  async step(options: StepOptions): Promise<StepReport> {
    if (this.#failedPass !== undefined) {
      const because = this.#failedPass;
      this.#failedPass = undefined;
      throw new HttpError(422, "optim_step", "behind a forward_backward that failed", {
        expected: "a gradient",
        hint: `Send the pass again, and then the step. The pass failed because: ${because}`,
      });
    }
    const { engine } = this.#opened;
    if (!this.#pending) await engine.forwardBackward([emptySample], [[0]], { temperature: 1 });
    try {
      const report = await engine.step(options);
      this.#steps++;
      return report;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new HttpError(422, "optim_step", error.message, {
        hint: "The gradient is not finite: load the model's last checkpoint into a new one.",
        cause: error,
      });
    } finally {
      this.#pending = false;
    }
  }

  /** @param optimizer whether moments and step count are kept too */
  async save(store: CheckpointStore, path: CheckpointPath, optimizer: boolean): Promise<void> {
    const { base, trained } = this.identity;
    const record = { baseModel: base.name, trained, step: this.#steps, optimizer };
    await store.write(path, record, async ({ weights, state }) => {
      await this.#opened.saveWeights(weights);
      if (optimizer) await this.#opened.engine.saveState(state);
    });
  }

  /** Saves weights to sample, and opens a sampler of them. */
  async saveForSampler(store: CheckpointStore, samplers: Samplers, path: CheckpointPath): Promise<void> {
    await this.save(store, path, false);
    await samplers.put(formatCheckpointPath(path), await this.#opened.engine.freeze(), this.identity.id);
  }

  /** Replaces the weights of a model that has not run a request. */
  async load({ record, folder, state }: Checkpoint, optimizer: boolean): Promise<void> {
    if (optimizer && state !== undefined) {
      await this.#opened.engine.loadState(state);
      this.#steps = record.step;
      return;
    }
    const fresh = await this.identity.base.open(this.identity.trained, folder);
    const old = this.#opened;
    this.#opened = fresh;
    await old.engine.dispose();
  }

  async dispose(samplers: Samplers): Promise<void> {
    await this.sequencer.settled();
    await samplers.release(this.identity.id);
    await this.#opened.engine.dispose();
  }
}

const emptySample = { trajectory: "none", turn: 0, context: [0], action: [0] };
