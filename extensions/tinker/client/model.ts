import type { Answer, CallOptions } from "./call.ts";
import { checkAdam, checkData, checkName, checkPass, type ModelLimits } from "./check.ts";
import { chunksOf, combine } from "./chunks.ts";
import type { AdamSettings, Datum, ForwardBackwardResult, OptimStepResult } from "./data.ts";
import { TinkerError } from "./errors.ts";
import { parseResult, requestIdOf, retrieve } from "./future.ts";
import { TinkerSampler } from "./sampler.ts";
import { Sequence } from "./sequence.ts";
import { type Connection, untilWritten } from "./session.ts";
import { decodeForwardBackwardResult, encodeForwardBackward } from "./wire/forward-backward.ts";
import { optimStepSchema, savedSchema } from "./wire/json.ts";

interface Behind {
  /** Work that has to be done before the request is sent. */
  readonly behind?: Promise<unknown>;
}

/**
 * A model that trains on a server. Calls take effect in the order in which they are made, without being awaited one by one: submit a
 * pass and the step behind it, then await both results.
 * @example
 * const pass = model.forwardBackward([{ tokens: [1, 2], targets: [2, 3], inputs: { weights: [1, 1] } }], "cross_entropy");
 * const step = model.optimStep({ learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8 });
 * const [{ fields }] = await Promise.all([pass, step]);
 * fields.logprobs[0]; // two numbers, from before the step
 */
export class TinkerModel {
  readonly id: string;
  readonly limits: ModelLimits;
  readonly #connection: Connection;
  readonly #sequence: Sequence;
  /** Passes whose results are not there yet. */
  readonly #passes = new Set<Promise<unknown>>();

  constructor(connection: Connection, id: string, limits: ModelLimits) {
    this.id = id;
    this.limits = limits;
    this.#connection = connection;
    this.#sequence = new Sequence(id);
  }

  /** Log-probs of the targets, without a gradient. @throws TinkerError */
  forward(data: readonly Datum[], options: CallOptions = {}): Promise<ForwardBackwardResult> {
    return this.#pass(data, "cross_entropy", {}, true, options);
  }

  /**
   * Adds the gradient of a loss to the model's.
   * @param lossFn such as "cross_entropy", "importance_sampling", "ppo", "cispo"; servers differ
   * @param config of the loss, such as clip_low_threshold
   */
  forwardBackward(
    data: readonly Datum[],
    lossFn: string,
    config: Readonly<Record<string, number>> = {},
    options: CallOptions = {},
  ): Promise<ForwardBackwardResult> {
    return this.#pass(data, lossFn, config, false, options);
  }

  /**
   * One AdamW step down the gradient, which is cleared. It is sent when the passes before it are done: by its source SkyRL looks for passes first and
   * then for steps, and can take a step that came between before its passes, without their gradient.
   * @throws TinkerError if the server reports a norm that is not finite; of the kind "not-sent" if a pass failed
   */
  optimStep(settings: AdamSettings, options: CallOptions = {}): Promise<OptimStepResult> {
    return handled(
      (async () => {
        checkAdam(settings);
        const adam_params = {
          learning_rate: settings.learningRate,
          beta1: settings.beta1,
          beta2: settings.beta2,
          eps: settings.epsilon,
          weight_decay: settings.weightDecay ?? 0,
          grad_clip_norm: settings.clipNorm ?? 0,
        };
        const behind = handled(Promise.all(this.#passes));
        const answer = await this.#training("optim_step", { adam_params }, { ...options, behind });
        return stepResult(parseResult("optim_step", answer, optimStepSchema).metrics ?? {});
      })(),
    );
  }

  /**
   * Saves weights and optimiser under a name that was not used before.
   * @returns the path that `TinkerClient.loadModel` takes
   */
  saveWeights(name: string, options: CallOptions = {}): Promise<string> {
    return handled(this.#save("save_weights", name, `tinker://${this.id}/weights/${name}`, options));
  }

  /** Saves weights for sampling under a name that was not used before. */
  async saveForSampler(name: string, options: CallOptions = {}): Promise<TinkerSampler> {
    const path = await this.#save("save_weights_for_sampler", name, `tinker://${this.id}/${name}`, options);
    return new TinkerSampler(this.#connection, { model_path: path }, this.limits);
  }

  /** Loads a checkpoint. The first request of a model, or an error on most servers. */
  loadWeights(path: string, { optimizer, ...options }: CallOptions & { readonly optimizer: boolean }): Promise<void> {
    return handled(this.#training("load_weights", { path, optimizer }, options, false).then(() => {}));
  }

  /** Gives the model's place on the server back. A gradient that waits for a step is cleared, because the next model would inherit it. */
  async unload(): Promise<void> {
    await this.optimStep({ learningRate: 0, beta1: 0.9, beta2: 0.95, epsilon: 1e-12 });
    const path = "unload_model";
    const body = { model_id: this.id, type: path };
    const answer = await this.#connection.transport.send({ path, body, repeatable: true });
    await retrieve(this.#connection, requestIdOf(path, answer), { of: path, onFailure: "later" });
  }

  #pass(
    data: readonly Datum[],
    lossFn: string,
    config: Readonly<Record<string, number>>,
    forwardOnly: boolean,
    options: CallOptions,
  ): Promise<ForwardBackwardResult> {
    const of = forwardOnly ? "forward" : "forward_backward";
    const result = handled(
      (async () => {
        checkData(data, this.limits);
        const results = chunksOf(data, this.#connection.chunks).map(async (chunk) => {
          const body = (seqId: number) =>
            encodeForwardBackward({ modelId: this.id, seqId, data: chunk, lossFn, config, forwardOnly });
          const answer = await this.#submit(of, "forward_backward", body, { protobuf: true, repeatable: true, ...options });
          return passResult(of, answer, chunk);
        });
        return combine(await Promise.all(results));
      })(),
    );
    this.#passes.add(result);
    const done = () => this.#passes.delete(result);
    result.then(done, done);
    return result;
  }

  /** A call without a key of its own: if its answer is lost, a second attempt is refused as taken, which says that the first arrived. */
  async #save(path: string, name: string, saved: string, { signal }: CallOptions): Promise<string> {
    checkName(name);
    const { transport } = this.#connection;
    const requestId = await this.#sequence.submit(path, async (seqId) => {
      const body = { model_id: this.id, seq_id: seqId, path: name, type: path };
      const answer = await transport.send({ path, body, repeatable: true, expected: [409], signal });
      if (answer.status !== 409) return requestIdOf(path, answer);
      if (answer.repeated) return undefined;
      const hint = "Names of checkpoints are used once: number them with the step.";
      throw new TinkerError(`name of a checkpoint of ${this.id}`, name, { kind: "conflict", retry: "never", status: 409, hint });
    });
    if (requestId === undefined) {
      await untilWritten(this.#connection, saved, signal);
      return saved;
    }
    const answer = await retrieve(this.#connection, requestId, { of: path, onFailure: "from-checkpoint", signal });
    return parseResult(path, answer, savedSchema).path;
  }

  #training(path: string, fields: object, options: CallOptions & Behind, repeatable = true): Promise<Answer> {
    const body = (seqId: number) => ({ model_id: this.id, seq_id: seqId, ...fields, type: path });
    return this.#submit(path, path, body, { protobuf: false, repeatable, ...options });
  }

  async #submit(
    of: string,
    path: string,
    body: (seqId: number) => Uint8Array | object,
    { protobuf, repeatable, signal, behind }: CallOptions & Behind & { readonly protobuf: boolean; readonly repeatable: boolean },
  ): Promise<Answer> {
    const send = async (seqId: number) =>
      requestIdOf(of, await this.#connection.transport.send({ path, body: body(seqId), repeatable, signal }));
    const requestId = await this.#sequence.submit(of, send, behind);
    return retrieve(this.#connection, requestId, { of, protobuf, onFailure: "from-checkpoint", signal });
  }
}

/** @throws TinkerError for a result that is not protobuf, or not that of the data */
function passResult(of: string, { bytes, protobuf }: Answer, data: readonly Datum[]): ForwardBackwardResult {
  const wrong = (cause?: unknown) =>
    new TinkerError(`the result of ${of}`, "malformed", {
      kind: "answer",
      retry: "from-checkpoint",
      expected: "protobuf",
      cause,
    });
  if (!protobuf) throw wrong();
  let result: ForwardBackwardResult;
  try {
    result = decodeForwardBackwardResult(bytes);
  } catch (cause) {
    throw wrong(cause);
  }
  checkPass(result, data);
  return result;
}

function stepResult(metrics: Readonly<Record<string, number | null>>): OptimStepResult {
  const [name] = Object.keys(metrics).filter((key) => key.includes("grad_norm"));
  const norm = name === undefined ? undefined : metrics[name];
  if (norm === null) {
    throw new TinkerError("norm of the gradient", norm, {
      kind: "answer",
      retry: "from-checkpoint",
      expected: "a finite number",
      hint: "The model's weights may be NaN now, and so may those of other models of the server.",
    });
  }
  const finite = Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== null);
  return { gradientNorm: norm, metrics: Object.fromEntries(finite) };
}

/** Results may be awaited long after they failed: the failure reaches whoever awaits, and does not end the process before. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
