import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { EngineError } from "../../core/errors.ts";
import type { Decide, Logprobs, StepReport, Weights } from "../../core/policy.ts";
import type { ActionInContext, TokenId } from "../../core/trajectory.ts";
import type { Engine, EngineInfo, EngineStats, ForwardOptions, SampledAction, SampleRequest, StepOptions } from "../engine.ts";
import { AdamW } from "./adamw.ts";
import { loadModel, type Model, saveModel } from "./model-folder.ts";
import { batchRows, type PackedBatch, packBatch, packRows } from "./packing.ts";
import { readSafetensors, writeSafetensors } from "./safetensors.ts";
import { LocalSampler } from "./sampler.ts";
import { type Arrays, TrainingGraph } from "./training-graph.ts";

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

/** Distinct tokens of a row: more lets more samples share a prefix, fewer saves attention between branches. */
const rowTokens = 192;
/** Tokens of a training micro-batch, padding included. Larger ones are no faster, and need more memory. */
const batchTokens = 1536;
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
  readonly #threads: number;
  readonly #optimiser: AdamW;
  readonly #sampler: LocalSampler;
  #gradients: Map<string, Float32Array> | undefined;
  #reference: Map<string, Float32Array> | undefined;
  #training: TrainingGraph | undefined;
  #stats = { computedTokens: 0, denseTokens: 0, seconds: 0 };

  constructor(
    model: Model,
    { model: name, threads = availableParallelism(), slots = 128, maxLength, decode }: LocalEngineOptions,
  ) {
    this.#model = model;
    this.#threads = threads;
    this.#parameters = new Map([...model.parameters].map(([key, { data }]) => [key, data]));
    this.#optimiser = new AdamW(this.#parameters);
    this.info = {
      name,
      parameters: [...this.#parameters.values()].reduce((sum, { length }) => sum + length, 0),
      vocabularySize: model.config.vocabSize,
      maxLength: Math.min(maxLength ?? Number.POSITIVE_INFINITY, model.config.maxPositionEmbeddings),
    };
    const samplerOptions = { threads, slots, maxLength: this.info.maxLength, cacheBytes, decode };
    this.#sampler = new LocalSampler(model.config, this.#parameters, 0, samplerOptions);
  }

  get weightVersion(): number {
    return this.#optimiser.steps;
  }

  // `async` so that what is wrong with a request rejects its promise.
  async sample(request: SampleRequest): Promise<SampledAction> {
    return this.#sampler.sample(request);
  }

  release(cacheKey: string): void {
    this.#sampler.release(cacheKey);
  }

  async logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs> {
    return this.#forward(samples, this.#pack(samples), this.#parameters, options);
  }

  async referenceLogprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs> {
    if (!this.#reference) {
      throw new EngineError("reference model", undefined, {
        expected: "a snapshot",
        hint: "Call snapshotReference() before training starts.",
      });
    }
    return this.#forward(samples, this.#pack(samples), this.#reference, options);
  }

  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: Decide | Weights,
    options: ForwardOptions,
  ): Promise<Logprobs> {
    const batches = this.#pack(samples);
    if (typeof decide !== "function") return this.#backward(samples, batches, decide, options);
    const logprobs = await this.#forward(samples, batches, this.#parameters, options);
    const weights = decide(logprobs);
    const trained = samples.flatMap((_, i) => (weights[i].some((w) => w !== 0) ? [i] : []));
    const all = trained.length === samples.length;
    if (all) await this.#backward(samples, batches, weights, options);
    else {
      const some = trained.map((i) => samples[i]);
      await this.#backward(
        some,
        this.#pack(some),
        trained.map((i) => weights[i]),
        options,
      );
    }
    return logprobs;
  }

  async step({ clipNorm, ...options }: StepOptions): Promise<StepReport> {
    const gradients = this.#gradients;
    if (!gradients)
      throw new EngineError("gradient", undefined, {
        expected: "a forwardBackward with weights that are not all 0 before a step",
      });
    this.#sampler.requireIdle(); // before anything has changed
    const start = performance.now();
    const gradientNorm = this.#optimiser.step(gradients, { clipNorm, ...options });
    for (const gradient of gradients.values()) gradient.fill(0);
    await this.#sampler.update(this.#parameters, this.weightVersion);
    this.#stats.seconds += (performance.now() - start) / 1000;
    return { gradientNorm, learningRate: options.learningRate };
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
    await this.#optimiser.save(join(folder, "optimiser.safetensors"));
    const reference = join(folder, "reference.safetensors");
    if (this.#reference) await writeSafetensors(reference, this.#tensors(this.#reference), { dtype: "float32" });
    else await rm(reference, { force: true }); // of an older state in the same folder
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
    await this.#optimiser.load(join(folder, "optimiser.safetensors"));
    for (const { data, from } of copies) data.set(from);
    this.#reference = reference && new Map([...reference].map(([name, { data }]) => [name, data]));
    this.#gradients = undefined;
    await this.#sampler.update(this.#parameters, this.weightVersion);
  }

  takeStats(): EngineStats {
    const training = this.#stats;
    this.#stats = { computedTokens: 0, denseTokens: 0, seconds: 0 };
    return { sampler: this.#sampler.takeStats(), training };
  }

  async dispose(): Promise<void> {
    await this.#sampler.close();
    await this.#training?.close();
    this.#training = undefined;
  }

  #pack(samples: readonly ActionInContext[]): PackedBatch[] {
    const longest = samples.reduce((most, { context, action }) => Math.max(most, context.length + action.length), 0);
    const rows = packRows(samples, Math.min(this.info.maxLength, Math.max(rowTokens, longest)));
    return batchRows(rows, batchTokens).map(packBatch);
  }

  async #forward(
    samples: readonly ActionInContext[],
    batches: readonly PackedBatch[],
    parameters: Arrays,
    { temperature }: ForwardOptions,
  ): Promise<Logprobs> {
    const graph = await this.#trainingGraph();
    return this.#overBatches(samples, batches, (batch) => graph.logprobs(batch, parameters, temperature));
  }

  async #backward(
    samples: readonly ActionInContext[],
    batches: readonly PackedBatch[],
    weights: Weights,
    { temperature }: ForwardOptions,
  ): Promise<Logprobs> {
    checkWeights(samples, weights);
    const graph = await this.#trainingGraph();
    this.#gradients ??= new Map([...this.#parameters].map(([name, { length }]) => [name, new Float32Array(length)]));
    const gradients = this.#gradients;
    return this.#overBatches(samples, batches, (batch) => {
      const summed = new Float32Array(batch.targets.length);
      for (const { sample, scored } of batch.places) {
        scored.forEach((place, j) => {
          summed[place] += weights[sample][j];
        });
      }
      return graph.backward(batch, summed, this.#parameters, temperature, gradients);
    });
  }

  /** From the log-probs of each batch's scored tokens to those of each sample's action tokens. */
  async #overBatches(
    samples: readonly ActionInContext[],
    batches: readonly PackedBatch[],
    pass: (batch: PackedBatch) => Promise<Float32Array>,
  ): Promise<Logprobs> {
    const start = performance.now();
    const logprobs: number[][] = samples.map(() => []);
    for (const batch of batches) {
      const logprobOf = await pass(batch);
      for (const { sample, scored } of batch.places) logprobs[sample] = scored.map((place) => logprobOf[place]);
    }
    this.#stats.seconds += (performance.now() - start) / 1000;
    this.#stats.computedTokens += batches.reduce((sum, { rows, length }) => sum + rows * length, 0);
    this.#stats.denseTokens += samples.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
    return logprobs;
  }

  async #trainingGraph(): Promise<TrainingGraph> {
    return (this.#training ??= await TrainingGraph.open(this.#model.config, { threads: this.#threads }));
  }

  #tensors(arrays: Arrays): Map<string, { shape: readonly number[]; data: Float32Array }> {
    return new Map(
      [...this.#model.parameters].map(([name, { shape }]) => [name, { shape, data: arrays.get(name) ?? new Float32Array() }]),
    );
  }
}

function checkWeights(samples: readonly ActionInContext[], weights: Weights): void {
  samples.forEach(({ action, trajectory, turn }, i) => {
    const where = `weights of turn ${turn} of trajectory ${trajectory}`;
    if (weights[i]?.length !== action.length)
      throw new EngineError(where, weights[i]?.length, { expected: `${action.length} numbers, one a token` });
    const bad = weights[i].find((w) => !Number.isFinite(w));
    if (bad !== undefined)
      throw new EngineError(where, bad, { expected: "finite numbers", hint: "Look at the rewards and log-probs of this step." });
  });
}
