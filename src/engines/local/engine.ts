import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { EngineError } from "../../core/errors.ts";
import type { Decide, Logprobs, StepReport, Weights } from "../../core/policy.ts";
import type { ActionInContext, TokenId } from "../../core/trajectory.ts";
import { CallOrder } from "../call-order.ts";
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
} from "../engine.ts";
import { requireCapability, requireStepOptions } from "../engine.ts";
import { localCapabilities } from "./capabilities.ts";
import type { Provider } from "./machine/device.ts";
import type { Runtime } from "./machine/runtime.ts";
import { writeBase } from "./model/adapted.ts";
import { adapterFolder, readAdapter, writeAdapter } from "./model/adapter-folder.ts";
import { type Arrays, copyOf } from "./model/arrays.ts";
import { requireWholeWeights } from "./model/broken-weights.ts";
import { entropyHead, logprobHead } from "./model/heads.ts";
import { initialiseAdapter, type LoraSettings, resolveLora, switchedOff } from "./model/lora.ts";
import { type ModelConfig, parameterCount } from "./model/model-config.ts";
import { loadModel, type Model, saveCompanions, saveModel } from "./model/model-folder.ts";
import {
  type BasePrecision,
  layerMatrices,
  type RoundedMatrices,
  type RoundedMatrix,
  type RoundedPrecision,
  roundedLogprobTolerance,
  roundedOf,
  roundLayers,
} from "./model/rounded.ts";
import { readSafetensors, type Tensor, writeSafetensors } from "./model/safetensors.ts";
import { type FrozenParts, LocalFrozenPolicy, readFrozen } from "./sampling/frozen.ts";
import { defaultCacheBytes } from "./sampling/prefix-cache.ts";
import type { LocalAction } from "./sampling/row.ts";
import { LocalSampler, type SamplerOptions } from "./sampling/sampler.ts";
import type { SamplerWeights } from "./sampling/sampling-graph.ts";
import { LocalCritic } from "./training/critic.ts";
import { Learner, type LearnerOptions, type TrainingCount } from "./training/learner.ts";
import { Workers } from "./workers/workers.ts";

export interface LocalEngineOptions {
  /** A Hugging Face-format folder. */
  readonly model: string;
  /** Threads that compute; all cores if left out. */
  readonly threads?: number;
  /**
   * The number of those who make passes of training side by side, each with one thread. 1 makes them one after another, with all threads. With as many
   * workers results are the same to the byte; with another number they differ by rounding. Default 1.
   */
  readonly workers?: number;
  /** The provider that computes; the CPU if left out. `chooseProvider` finds one that works. */
  readonly provider?: Provider;
  /** The library that runs ONNX models; ONNX Runtime's binding for Node if left out. */
  readonly runtime?: Runtime;
  /** Actions sampled side by side; 128 if left out. */
  readonly slots?: number;
  /** Longest sequence, context and action together; the model's own limit if left out. */
  readonly maxLength?: number;
  /** Text of an action so far; needed for stop strings only. */
  readonly decode?: (tokens: readonly TokenId[]) => string;
  /** Trains an adapter on the frozen model; the model itself if left out. */
  readonly lora?: LoraOptions;
  /** Whether layers compute their activations again in the backward half; where these would fill the memory if left out. */
  readonly recompute?: boolean;
  /** The bytes that a pass of training may hold at once. Default 2 GiB. */
  readonly passBytes?: number;
  /** The bytes that a pass may hold whose session stays open while actions are sampled. Default 320 MiB. */
  readonly restBytes?: number;
  /** The settings that the sampler computes with. */
  readonly sampling?: {
    /** Default "float32", and "int8" where the base of an adapter is in fewer bits: its layers are multiplied by as they are held. */
    readonly weights?: SamplerWeights;
    /** For keys and values of rollouts that wait for their next turn. Default 512 MiB. */
    readonly cacheBytes?: number;
    /** Whether weights are inputs of its session: slower with few rows, and not held again. Default: from 512 MiB on. */
    readonly weightsAsInputs?: boolean;
    /** Whether an action that is sampled alone is drafted from what was said before: faster, and equal up to rounding. Default false. */
    readonly lookup?: boolean;
  };
}

export interface LoraOptions extends LoraSettings {
  /** Decides the adapter's first values. */
  readonly seed: number;
  /** A folder in PEFT format: the adapter to go on with, made with the same settings. A new one if left out. */
  readonly from?: string;
  /** The precision that the matrices of the frozen layers are held in. Default "float32". */
  readonly base?: BasePrecision;
}

/**
 * Opens a model for sampling and training on this machine.
 * @throws ModelError if a folder is not a model, or an adapter, that it computes
 * @throws ConfigError for settings of an adapter that do not fit the model, or the adapter to go on with
 * @example
 * const engine = await createLocalEngine({ model: "models/office-classic", threads: 2 });
 * const { tokens } = await engine.sample({ context: [1, 2, 3], maxTokens: 8, stopTokens: [], seed: 1 });
 * await engine.dispose();
 */
export async function createLocalEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  const { lora } = options;
  const rounded = new Map<string, RoundedMatrix>();
  const precision = roundedBase(lora);
  const model = await loadModel(options.model, precision && roundLayers(rounded, precision));
  const config = adaptedConfig(model.config, lora);
  const adapter = lora?.from === undefined ? undefined : await readAdapter(lora.from, config);
  return new LocalEngine(model, options, adapter, rounded);
}

/** Bytes of parameters and moments up to which a restore point copies them. */
const mostRemembered = 512 * 2 ** 20;

/**
 * Trains and samples a transformer, or an adapter on one, with ONNX Runtime. All parameters and optimiser moments are float32.
 */
export class LocalEngine implements Engine {
  readonly info: EngineInfo;
  readonly #model: Model;
  readonly #config: ModelConfig;
  /** Those that learn: the adapter's if there is one, else the model's. */
  readonly #parameters: Map<string, Float32Array>;
  /** The others. */
  readonly #frozen: Map<string, Float32Array>;
  readonly #basePrecision: BasePrecision;
  /** The rest of them, in fewer bits. */
  readonly #rounded: RoundedMatrices | undefined;
  readonly #learner: Learner;
  readonly #learnerOptions: LearnerOptions;
  readonly #workers: Workers | undefined;
  readonly #sampler: LocalSampler;
  /** Whether a step was called since the last action. */
  #stepped = false;
  readonly #samplerOptions: SamplerOptions;
  readonly #count: TrainingCount = { computedTokens: 0, denseTokens: 0, seconds: 0 };
  readonly #order = new CallOrder();
  #reference: Map<string, Float32Array> | undefined;
  #critic: LocalCritic | undefined;

  constructor(
    model: Model,
    {
      model: name,
      threads = availableParallelism(),
      workers = 1,
      provider = "cpu",
      runtime,
      slots = 128,
      maxLength,
      decode,
      lora,
      recompute,
      passBytes,
      restBytes,
      sampling = {},
    }: LocalEngineOptions,
    adapter?: Map<string, Float32Array>,
    roundedLayers?: RoundedMatrices,
  ) {
    // An adapter is saved with the base below: the model's own arrays would be held beside its 8 bits.
    this.#model = lora === undefined ? model : { ...model, parameters: new Map() };
    this.#config = adaptedConfig(model.config, lora);
    const base = new Map([...model.parameters].map(([key, { data }]) => [key, data]));
    this.#parameters = lora === undefined ? base : (adapter ?? initialiseAdapter(this.#config, lora.seed));
    this.#frozen = lora === undefined ? new Map() : base;
    this.#basePrecision = lora?.base ?? "float32";
    const precision = roundedBase(lora);
    const weights = sampling.weights ?? (precision === undefined ? "float32" : "int8");
    if (weights === "float32" && precision !== undefined) {
      throw new EngineError("sampling.weights", weights, {
        expected: '"int8"',
        hint: `The base of the adapter is held in ${precision.slice(3)} bits, and in no other form: set lora.base to "float32" to sample with float32.`,
      });
    }
    const frozen = lora !== undefined && weights === "int8" ? roundedOf(model.config, base, roundedLayers, precision) : undefined;
    this.#rounded = precision && frozen;
    if (this.#rounded !== undefined && provider === "openvino")
      throw new EngineError("lora.base", lora?.base, {
        expected: '"float32" on openvino',
        hint: 'Products with a base in fewer bits are computed by ONNX Runtime alone: set device: "cpu".',
      });
    if (this.#rounded !== undefined) for (const key of layerMatrices(model.config)) base.delete(key);
    this.info = {
      name,
      parameters: parameterCount(model.config),
      vocabularySize: model.config.vocabSize,
      maxLength: Math.min(maxLength ?? Number.POSITIVE_INFINITY, model.config.maxPositionEmbeddings),
      // Sessions on WebGPU share one device, which takes one run at a time.
      capabilities: localCapabilities(provider),
      ...((weights === "int8" || provider === "openvino") && { logprobTolerance: roundedLogprobTolerance }),
    };
    if (workers > 1 && (provider !== "cpu" || runtime !== undefined || this.#rounded !== undefined))
      throw new EngineError("workers", workers, {
        expected: "1",
        hint: "Only sessions of float32 on the processor, in ONNX Runtime's binding for Node, can be made side by side.",
      });
    if (workers > 1)
      this.#workers = new Workers(workers - 1, {
        ...{ config: this.#config, learned: this.#parameters, frozen: this.#frozen, recompute, passBytes },
      });
    this.#learnerOptions = {
      threads,
      provider,
      runtime,
      maxLength: this.info.maxLength,
      count: this.#count,
      order: this.#order,
      frozen: this.#frozen,
      rounded: this.#rounded,
      recompute,
      passBytes,
      restBytes,
    };
    this.#learner = new Learner(this.#config, [logprobHead, entropyHead], this.#parameters, {
      ...this.#learnerOptions,
      workers: this.#workers,
    });
    const { cacheBytes = defaultCacheBytes, weightsAsInputs, lookup } = sampling;
    const { maxLength: longest } = this.info;
    this.#samplerOptions = {
      threads,
      // OpenVINO prepares each new shape, and a sampler has one for each length; its rounding is no nearer to the trainer's (docs/gpu.md).
      provider: provider === "openvino" ? "cpu" : provider,
      runtime,
      slots,
      maxLength: longest,
      cacheBytes,
      decode,
      weights,
      weightsAsInputs,
      lookup,
      rounded: frozen,
    };
    this.#sampler = new LocalSampler(this.#config, this.#all(), 0, this.#samplerOptions);
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
      const reference = this.#reference ?? (this.#config.lora && switchedOff(this.#parameters));
      if (reference) return this.#learner.forward(samples, { temperature, parameters: reference });
      throw new EngineError("reference model", undefined, {
        expected: "a snapshot",
        hint: "Call snapshotReference() before training starts.",
      });
    });
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature, entropyWeights }: BackwardOptions,
  ): Promise<Logprobs> {
    const further = entropyWeights === undefined ? [] : [entropyWeights];
    const ofWhole = typeof decide === "function" ? (logprobs: Logprobs) => decide(this.#whole(logprobs)) : decide;
    return this.#order.run(async () => {
      await this.#sampler.rest(); // its memory and that of passes are not held at once
      return this.#whole(await this.#learner.forwardBackward(samples, ofWhole, further, { temperature }));
    });
  }

  /** @throws EngineError naming the weights, if log-probs are NaN because of them */
  #whole(logprobs: Logprobs): Logprobs {
    return requireWholeWeights(logprobs, () => this.#all());
  }

  async step(options: StepOptions): Promise<StepReport> {
    requireStepOptions(this.info, options);
    this.#stepped = true;
    return this.#order.run(async () => {
      this.#learner.requireGradient();
      this.#sampler.requireIdle(); // before anything has changed
      const start = performance.now();
      const gradientNorm = this.#learner.step(options);
      await this.#sampler.update(this.#all(), this.weightVersion);
      this.#count.seconds += (performance.now() - start) / 1000;
      return { gradientNorm, learningRate: options.learningRate };
    });
  }

  async freeze(): Promise<FrozenPolicy> {
    const parts = this.#frozenParts();
    return this.#order.run(() => new LocalFrozenPolicy(parts, copyOf(this.#parameters), this.weightVersion));
  }

  async loadFrozen(folder: string): Promise<FrozenPolicy> {
    const { parameters, weightVersion } = await readFrozen(folder, this.#parameters);
    return new LocalFrozenPolicy(this.#frozenParts(), parameters, weightVersion);
  }

  async critic(): Promise<LocalCritic> {
    return this.#order.run(() => (this.#critic ??= LocalCritic.from(this.#parameters, this.#config, this.#learnerOptions)));
  }

  async snapshotReference(): Promise<void> {
    await this.#order.run(() => {
      this.#reference = copyOf(this.#parameters);
    });
  }

  /**
   * In the precision that the folder was read in would lose small steps: float32 always. Of an adapter nothing but itself is written, into
   * `adapter/`, with the name of its base: `loadModel` merges the two.
   */
  async saveModel(folder: string): Promise<void> {
    await this.#order.run(() => this.#saveModel(folder));
  }

  async #saveModel(folder: string): Promise<void> {
    if (this.#config.lora === undefined) return saveModel(folder, this.#model, { dtype: "float32" });
    await saveCompanions(folder, this.#model);
    await this.#saveAdapter(join(folder, adapterFolder));
    await writeBase(folder, resolve(this.info.name), this.#basePrecision);
  }

  /** Writes the adapter alone, in PEFT format. @throws EngineError if the engine trains the model itself */
  async saveAdapter(folder: string): Promise<void> {
    await this.#order.run(() => this.#saveAdapter(folder));
  }

  async #saveAdapter(folder: string): Promise<void> {
    if (this.#config.lora === undefined)
      throw new EngineError("adapter", undefined, { expected: "an engine made with `lora`", hint: "Use saveModel." });
    await writeAdapter(folder, { config: this.#config, adapter: this.#parameters, base: this.info.name });
  }

  async saveState(folder: string): Promise<void> {
    await this.#order.run(() => this.#saveState(folder));
  }

  async #saveState(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    if (this.#config.lora === undefined) await this.#saveModel(join(folder, "model"));
    else await this.#saveAdapter(join(folder, adapterFolder)); // the base is where it was
    await writeSafetensors(join(folder, "optimiser.safetensors"), this.#learner.optimiser.tensors(), { dtype: "float32" });
    const reference = join(folder, "reference.safetensors");
    if (this.#reference)
      await writeSafetensors(reference, tensorsOf(this.#reference, logprobHead.parameterShapes(this.#config)), {
        dtype: "float32",
      });
    else await rm(reference, { force: true }); // of an older state in the same folder
    if (this.#critic) await this.#critic.save(folder);
    else await LocalCritic.remove(folder);
  }

  async loadState(folder: string): Promise<void> {
    await this.#order.run(() => this.#loadState(folder));
  }

  /** All of a state is in its folder. */
  async dropState(): Promise<void> {}

  async #loadState(folder: string): Promise<void> {
    this.#sampler.requireIdle();
    const saved = await this.#savedParameters(folder);
    const copies = [...this.#parameters].map(([name, data]) => {
      const from = saved.get(name);
      if (from?.length !== data.length) {
        throw new EngineError(`checkpoint ${folder}`, `${name} of another size`, {
          expected: `the parameters of ${this.info.name}`,
        });
      }
      return { data, from };
    });
    const referenceFile = join(folder, "reference.safetensors");
    const reference = existsSync(referenceFile) ? await readSafetensors(referenceFile) : undefined;
    const critic = await LocalCritic.load(folder, this.#config, this.#learnerOptions);
    const moments = join(folder, "optimiser.safetensors");
    this.#learner.optimiser.restore(await readSafetensors(moments), moments);
    for (const { data, from } of copies) data.set(from);
    await this.#critic?.close();
    this.#critic = critic;
    this.#reference = reference && new Map([...reference].map(([name, { data }]) => [name, data]));
    this.#learner.forgetGradient();
    await this.#sampler.update(this.#all(), this.weightVersion);
  }

  async restorePoint(): Promise<RestorePoint> {
    const learners = [this.#learner, ...(this.#critic === undefined ? [] : [this.#critic.learner])];
    const arrays = learners.flatMap(({ parameters }) => [...parameters.values()]);
    const overSteps = 3 * arrays.reduce((sum, { byteLength }) => sum + byteLength, 0) <= mostRemembered;
    const back = await this.#order.run(() => learners.map((learner) => (overSteps ? learner.remember() : () => {})));
    const restore = async () => {
      await this.#order.breakOff();
      await this.#order.run(async () => {
        for (const putBack of back) putBack();
        for (const learner of learners) learner.forgetGradient();
        if (overSteps) await this.#sampler.update(this.#all(), this.weightVersion);
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
    await this.#workers?.close();
  }

  async #savedParameters(folder: string): Promise<Arrays> {
    if (this.#config.lora !== undefined) return readAdapter(join(folder, adapterFolder), this.#config);
    const { parameters } = await loadModel(join(folder, "model"));
    return new Map([...parameters].map(([name, { data }]) => [name, data]));
  }

  #frozenParts(): FrozenParts {
    requireCapability(this.info, "frozen-policies");
    const [info, config, samplerOptions, order] = [this.info, this.#config, this.#samplerOptions, this.#order];
    return { info, config, samplerOptions, learner: this.#learner, order, base: this.#frozen };
  }

  /** Returns the arrays that the sampler computes with. */
  #all(): Arrays {
    return new Map([...this.#frozen, ...this.#parameters]);
  }
}

function roundedBase({ base = "float32" }: Pick<LoraOptions, "base"> = {}): RoundedPrecision | undefined {
  return base === "float32" ? undefined : base;
}

/** @throws ConfigError where the settings do not fit the model */
function adaptedConfig(config: ModelConfig, lora: LoraSettings | undefined): ModelConfig {
  return lora === undefined ? config : { ...config, lora: resolveLora(config, lora) };
}

/** Arrays with the shapes of their names. */
function tensorsOf(arrays: Arrays, shapes: ReadonlyMap<string, readonly number[]>): Map<string, Tensor> {
  return new Map([...arrays].map(([name, data]) => [name, { shape: shapes.get(name) ?? [data.length], data }]));
}
