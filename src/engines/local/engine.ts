import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { EngineError } from "../../core/errors.ts";
import { capabilities, type Decide, type Logprobs, type StepReport, type Weights } from "../../core/policy.ts";
import type { ActionInContext, TokenId } from "../../core/trajectory.ts";
import type {
  BackwardOptions,
  Engine,
  EngineInfo,
  EngineStats,
  ForwardOptions,
  SampledAction,
  SampleRequest,
  StepOptions,
} from "../engine.ts";
import { LocalCritic } from "./critic.ts";
import { entropyHead, logprobHead } from "./heads.ts";
import { Learner, type LearnerOptions, type TrainingCount } from "./learner.ts";
import { loadModel, type Model, saveModel } from "./model-folder.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";
import { LocalSampler } from "./sampler.ts";
import type { Arrays } from "./training-graph.ts";

export interface LocalEngineOptions {
  /** A Hugging Face-format folder. */
  readonly model: string;
  /** Threads of ONNX Runtime; all cores if left out. */
  readonly threads?: number;
  /** Actions sampled side by side; 128 if left out. */
  readonly slots?: number;
  /** Longest sequence, context and action together; the model's own limit if left out. */
  readonly maxLength?: number;
  /** Text of an action so far; needed for stop strings only. */
  readonly decode?: (tokens: readonly TokenId[]) => string;
}

/** Keys and values of rollouts that wait for their next turn. */
const cacheBytes = 512 * 2 ** 20;

/** Opens a model for sampling and training on this machine. @throws ModelError if the folder is not a model that it computes */
export async function createLocalEngine(options: LocalEngineOptions): Promise<LocalEngine> {
  return new LocalEngine(await loadModel(options.model), options);
}

/** Trains and samples a transformer with ONNX Runtime. All parameters and optimiser moments are float32. */
export class LocalEngine implements Engine {
  readonly info: EngineInfo;
  readonly #model: Model;
  readonly #parameters: Map<string, Float32Array>;
  readonly #learner: Learner;
  readonly #learnerOptions: LearnerOptions;
  readonly #sampler: LocalSampler;
  readonly #count: TrainingCount = { computedTokens: 0, denseTokens: 0, seconds: 0 };
  #reference: Map<string, Float32Array> | undefined;
  #critic: LocalCritic | undefined;

  constructor(
    model: Model,
    { model: name, threads = availableParallelism(), slots = 128, maxLength, decode }: LocalEngineOptions,
  ) {
    this.#model = model;
    this.#parameters = new Map([...model.parameters].map(([key, { data }]) => [key, data]));
    this.info = {
      name,
      parameters: [...this.#parameters.values()].reduce((sum, { length }) => sum + length, 0),
      vocabularySize: model.config.vocabSize,
      maxLength: Math.min(maxLength ?? Number.POSITIVE_INFINITY, model.config.maxPositionEmbeddings),
      capabilities,
    };
    this.#learnerOptions = { threads, maxLength: this.info.maxLength, count: this.#count };
    this.#learner = new Learner(model.config, [logprobHead, entropyHead], this.#parameters, this.#learnerOptions);
    const samplerOptions = { threads, slots, maxLength: this.info.maxLength, cacheBytes, decode };
    this.#sampler = new LocalSampler(model.config, this.#parameters, 0, samplerOptions);
  }

  get weightVersion(): number {
    return this.#learner.optimiser.steps;
  }

  // `async` so that what is wrong with a request rejects its promise.
  async sample(request: SampleRequest): Promise<SampledAction> {
    return this.#sampler.sample(request);
  }

  release(cacheKey: string): void {
    this.#sampler.release(cacheKey);
  }

  async logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs> {
    return this.#learner.forward(samples, options);
  }

  async referenceLogprobs(samples: readonly ActionInContext[], { temperature }: ForwardOptions): Promise<Logprobs> {
    if (!this.#reference) {
      throw new EngineError("reference model", undefined, {
        expected: "a snapshot",
        hint: "Call snapshotReference() before training starts.",
      });
    }
    return this.#learner.forward(samples, { temperature, parameters: this.#reference });
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    { temperature, entropyWeights }: BackwardOptions,
  ): Promise<Logprobs> {
    return this.#learner.forwardBackward(samples, decide, entropyWeights === undefined ? [] : [entropyWeights], { temperature });
  }

  async step(options: StepOptions): Promise<StepReport> {
    this.#learner.requireGradient();
    this.#sampler.requireIdle(); // before anything has changed
    const start = performance.now();
    const gradientNorm = this.#learner.step(options);
    await this.#sampler.update(this.#parameters, this.weightVersion);
    this.#count.seconds += (performance.now() - start) / 1000;
    return { gradientNorm, learningRate: options.learningRate };
  }

  async critic(): Promise<LocalCritic> {
    return (this.#critic ??= LocalCritic.from(this.#parameters, this.#model.config, this.#learnerOptions));
  }

  async snapshotReference(): Promise<void> {
    this.#reference = new Map([...this.#parameters].map(([name, data]) => [name, data.slice()]));
  }

  /** In the precision that the folder was read in would lose small steps: float32 always. */
  async saveModel(folder: string): Promise<void> {
    await saveModel(folder, this.#model, { dtype: "float32" });
  }

  async saveState(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    await this.saveModel(join(folder, "model"));
    await this.#learner.optimiser.save(join(folder, "optimiser.safetensors"));
    const reference = join(folder, "reference.safetensors");
    if (this.#reference) await writeSafetensors(reference, this.#tensors(this.#reference), { dtype: "float32" });
    else await rm(reference, { force: true }); // of an older state in the same folder
    if (this.#critic) await this.#critic.save(folder);
    else await LocalCritic.remove(folder);
  }

  async loadState(folder: string): Promise<void> {
    this.#sampler.requireIdle();
    const saved = await loadModel(join(folder, "model"));
    const copies = [...this.#parameters].map(([name, data]) => {
      const from = saved.parameters.get(name)?.data;
      if (from?.length !== data.length) {
        throw new EngineError(`checkpoint ${folder}`, `${name} of another size`, {
          expected: `the parameters of ${this.info.name}`,
        });
      }
      return { data, from };
    });
    const referenceFile = join(folder, "reference.safetensors");
    const reference = existsSync(referenceFile) ? await readSafetensors(referenceFile) : undefined;
    const critic = await LocalCritic.load(folder, this.#model.config, this.#learnerOptions);
    await this.#learner.optimiser.load(join(folder, "optimiser.safetensors"));
    for (const { data, from } of copies) data.set(from);
    await this.#critic?.close();
    this.#critic = critic;
    this.#reference = reference && new Map([...reference].map(([name, { data }]) => [name, data]));
    this.#learner.forgetGradient();
    await this.#sampler.update(this.#parameters, this.weightVersion);
  }

  takeStats(): EngineStats {
    const training = { ...this.#count };
    Object.assign(this.#count, { computedTokens: 0, denseTokens: 0, seconds: 0 } satisfies TrainingCount);
    return { sampler: this.#sampler.takeStats(), training };
  }

  async dispose(): Promise<void> {
    await this.#sampler.close();
    await this.#learner.close();
    await this.#critic?.close();
  }

  #tensors(arrays: Arrays): Map<string, { shape: readonly number[]; data: Float32Array }> {
    return new Map(
      [...this.#model.parameters].map(([name, { shape }]) => [name, { shape, data: arrays.get(name) ?? new Float32Array() }]),
    );
  }
}
