import { EngineError } from "../../../src/core/errors.ts";
import type { Decide, Logprobs, SteppedPass, StepReport, Weights } from "../../../src/core/policy.ts";
import { present } from "../../../src/core/present.ts";
import type { ActionInContext, TokenId } from "../../../src/core/trajectory.ts";
import { CallOrder } from "../../../src/engines/call-order.ts";
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
} from "../../../src/engines/engine.ts";
import {
  type CreateModelOptions,
  type ForwardBackwardResult,
  TinkerClient,
  type TinkerModel,
  type TinkerOptions,
} from "../client/index.ts";
import { tinkerCapabilities } from "./capabilities.ts";
import { backwardPass, byGradient, checkWeights, forwardPass, logprobsOf, type Pass } from "./passes.ts";
import { type Findings, probeServer } from "./probe.ts";
import { Recovering } from "./recovering.ts";
import { RemoteReference } from "./reference.ts";
import { RemoteSampling, requestOf, uniqueName } from "./sampling.ts";
import { readRemoteState, writeRemoteState, writeWeights } from "./state.ts";
import { Tally } from "./tally.ts";

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
  settings: CreateModelOptions & { readonly vocabularySize: number; readonly maxLength: number },
): Promise<Findings> {
  const scratch = await client.createModel(settings);
  const findings = await probeServer(scratch, probeTokens(settings));
  await scratch.unload();
  return findings;
}

/** Four steps of bfloat16 between 8 and 16 nats: sampler and trainer round the same log-prob by different ways. */
const bfloat16Gap = 0.25;

/** Trains and samples a model on a Tinker server. */
export class TinkerEngine implements Engine {
  readonly info: EngineInfo;
  readonly findings: Findings;
  readonly #options: TinkerEngineOptions;
  readonly #remote: Recovering;
  readonly #order = new CallOrder();
  readonly #sampling: RemoteSampling;
  #steps = 0;
  #passes = 0;
  /** Passes whose results nobody waits for: they are sent with their step. */
  #unsent: ((model: TinkerModel) => Promise<unknown>)[] = [];
  readonly #reference: RemoteReference;
  readonly #tally = new Tally();

  constructor(remote: Recovering, findings: Findings, options: TinkerEngineOptions) {
    this.#remote = remote;
    this.#sampling = new RemoteSampling(remote, this.#tally);
    this.#options = options;
    const limits = { vocabularySize: options.vocabularySize, maxLength: options.maxLength, optimizer: false };
    this.#reference = new RemoteReference((path) => remote.client.loadModel(path, limits));
    this.findings = findings;
    this.info = {
      name: `${options.model} at ${remote.client.baseUrl}`,
      parameters: 0,
      vocabularySize: options.vocabularySize,
      maxLength: options.maxLength,
      fixedAdam: findings.adam ? undefined : (options.fixedAdam ?? skyrlAdam),
      logprobTolerance: Math.max(findings.bfloat16 ? bfloat16Gap : 0.02, 10 * findings.logprobGap),
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
    const wanted = requestOf(request, this.info, this.findings.wideSeeds, this.#options.decode);
    if (!this.#order.idle) await this.#order.settled(); // a step that was called before
    return this.#sampling.sample(wanted, this.#steps);
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
      // The server that lost the model has lost its reference too: a new model gets a new one.
      return this.#remote.run(async (_, generation) => this.#forward(await this.#reference.model(generation), samples));
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
      this.#requirePassAllowed();
      if (typeof decide !== "function") {
        const logprobs = await this.#backward(samples, decide);
        this.#passes++;
        return logprobs;
      }
      const logprobs = await this.#remote.run(({ model }) => this.#forward(model, samples));
      const weights = decide(logprobs);
      checkWeights(samples, weights);
      const { moving } = byGradient(samples, weights);
      if (moving.samples.length > 0) this.#defer(moving.samples, moving.weights);
      this.#passes++;
      return logprobs;
    });
  }

  async step(options: StepOptions): Promise<StepReport> {
    requireStepOptions(this.info, options);
    return this.#order.run(async () => {
      if (this.#passes === 0) throw new EngineError("gradient", undefined, { expected: "a forwardBackward before a step" });
      return (await this.#stepAfter([], options)).report;
    });
  }

  /** Samples whose weights are all 0 are scored by a forward pass of their own, which travels beside. */
  async passAndStep(
    samples: readonly ActionInContext[],
    weights: Weights,
    { temperature }: ForwardOptions,
    options: StepOptions,
  ): Promise<SteppedPass> {
    this.#requireTemperature(temperature);
    requireStepOptions(this.info, options);
    return this.#order.run(async () => {
      this.#requirePassAllowed();
      checkWeights(samples, weights);
      const { moving, scored } = byGradient(samples, weights);
      const passes: Pass[] = [];
      if (moving.samples.length > 0) passes.push(backwardPass(moving.samples, moving.weights, this.findings.form));
      if (scored.samples.length > 0) passes.push(forwardPass(scored.samples));
      const { rows, report } = await this.#stepAfter(passes, options);
      const logprobs: number[][] = [];
      [...moving.indices, ...scored.indices].forEach((i, j) => {
        logprobs[i] = present(rows[j], "the log-probs of a sample");
      });
      return { logprobs, report };
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
      await this.#reference.open(path, this.#remote.generation);
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
      this.#sampling.outdate(); // sampling the older name again would load it over the live weights on some servers
      await writeWeights(folder, archive);
    });
  }

  async saveState(folder: string): Promise<void> {
    await this.#order.run(async () => {
      const path = await this.#remote.checkpoint((model) => model.saveWeights(uniqueName(`step-${this.#steps}`)));
      const { rank } = this.#options;
      const reference = this.#reference.path ?? null;
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
      this.#sampling.outdate();
      await this.#reference.close();
      if (reference !== null) await this.#reference.open(reference, this.#remote.generation);
    });
  }

  async dropState(folder: string): Promise<void> {
    const { path } = await readRemoteState(folder);
    if (path !== this.#remote.lastCheckpoint) await this.#remote.client.deleteWeights(path);
  }

  takeStats(): EngineStats {
    return this.#tally.take(this.#remote.client.takeStats());
  }

  async dispose(): Promise<void> {
    await this.#order.settled();
    await this.#reference.close();
    await this.#remote.close();
  }

  async #forward(model: TinkerModel, samples: readonly ActionInContext[]): Promise<number[][]> {
    return samples.length === 0 ? [] : this.#waitFor(forwardPass(samples), (pass) => pass.send(model));
  }

  async #backward(samples: readonly ActionInContext[], weights: Weights): Promise<number[][]> {
    checkWeights(samples, weights);
    if (samples.length === 0) return [];
    const pass = backwardPass(samples, weights, this.findings.form);
    return this.#waitFor(pass, ({ send }) => this.#remote.apply(send));
  }

  async #waitFor(pass: Pass, send: (pass: Pass) => Promise<ForwardBackwardResult>): Promise<number[][]> {
    const start = performance.now();
    const result = await send(pass);
    this.#tally.sent(pass);
    this.#tally.waitedSince(start);
    return logprobsOf(pass, result);
  }

  /** Log-probs are known already, so nobody waits for this pass: it travels beside the last ones before its step. */
  #defer(samples: readonly ActionInContext[], weights: Weights): void {
    const pass = backwardPass(samples, weights, this.findings.form);
    this.#unsent.push(pass.send);
    this.#tally.sent(pass);
  }

  /** Sends passes together, and the step once they are done. @returns the log-probs of the samples of `passes` */
  async #stepAfter(passes: readonly Pass[], options: StepOptions): Promise<{ rows: readonly number[][]; report: StepReport }> {
    if (this.#sampling.inFlight > 0) {
      throw new EngineError("weights", "changed while actions are being sampled", {
        hint: "Await or cancel all sampling before an optimiser step: otherwise an action would be drawn from two policies.",
      });
    }
    const { learningRate, clipNorm, ...adam } = options;
    const settings = { learningRate, ...adam, clipNorm: clipNorm === Number.POSITIVE_INFINITY ? 0 : clipNorm };
    const start = performance.now();
    const unsent = this.#unsent;
    this.#unsent = [];
    const { rows, gradientNorm } = await this.#remote.apply(async (model) => {
      const before = unsent.map((send) => send(model));
      const sent = passes.map(async (pass) => logprobsOf(pass, await pass.send(model)));
      const [rows] = await Promise.all([Promise.all(sent), Promise.all(before)]);
      return { rows: rows.flat(), ...(await model.optimStep(settings)) };
    });
    for (const pass of passes) this.#tally.sent(pass);
    this.#tally.waitedSince(start, passes.length + unsent.length > 0 ? 2 : 1);
    this.#steps++;
    this.#passes = 0;
    this.#sampling.outdate();
    return { rows, report: { gradientNorm: gradientNorm ?? Number.NaN, learningRate } };
  }

  #requirePassAllowed(): void {
    if (this.#passes > 0) requireCapability(this.info, "gradient-accumulation");
  }

  #requireTemperature(temperature: number): void {
    if (temperature !== 1) throw missingCapability(this.info, "tempered-logprobs");
  }
}

/** Ids that every vocabulary of that size has, spread over it. The first eight are none of its first, which are often special. */
function probeTokens({ vocabularySize, maxLength }: { readonly vocabularySize: number; readonly maxLength: number }): number[] {
  if (vocabularySize < 8) throw new EngineError("vocabularySize", vocabularySize, { expected: "at least 8 tokens" });
  const few = Array.from({ length: 8 }, (_, i) => Math.floor(((i + 1) * vocabularySize) / 9));
  const more = Array.from({ length: 57 }, (_, i) => Math.floor((((i * 23) % 57) * vocabularySize) / 57));
  return [...few, ...more].slice(0, Math.max(8, maxLength));
}
