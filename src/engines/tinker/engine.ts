import { randomUUID } from "node:crypto";
import { EngineError } from "../../core/errors.ts";
import type { Decide, Logprobs, StepReport, Weights } from "../../core/policy.ts";
import type { ActionInContext, TokenId } from "../../core/trajectory.ts";
import {
  type CreateModelOptions,
  type Datum,
  TinkerClient,
  type TinkerModel,
  type TinkerOptions,
  type TinkerSampler,
} from "../../tinker/index.ts";
import { CallOrder } from "../call-order.ts";
import {
  type AdamSettings,
  type BackwardOptions,
  type Engine,
  type EngineCritic,
  type EngineInfo,
  type EngineStats,
  type ForwardOptions,
  type FrozenPolicy,
  missingCapability,
  requireCapability,
  requireStepOptions,
  type SampledAction,
  type SampleRequest,
  type StepOptions,
} from "../engine.ts";
import { tinkerCapabilities } from "./capabilities.ts";
import { distinctPrefixes, packSamples, spreadWeights, unpackLogprobs } from "./data.ts";
import { type Findings, probeServer } from "./probe.ts";
import { Recovering } from "./recovering.ts";
import { readRemoteState, writeRemoteState } from "./state.ts";
import { stopAfter } from "./stop-at.ts";
import { writeWeights } from "./weights.ts";

export interface TinkerEngineOptions extends TinkerOptions {
  /** Name of the base model on the server. */
  readonly model: string;
  /** The rank of the LoRA adapter. 0 trains the model itself, where a server can. */
  readonly rank: number;
  /** Decides the adapter's first values. */
  readonly seed: number;
  readonly vocabularySize: number;
  /** Longest sequence; the server's word for it if that is less. */
  readonly maxLength: number;
  /** Text of an action; needed for stop strings only. */
  readonly decode?: (tokens: readonly TokenId[]) => string;
  /** The findings of an earlier engine on the same server: then no throw-away model is made. */
  readonly findings?: Findings;
  /** Adam's settings of a server that takes none. Default: those of SkyRL 0.4.0. */
  readonly fixedAdam?: AdamSettings;
  /** How often a model that was lost is built again from the last state. Default 3. */
  readonly recoveries?: number;
}

/** `trainer.policy.optimizer_config` of SkyRL 0.4.0, where its FSDP and Megatron back ends are not configured otherwise. */
const skyrlAdam: AdamSettings = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 };

/**
 * Opens a model on a Tinker server for sampling and training. A throw-away model first shows which losses the server computes exactly.
 * @throws TinkerError if the server cannot be reached; EngineError if it cannot train policy gradients
 */
export async function createTinkerEngine(options: TinkerEngineOptions): Promise<TinkerEngine> {
  const { model: baseModel, rank, seed, vocabularySize, recoveries = 3 } = options;
  const client = await TinkerClient.connect(options);
  const served = client.models.find(({ name }) => name === baseModel);
  const limits = { vocabularySize, maxLength: Math.min(options.maxLength, served?.maxLength ?? Number.POSITIVE_INFINITY) };
  const settings = { baseModel, rank, seed, ...limits };
  const findings = options.findings ?? (await probe(client, settings));
  const open = async (from: string | undefined, fresh: boolean) => {
    const connected = fresh ? await TinkerClient.connect({ ...options, patienceMs: options.patienceMs ?? 300_000 }) : client;
    const model = await connected.createModel(settings);
    if (from !== undefined) await model.loadWeights(from, { optimizer: true });
    return { client: connected, model };
  };
  const recovering = new Recovering(await open(undefined, false), open, recoveries);
  return new TinkerEngine(recovering, findings, { ...options, maxLength: limits.maxLength });
}

async function probe(
  client: TinkerClient,
  settings: CreateModelOptions & { readonly vocabularySize: number },
): Promise<Findings> {
  const scratch = await client.createModel(settings);
  const findings = await probeServer(scratch, probeTokens(settings.vocabularySize));
  await scratch.unload();
  return findings;
}

/** Trains and samples a model on a Tinker server. */
export class TinkerEngine implements Engine {
  readonly info: EngineInfo;
  readonly findings: Findings;
  readonly #options: TinkerEngineOptions;
  readonly #remote: Recovering;
  readonly #order = new CallOrder();
  #steps = 0;
  #passes = 0;
  /** Passes whose results nobody waits for: they are sent with their step. */
  #unsent: ((model: TinkerModel) => Promise<unknown>)[] = [];
  #sampling = 0;
  /** The sampler of the present weights, on the present model. */
  #sampler: { readonly generation: number; readonly opened: Promise<TinkerSampler> } | undefined;
  #reference: { readonly path: string; readonly model: TinkerModel } | undefined;
  #stats = emptyStats();

  constructor(remote: Recovering, findings: Findings, options: TinkerEngineOptions) {
    this.#remote = remote;
    this.#options = options;
    this.findings = findings;
    this.info = {
      name: `${options.model} at ${remote.client.baseUrl}`,
      parameters: 0,
      vocabularySize: options.vocabularySize,
      maxLength: options.maxLength,
      fixedAdam: findings.adam ? undefined : (options.fixedAdam ?? skyrlAdam),
      logprobTolerance: Math.max(0.02, 10 * findings.logprobGap),
      capabilities: tinkerCapabilities({
        accumulates: findings.form.accumulates,
        adam: findings.adam,
        clips: findings.clips,
        topLogprobs: findings.topLogprobs,
      }),
    };
  }

  get weightVersion(): number {
    return this.#steps;
  }

  async sample(request: SampleRequest): Promise<SampledAction> {
    const { temperature = 1, topP = 1, topK = 0, context, stopTokens, stopStrings = [], signal, seed } = request;
    const greedy = temperature === 0;
    // Servers report log-probs of the model, not of a distribution that temperature, top-k and top-p have changed.
    if (!greedy && (temperature !== 1 || topP !== 1 || topK !== 0)) throw missingCapability(this.info, "tempered-logprobs");
    if (request.topLogprobs) requireCapability(this.info, "top-logprobs");
    if (stopStrings.length > 0 && this.#options.decode === undefined)
      throw new EngineError("stopStrings", stopStrings, { expected: "an engine made with `decode`" });
    if (!this.#order.idle) await this.#order.settled(); // a step that was called before
    const version = this.#steps;
    this.#sampling++;
    const start = performance.now();
    try {
      const maxTokens = Math.min(request.maxTokens, this.info.maxLength - context.length);
      const call = {
        prompt: context,
        maxTokens,
        temperature,
        seed: this.findings.wideSeeds ? seed >>> 0 : seed & 0x7fffffff,
        stop: stopTokens,
        topLogprobs: request.topLogprobs,
      };
      const { sequences } = await this.#remote.run(async (_, generation) =>
        (await this.#samplerOf(generation)).sample(call, { signal }),
      );
      const [{ tokens, logprobs, stopReason, topLogprobs }] = sequences;
      const end = stopAfter(tokens, stopStrings, this.#options.decode ?? (() => "")) ?? tokens.length;
      this.#stats.sampler.sampledTokens += end;
      this.#stats.sampler.prefilledTokens += context.length;
      return {
        tokens: tokens.slice(0, end),
        logprobs: logprobs.slice(0, end).map((lp) => (greedy ? 0 : lp)),
        modelLogprobs: logprobs.slice(0, end),
        entropies: [],
        ...(topLogprobs === undefined
          ? {}
          : {
              topLogprobs: topLogprobs.slice(0, end).map((each) => each.logprobs),
              topTokens: topLogprobs.slice(0, end).map((each) => each.tokens),
            }),
        finish: end < tokens.length ? "stop" : stopReason,
        weightVersion: version,
      };
    } finally {
      this.#sampling--;
      this.#stats.sampler.seconds += (performance.now() - start) / 1000;
    }
  }

  /** Servers keep their own caches. */
  release(): void {}

  async logprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    this.#requireTemperature(temperature);
    return this.#order.run(() => this.#remote.run(({ model }) => this.#forward(model, samples)));
  }

  async referenceLogprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    this.#requireTemperature(temperature);
    return this.#order.run(() => {
      if (this.#reference === undefined) {
        const hint = "Call snapshotReference() before training starts.";
        throw new EngineError("reference model", undefined, { expected: "a snapshot", hint });
      }
      return this.#forward(this.#reference.model, samples);
    });
  }

  /** Weights that are known take one request, decided ones two: the server cannot pause between the halves of a pass. */
  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature, entropyWeights }: BackwardOptions,
  ): Promise<Logprobs> {
    if (entropyWeights !== undefined) throw missingCapability(this.info, "entropy-gradient");
    this.#requireTemperature(temperature);
    return this.#order.run(async () => {
      if (this.#passes > 0) requireCapability(this.info, "gradient-accumulation");
      this.#passes++;
      if (typeof decide !== "function") return this.#backward(samples, decide);
      const logprobs = await this.#remote.run(({ model }) => this.#forward(model, samples));
      const weights = decide(logprobs);
      const trained = samples.flatMap((_, i) => (weights[i].some((w) => w !== 0) ? [i] : []));
      if (trained.length > 0)
        this.#defer(
          trained.map((i) => samples[i]),
          trained.map((i) => weights[i]),
        );
      return logprobs;
    });
  }

  async step(options: StepOptions): Promise<StepReport> {
    requireStepOptions(this.info, options);
    return this.#order.run(async () => {
      if (this.#sampling > 0) {
        throw new EngineError("weights", "changed while actions are being sampled", {
          hint: "Await or cancel all sampling before an optimiser step: otherwise an action would be drawn from two policies.",
        });
      }
      const { learningRate, clipNorm, ...adam } = options;
      const settings = { learningRate, ...adam, clipNorm: clipNorm === Number.POSITIVE_INFINITY ? 0 : clipNorm };
      if (this.#passes === 0) throw new EngineError("gradient", undefined, { expected: "a forwardBackward before a step" });
      const start = performance.now();
      const unsent = this.#unsent;
      this.#unsent = [];
      const { gradientNorm } = await this.#remote.apply(async (model) => {
        const passes = unsent.map((send) => send(model));
        const stepped = model.optimStep(settings);
        await Promise.all(passes);
        return stepped;
      });
      this.#stats.remote.waits++;
      this.#stats.training.seconds += (performance.now() - start) / 1000;
      this.#steps++;
      this.#passes = 0;
      this.#sampler = undefined;
      return { gradientNorm: gradientNorm ?? Number.NaN, learningRate };
    });
  }

  async freeze(): Promise<FrozenPolicy> {
    throw missingCapability(this.info, "frozen-policies");
  }

  async loadFrozen(): Promise<FrozenPolicy> {
    throw missingCapability(this.info, "frozen-policies");
  }

  async critic(): Promise<EngineCritic> {
    throw missingCapability(this.info, "critic");
  }

  /** The reference is a model of its own on the server, with the weights of now. */
  async snapshotReference(): Promise<void> {
    await this.#order.run(async () => {
      const path = await this.#remote.run(({ model }) => model.saveWeights(uniqueName("reference")));
      await this.#openReference(path);
    });
  }

  /** Downloads the weights: an adapter in PEFT format into `adapter/`, or a model. */
  async saveModel(folder: string): Promise<void> {
    await this.#order.run(async () => {
      const archive = await this.#remote.run(async ({ client, model }) => {
        const name = uniqueName("export");
        await model.saveForSampler(name);
        return client.downloadWeights(model.id, name);
      });
      this.#sampler = undefined; // sampling the older name again would load it over the live weights on some servers
      await writeWeights(folder, archive);
    });
  }

  async saveState(folder: string): Promise<void> {
    await this.#order.run(async () => {
      const path = await this.#remote.checkpoint((model) => model.saveWeights(uniqueName(`step-${this.#steps}`)));
      const { rank } = this.#options;
      const reference = this.#reference?.path ?? null;
      await writeRemoteState(folder, { url: this.#remote.client.baseUrl, path, steps: this.#steps, rank, reference });
    });
  }

  async loadState(folder: string): Promise<void> {
    await this.#order.run(async () => {
      const { url, path, steps, rank, reference } = await readRemoteState(folder);
      const { client } = this.#remote;
      if (rank !== this.#options.rank)
        throw new EngineError("rank of the saved state", rank, { expected: `${this.#options.rank}, of this engine` });
      if (url !== client.baseUrl) {
        const hint = "The state is on the server that wrote it.";
        throw new EngineError("server of the saved state", url, { expected: client.baseUrl, hint });
      }
      await this.#remote.restart(path);
      this.#steps = steps;
      this.#passes = 0;
      this.#unsent = [];
      this.#sampler = undefined;
      await this.#closeReference();
      if (reference !== null) await this.#openReference(reference);
    });
  }

  async dropState(folder: string): Promise<void> {
    const { path } = await readRemoteState(folder);
    if (path !== this.#remote.lastCheckpoint) await this.#remote.client.deleteWeights(path);
  }

  takeStats(): EngineStats {
    const stats = this.#stats;
    this.#stats = emptyStats();
    const { requests, sentBytes, receivedBytes } = this.#remote.client.takeStats();
    return { ...stats, remote: { ...stats.remote, requests, sentBytes, receivedBytes } };
  }

  async dispose(): Promise<void> {
    await this.#order.settled();
    await this.#closeReference();
    await this.#remote.close();
  }

  async #forward(model: TinkerModel, samples: readonly ActionInContext[]): Promise<number[][]> {
    if (samples.length === 0) return [];
    const packed = packSamples(samples);
    const start = performance.now();
    const { fields } = await model.forward(packed.data);
    this.#count(packed.data, samples, start);
    return unpackLogprobs(packed, fields.logprobs);
  }

  /** Log-probs are known already, so nobody waits for this pass: it travels right before its step, which waits for both. */
  #defer(samples: readonly ActionInContext[], weights: Weights): void {
    checkWeights(samples, weights);
    const { form } = this.findings;
    const packed = packSamples(samples);
    const data = form.inputs(packed.data, spreadWeights(packed, weights));
    this.#unsent.push((model) => model.forwardBackward(data, form.lossFn, form.config));
    this.#countTokens(packed.data, samples);
  }

  async #backward(samples: readonly ActionInContext[], weights: Weights): Promise<number[][]> {
    checkWeights(samples, weights);
    if (samples.length === 0) return [];
    const { form } = this.findings;
    const packed = packSamples(samples);
    const data = form.inputs(packed.data, spreadWeights(packed, weights));
    const start = performance.now();
    const { fields } = await this.#remote.apply((model) => model.forwardBackward(data, form.lossFn, form.config));
    this.#count(packed.data, samples, start);
    return unpackLogprobs(packed, fields.logprobs);
  }

  /** A sampler of the weights of now, saved when the first action of a version is drawn. */
  #samplerOf(generation: number): Promise<TinkerSampler> {
    if (this.#sampler?.generation !== generation) {
      const opened = this.#remote.current.saveForSampler(uniqueName(`sample-${this.#steps}`));
      opened.catch(() => {
        this.#sampler = undefined;
      });
      this.#sampler = { generation, opened };
    }
    return this.#sampler.opened;
  }

  async #openReference(path: string): Promise<void> {
    await this.#closeReference();
    const { vocabularySize } = this.#options;
    const limits = { vocabularySize, maxLength: this.info.maxLength, optimizer: false };
    this.#reference = { path, model: await this.#remote.client.loadModel(path, limits) };
  }

  async #closeReference(): Promise<void> {
    const reference = this.#reference;
    this.#reference = undefined;
    await reference?.model.unload().catch(() => {}); // a server that is gone has forgotten it
  }

  #requireTemperature(temperature: number): void {
    if (temperature !== 1) throw missingCapability(this.info, "tempered-logprobs");
  }

  /** A pass that was awaited. */
  #count(data: readonly Datum[], samples: readonly ActionInContext[], start: number): void {
    this.#stats.training.seconds += (performance.now() - start) / 1000;
    this.#stats.remote.waits++;
    this.#countTokens(data, samples);
  }

  #countTokens(data: readonly Datum[], samples: readonly ActionInContext[]): void {
    const { training, remote } = this.#stats;
    training.computedTokens += data.reduce((sum, { tokens }) => sum + tokens.length + 1, 0);
    training.denseTokens += samples.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
    remote.sharedTokens += distinctPrefixes(samples);
  }
}

function emptyStats() {
  return {
    sampler: { sampledTokens: 0, prefilledTokens: 0, seconds: 0 },
    training: { computedTokens: 0, denseTokens: 0, seconds: 0 },
    remote: { waits: 0, sharedTokens: 0 },
  };
}

/** Names of checkpoints are used once on a server, which may be older than this process. */
function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 8)}`;
}

/** Eight ids that every vocabulary of that size has, none of them among the first, which are often special. */
function probeTokens(vocabularySize: number): number[] {
  if (vocabularySize < 8) throw new EngineError("vocabularySize", vocabularySize, { expected: "at least 8 tokens" });
  return Array.from({ length: 8 }, (_, i) => Math.floor(((i + 1) * vocabularySize) / 9));
}

function checkWeights(samples: readonly ActionInContext[], weights: Weights): void {
  samples.forEach(({ action, trajectory, turn }, i) => {
    const where = `weights of turn ${turn} of trajectory ${trajectory}`;
    if (weights[i]?.length !== action.length)
      throw new EngineError(where, weights[i]?.length, { expected: `${action.length} numbers, one a token` });
    const bad = weights[i].find((w) => !Number.isFinite(w));
    if (bad !== undefined) throw new EngineError(where, bad, { expected: "finite numbers" });
  });
}
