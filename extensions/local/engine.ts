import { availableParallelism } from "node:os";
import { EngineError } from "../../src/core/errors.ts";
import type { Decide, Logprobs, StepReport, Weights } from "../../src/core/policy.ts";
import type { ActionInContext } from "../../src/core/trajectory.ts";
import { CallOrder } from "../../src/engines/call-order.ts";
import type {
  BackwardOptions,
  Engine,
  EngineInfo,
  EngineStats,
  ForwardOptions,
  FrozenPolicy,
  RestorePoint,
  SampleRequest,
  StepOptions,
} from "../../src/engines/engine.ts";
import { requireCapability, requireStepOptions } from "../../src/engines/engine.ts";
import { localCapabilities } from "./capabilities.ts";
import { adaptedConfig, arraysOf, deviceParameters, type HeldModel, holdModel } from "./held.ts";
import { isGpu } from "./machine/device.ts";
import { gpuBytes } from "./machine/gpu-memory.ts";
import { readAdapter } from "./model/adapter-folder.ts";
import { copyOf } from "./model/arrays.ts";
import { requireWholeWeights } from "./model/broken-weights.ts";
import { entropyHead, logprobHead } from "./model/heads.ts";
import { switchedOff } from "./model/lora.ts";
import { parameterCount } from "./model/model-config.ts";
import { loadModel, type Model } from "./model/model-folder.ts";
import { type RoundedMatrices, type RoundedMatrix, roundedLogprobTolerance, roundLayers } from "./model/rounded.ts";
import { type LocalEngineOptions, requireConsistent, roundedBase, samplerWeights } from "./options.ts";
import { staysOnDevice } from "./sampling/device-sampling.ts";
import { type FrozenParts, frozenPolicy, readFrozen } from "./sampling/frozen.ts";
import { defaultCacheBytes } from "./sampling/prefix-cache.ts";
import type { LocalAction } from "./sampling/row.ts";
import { LocalSampler, type SamplerOptions } from "./sampling/sampler.ts";
import { readState, writeHeldAdapter, writeModel, writeState } from "./state.ts";
import { LocalCritic } from "./training/critic.ts";
import { Learner, type LearnerOptions, type TrainingCount } from "./training/learner.ts";
import type { ParameterStore, Placed } from "./training/parameter-store.ts";

/**
 * Opens a model for sampling and training on this machine.
 * @throws ModelError if a folder is not a model, or an adapter, that it computes
 * @throws ConfigError for settings of an adapter that do not fit the model, or the adapter to go on with
 * @throws EngineError for options that exclude each other
 * @example
 * const engine = await createLocalEngine({ model: "models/office", threads: 2 });
 * const { tokens } = await engine.sample({ context: [1, 2, 3], maxTokens: 8, stopTokens: [], seed: 1 });
 * await engine.dispose();
 */
export async function createLocalEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  requireConsistent(options);
  const { lora } = options;
  const rounded = new Map<string, RoundedMatrix>();
  const precision = roundedBase(lora);
  const model = await loadModel(options.model, precision && roundLayers(rounded, precision));
  const config = adaptedConfig(model.config, lora);
  const adapter = lora?.from === undefined ? undefined : await readAdapter(lora.from, config);
  return new LocalEngine(model, options, adapter, rounded);
}

/** Bytes of parameters and moments up to which a restore point copies them. */
const maxRemembered = 512 * 2 ** 20;

/**
 * Trains and samples a transformer, or an adapter on one, with ONNX Runtime. All parameters and optimiser moments are float32.
 */
export class LocalEngine implements Engine {
  readonly info: EngineInfo;
  readonly #held: HeldModel;
  readonly #learner: Learner;
  readonly #learnerOptions: LearnerOptions;
  readonly #sampler: LocalSampler;
  readonly #samplerOptions: SamplerOptions;
  readonly #staysOnDevice: boolean;
  /** Whether a step was called since the last action. */
  #stepped = false;
  readonly #count: TrainingCount = { computedTokens: 0, denseTokens: 0, seconds: 0 };
  readonly #order = new CallOrder();
  #reference: ParameterStore | undefined;
  #critic: LocalCritic | undefined;

  constructor(model: Model, options: LocalEngineOptions, adapter?: Map<string, Float32Array>, roundedLayers?: RoundedMatrices) {
    requireConsistent(options);
    const { threads = availableParallelism(), provider = "cpu", runtime, slots = 128, maxLength } = options;
    const { decode, precision, recompute, restBytes, sampling = {} } = options;
    const held = holdModel(model, options, adapter, roundedLayers);
    const { config, learned, frozen, sampled } = held;
    // For good a GPU holds each parameter, and of those that learn a gradient, what is added to it, and two moments.
    const forGood = frozen.bytes + 5 * learned.bytes;
    const passBytes = options.passBytes ?? (isGpu(provider) ? gpuBytes("pass", forGood) : undefined);
    const weights = samplerWeights(options);
    this.#held = held;
    this.info = {
      name: held.name,
      parameters: parameterCount(model.config),
      vocabularySize: config.vocabSize,
      maxLength: Math.min(maxLength ?? Number.POSITIVE_INFINITY, config.maxPositionEmbeddings),
      // Sessions on WebGPU share one device, which takes one run at a time.
      capabilities: localCapabilities(provider),
      ...((weights === "int8" || precision === "bfloat16") && { logprobTolerance: roundedLogprobTolerance }),
    };
    this.#learnerOptions = {
      ...{ threads, provider, runtime, precision, maxLength: this.info.maxLength },
      ...{ count: this.#count, order: this.#order, frozen, rounded: held.precision === "float32" ? undefined : sampled },
      ...{ recompute, passBytes, restBytes },
    };
    this.#learner = new Learner(config, [logprobHead, entropyHead], learned, this.#learnerOptions);
    const { weightsAsInputs } = sampling;
    const cacheBytes = sampling.cacheBytes ?? (isGpu(provider) ? gpuBytes("cache", forGood) : undefined) ?? defaultCacheBytes;
    this.#samplerOptions = {
      ...{ threads, provider, runtime, precision, slots, maxLength: this.info.maxLength },
      ...{ cacheBytes, decode, weights, weightsAsInputs, rounded: sampled },
    };
    // On a device the sampler computes with the tensors that steps change, and needs no arrays.
    this.#staysOnDevice = staysOnDevice(config, this.#samplerOptions);
    const placed = () => deviceParameters(held);
    const arrays = this.#staysOnDevice ? new Map() : new Map([...frozen.arrays, ...learned.arrays]);
    this.#sampler = new LocalSampler(config, arrays, 0, { ...this.#samplerOptions, ...(this.#staysOnDevice && { placed }) });
  }

  get weightVersion(): number {
    return this.#learner.optimiser.steps;
  }

  async sample(request: SampleRequest): Promise<LocalAction> {
    // Several steps in a row keep their sessions: what passes took is given back before the first action after them.
    if (this.#stepped) {
      this.#stepped = false;
      await this.#order.run(() => this.#learner.rest());
    } else if (!this.#order.idle) await this.#order.settled(); // a step that was called before
    return this.#sampler.sample(request);
  }

  release(cacheKey: string): void {
    this.#sampler.release(cacheKey);
  }

  async logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs> {
    return this.#order.run(async () => {
      await this.#sampler.rest();
      return this.#whole(await this.#learner.forward(samples, options));
    });
  }

  async referenceLogprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    return this.#order.run(async () => {
      await this.#sampler.rest();
      // The base is the reference of an adapter, unless another state of it was frozen.
      const reference = await this.#referenceParameters();
      if (reference) return this.#learner.forward(samples, { temperature, parameters: reference });
      throw new EngineError("reference model", undefined, {
        expected: "a snapshot",
        hint: "Call snapshotReference() before training starts.",
      });
    });
  }

  async #referenceParameters(): Promise<Placed | undefined> {
    if (this.#reference) return this.#reference.placed();
    const { config, learned } = this.#held;
    return config.lora && switchedOff(await learned.placed(), learned.shapes);
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature, entropyWeights }: BackwardOptions,
  ): Promise<Logprobs> {
    const further = entropyWeights === undefined ? [] : [entropyWeights];
    const ofWhole = typeof decide === "function" ? async (logprobs: Logprobs) => decide(await this.#whole(logprobs)) : decide;
    return this.#order.run(async () => {
      await this.#sampler.rest(); // its memory and that of passes are not held at once
      return this.#whole(await this.#learner.forwardBackward(samples, ofWhole, further, { temperature }));
    });
  }

  /** @throws EngineError naming the weights, if log-probs are NaN because of them */
  #whole(logprobs: Logprobs): Promise<Logprobs> {
    return requireWholeWeights(logprobs, () => arraysOf(this.#held));
  }

  async step(options: StepOptions): Promise<StepReport> {
    requireStepOptions(this.info, options);
    this.#stepped = true;
    return this.#order.run(async () => {
      this.#learner.requireGradient();
      this.#sampler.requireIdle(); // before anything has changed
      const start = performance.now();
      const gradientNorm = await this.#learner.step(options);
      await this.#updateSampler();
      this.#count.seconds += (performance.now() - start) / 1000;
      return { gradientNorm, learningRate: options.learningRate };
    });
  }

  async freeze(): Promise<FrozenPolicy> {
    const parts = this.#frozenParts();
    return this.#order.run(async () => {
      return frozenPolicy(parts, await copyOf(await this.#held.learned.host()), this.weightVersion);
    });
  }

  async loadFrozen(folder: string): Promise<FrozenPolicy> {
    const { parameters, weightVersion } = await readFrozen(folder, this.#held.learned.shapes);
    return frozenPolicy(this.#frozenParts(), parameters, weightVersion);
  }

  async critic(): Promise<LocalCritic> {
    return this.#order.run(async () => {
      const { learned, config } = this.#held;
      return (this.#critic ??= await LocalCritic.from(await learned.host(), config, this.#learnerOptions));
    });
  }

  async snapshotReference(): Promise<void> {
    await this.#order.run(async () => this.#setReference(await this.#held.learned.copy()));
  }

  async saveModel(folder: string): Promise<void> {
    await this.#order.run(() => writeModel(folder, this.#held));
  }

  /** Writes the adapter alone, in PEFT format. @throws EngineError if the engine trains the model itself */
  async saveAdapter(folder: string): Promise<void> {
    await this.#order.run(() => writeHeldAdapter(folder, this.#held));
  }

  async saveState(folder: string): Promise<void> {
    const { optimiser } = this.#learner;
    await this.#order.run(() => writeState(folder, this.#held, { optimiser, reference: this.#reference, critic: this.#critic }));
  }

  async loadState(folder: string): Promise<void> {
    await this.#order.run(() => this.#loadState(folder));
  }

  /** All of a state is in its folder. */
  async dropState(): Promise<void> {}

  async #loadState(folder: string): Promise<void> {
    this.#sampler.requireIdle();
    const { optimiser } = this.#learner;
    const { reference, critic } = await readState(folder, this.#held, { optimiser, options: this.#learnerOptions });
    await this.#critic?.close();
    this.#critic = critic;
    await this.#setReference(reference);
    await this.#learner.forgetGradient();
    await this.#updateSampler();
  }

  async restorePoint(): Promise<RestorePoint> {
    const learners = [this.#learner, ...(this.#critic === undefined ? [] : [this.#critic.learner])];
    const overSteps = 3 * learners.reduce((sum, { parameters }) => sum + parameters.bytes, 0) <= maxRemembered;
    const back: (() => Promise<void>)[] = [];
    if (overSteps)
      await this.#order.run(async () => {
        for (const learner of learners) back.push(await learner.optimiser.remember());
      });
    const restore = async () => {
      await this.#order.breakOff();
      await this.#order.run(async () => {
        for (const putBack of back) await putBack();
        for (const learner of learners) await learner.forgetGradient();
        if (overSteps) await this.#updateSampler();
      });
    };
    return { overSteps, restore };
  }

  takeStats(): EngineStats {
    const training = { ...this.#count };
    Object.assign(this.#count, { computedTokens: 0, denseTokens: 0, seconds: 0 } satisfies TrainingCount);
    return { sampler: this.#sampler.takeStats(), training };
  }

  async dispose(): Promise<void> {
    await this.#order.settled();
    await this.#sampler.close();
    await this.#learner.close();
    await this.#critic?.close();
    await this.#setReference(undefined);
    await this.#held.frozen.dispose();
  }

  #frozenParts(): FrozenParts {
    requireCapability(this.info, "frozen-policies");
    const { config, frozen: base } = this.#held;
    return { info: this.info, config, samplerOptions: this.#samplerOptions, learner: this.#learner, order: this.#order, base };
  }

  async #setReference(reference: ParameterStore | undefined): Promise<void> {
    await this.#reference?.dispose();
    this.#reference = reference;
  }

  async #updateSampler(): Promise<void> {
    const arrays = this.#staysOnDevice ? new Map() : await arraysOf(this.#held);
    await this.#sampler.update(arrays, this.weightVersion);
  }
}
