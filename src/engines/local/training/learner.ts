import { EngineError } from "../../../core/errors.ts";
import type { Weights } from "../../../core/policy.ts";
import type { ActionInContext } from "../../../core/trajectory.ts";
import type { CallOrder } from "../../call-order.ts";
import type { EngineStats, StepOptions } from "../../engine.ts";
import type { SessionOptions } from "../machine/device.ts";
import { requireSampleTokens } from "../machine/token-ids.ts";
import type { Arrays } from "../model/arrays.ts";
import type { Head } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import type { RoundedMatrices } from "../model/rounded.ts";
import { AdamW } from "./adamw.ts";
import { batchRows, type PackedBatch, packBatch, packRows } from "./packing.ts";
import { activationsOfToken, type BatchSize, keptBytesOfToken, wholeGraphBytes } from "./pass-sizes.ts";
import { RecomputingGraph } from "./recompute.ts";
import { type TrainableModel, TrainingGraph } from "./training-graph.ts";

/** Samples up to this length are packed into rows of at most as many tokens, which are passed over as a whole. */
export const shortRow = 768;
/** Longer rows than this are computed layer by layer: as fast from about 2,048 tokens on, in a fraction of the memory (docs/performance.md). */
export const longestWholeRow = 1024;
/** Bytes that the inputs of all layers may take for the tokens of one row, and its most tokens. */
const [keptBytes, longRow] = [512 * 2 ** 20, 16_384];

/**
 * Distinct tokens of a row: more lets more samples share a prefix, fewer saves attention between branches where whole rows have masks. Two
 * short samples fit at least, so that their prompts are shared too. Long rows attend block by block and pay for nothing that they do not
 * see, so only memory limits them.
 * @param longest tokens of the longest sample
 */
export function rowTokens(config: ModelConfig, longest: number): number {
  if (longest <= shortRow) return Math.max(longest, Math.min(shortRow, Math.max(192, 2 * longest)));
  return Math.max(longest, Math.min(longRow, Math.floor(keptBytes / keptBytesOfToken(config))));
}
/** Tokens of a training micro-batch, padding included. Larger ones are no faster, and need more memory. */
export const batchTokens = 1536;

/** The bytes that a pass over a micro-batch may hold at once; where it would be more, layers compute their activations again. */
export const passBytes = 2 * 2 ** 30;

/**
 * A whole graph that held more than this in a pass is closed before actions are sampled with new weights: what it took is free then. To open it again
 * takes about 0.1 s of processor time, and the pages that it takes have to be fetched.
 */
export const restBytes = 320 * 2 ** 20;

/** Logits of a batch that one graph may hold: 256 scored tokens of 262,144 words. */
export const wholeLogitBytes = 256 * 2 ** 20;

/** The count of what passes have computed, over all learners of an engine. */
export type TrainingCount = { -readonly [Name in keyof EngineStats["training"]]: EngineStats["training"][Name] };

/** One number for each action token of each sample. */
type Numbers = readonly (readonly number[])[];

export interface LearnerOptions extends SessionOptions {
  readonly maxLength: number;
  readonly count: TrainingCount;
  /** The order of the engine's calls, the critic's included. Callers of a learner queue there. */
  readonly order: CallOrder;
  /** Parameters that do not learn: with an adapter, those of the base. */
  readonly frozen: Arrays;
  /** Those of them that are in fewer bits. Passes are then made layer by layer. */
  readonly rounded?: RoundedMatrices;
  /** Whether layers compute their activations again in the backward half; where these would fill the memory if left out. */
  readonly recompute?: boolean;
}

export interface PassOptions {
  /** The temperature of log-probs; values have none. */
  readonly temperature?: number;
  /** Parameters used instead of those that learn, such as a reference's. */
  readonly parameters?: Arrays;
}

/** Parameters that learn: passes over samples with every shared token once, the gradient that they add up, and AdamW. */
export class Learner {
  readonly parameters: Arrays;
  readonly optimiser: AdamW;
  readonly #config: ModelConfig;
  /** For each head the whole model as one graph, and layer by layer. */
  readonly #graphs: readonly { readonly whole: TrainableModel; readonly layered: TrainableModel }[];
  readonly #options: LearnerOptions;
  #gradients: Arrays | undefined;
  /** Whether the gradient counts as zeros, whatever its arrays hold: clearing them would be a pass over memory for nothing. */
  #cleared = true;
  #lastBackward: Promise<unknown> = Promise.resolve();
  /** Most bytes that a pass over a whole graph held since these were closed. */
  #wholeBytes = 0;
  /** Whether a pass was made layer by layer since weights changed. */
  #hasLayered = false;

  /**
   * @param heads the n-th reads n numbers a token, the first of which is the same for all
   * @param parameters that learn, by name; changed in place by `step`
   */
  constructor(config: ModelConfig, heads: readonly Head[], parameters: Arrays, options: LearnerOptions) {
    this.parameters = parameters;
    this.optimiser = new AdamW(parameters);
    const { threads, provider, runtime, rounded } = options;
    const graphOptions = { threads, provider, runtime, trained: [...parameters.keys()] };
    this.#config = config;
    this.#graphs = heads.map((head) => ({
      whole: new TrainingGraph(config, head, graphOptions),
      layered: new RecomputingGraph(config, head, { ...graphOptions, rounded }),
    }));
    this.#options = options;
  }

  async forward(samples: readonly ActionInContext[], options: PassOptions = {}): Promise<Numbers> {
    requireTemperature(options);
    return this.#forward(samples, this.#pack(samples), options);
  }

  /**
   * Adds ∂(Σ w·number)/∂θ to the gradient, w = decide(numbers). Samples whose weights are all 0 cost no backward pass.
   * @param decide weights of the head's first number, or what decides them
   * @param further weights of its further numbers
   */
  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: ((numbers: Numbers) => Weights) | Weights,
    further: readonly Weights[],
    options: PassOptions = {},
  ): Promise<Numbers> {
    requireTemperature(options);
    const batches = this.#pack(samples);
    if (typeof decide !== "function") return this.#backward(samples, batches, [decide, ...further], options);
    const numbers = await this.#forward(samples, batches, options);
    const weights = [decide(numbers), ...further];
    for (const each of weights) checkWeights(samples, each);
    const trained = samples.flatMap((_, i) => (weights.some((each) => each[i].some((w) => w !== 0)) ? [i] : []));
    if (trained.length === samples.length) await this.#backward(samples, batches, weights, options);
    else {
      const some = trained.map((i) => samples[i]);
      const ofSome = weights.map((each) => trained.map((i) => each[i]));
      await this.#backward(some, this.#pack(some), ofSome, options);
    }
    return numbers;
  }

  /** One step up the gradient, which is cleared. @returns its norm before clipping @throws EngineError if there is none */
  step(options: StepOptions): number {
    if (this.#cleared) for (const gradient of this.requireGradient().values()) gradient.fill(0);
    const norm = this.optimiser.step(this.requireGradient(), options);
    this.#cleared = true;
    return norm;
  }

  requireGradient(): Arrays {
    if (this.#gradients !== undefined) return this.#gradients;
    throw new EngineError("gradient", undefined, {
      expected: "a forwardBackward with weights that are not all 0 before a step",
    });
  }

  forgetGradient(): void {
    this.#gradients = undefined;
    this.#cleared = true;
  }

  /** Gives back the memory of passes layer by layer, and of large whole graphs. The next pass opens sessions again, which costs little beside it. */
  async rest(): Promise<void> {
    for (const { layered } of this.#graphs) await layered.close();
    if (this.#hasLayered || this.#wholeBytes > restBytes) await this.#closeWhole();
    this.#hasLayered = false;
  }

  async #closeWhole(): Promise<void> {
    this.#wholeBytes = 0;
    for (const { whole } of this.#graphs) await whole.close();
  }

  async close(): Promise<void> {
    for (const { whole, layered } of this.#graphs) for (const graph of [whole, layered]) await graph.close();
  }

  #pack(samples: readonly ActionInContext[]): PackedBatch[] {
    requireSampleTokens(samples, this.#config.vocabSize);
    const longest = samples.reduce((most, { context, action }) => Math.max(most, context.length + action.length), 0);
    const limit = rowTokens(this.#config, longest);
    return batchRows(packRows(samples, limit, this.#options.maxLength), microBatchTokens(this.#config, limit)).map(packBatch);
  }

  async #forward(
    samples: readonly ActionInContext[],
    batches: readonly PackedBatch[],
    { parameters = this.parameters, temperature }: PassOptions,
  ): Promise<Numbers> {
    const all = this.#withFrozen(parameters);
    return this.#overBatches(samples, batches, async (batch) => (await this.#graph(0, batch)).forward(batch, all, temperature));
  }

  /** @param weights of each number that a head reads: as many as there are choose the head */
  async #backward(
    samples: readonly ActionInContext[],
    batches: readonly PackedBatch[],
    weights: readonly Weights[],
    { parameters = this.parameters, temperature }: PassOptions,
  ): Promise<Numbers> {
    for (const each of weights) checkWeights(samples, each);
    const gradients = (this.#gradients ??= new Map(
      [...this.parameters].map(([name, { length }]) => [name, new Float32Array(length)]),
    ));
    const all = this.#withFrozen(parameters);
    const pass = async (batch: PackedBatch) => {
      const summed = weights.map((each) => sumByPlace(batch, each));
      const graph = await this.#graph(weights.length - 1, batch);
      const numbers = await graph.backward(batch, summed, all, gradients, temperature, this.#cleared);
      this.#cleared = false;
      return numbers;
    };
    // One at a time: they write to the same gradient.
    const result = this.#lastBackward.then(() => this.#overBatches(samples, batches, pass));
    this.#lastBackward = result.catch(() => {});
    return result;
  }

  /**
   * A forward half alone would often fit in one session, but computes nothing twice layer by layer either. The two forms are not held at once:
   * batches come longest first, so that one follows the other once in a pass.
   */
  async #graph(head: number, batch: PackedBatch): Promise<TrainableModel> {
    const { whole, layered } = this.#graphs[head];
    const { rounded, recompute } = this.#options;
    if (rounded !== undefined || (recompute ?? isLayered(this.#config, batch, this.parameters))) {
      if (this.#wholeBytes > 0) await this.#closeWhole();
      this.#hasLayered = true;
      return layered;
    }
    this.#wholeBytes = Math.max(this.#wholeBytes, wholeGraphBytes(this.#config, batch, this.parameters));
    for (const graphs of this.#graphs) await graphs.layered.close();
    return whole;
  }

  #withFrozen(parameters: Arrays): Arrays {
    return new Map([...this.#options.frozen, ...parameters]);
  }

  /** From the numbers of each batch's scored tokens to those of each sample's action tokens. */
  async #overBatches(
    samples: readonly ActionInContext[],
    batches: readonly PackedBatch[],
    pass: (batch: PackedBatch) => Promise<Float32Array>,
  ): Promise<Numbers> {
    const { count } = this.#options;
    const start = performance.now();
    const numbers: number[][] = samples.map(() => []);
    for (const batch of batches) {
      const numberAt = await pass(batch);
      for (const { sample, scored } of batch.places) numbers[sample] = scored.map((place) => numberAt[place]);
    }
    count.seconds += (performance.now() - start) / 1000;
    count.computedTokens += batches.reduce((sum, { rows, length }) => sum + rows * length, 0);
    count.denseTokens += samples.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
    return numbers;
  }
}

/** Whether a batch is computed layer by layer: because its rows are long, or because all activations at once would fill the memory. */
export function isLayered(config: ModelConfig, batch: BatchSize, trained: Arrays): boolean {
  return (
    batch.length > longestWholeRow ||
    logitBytesOf(config, batch) > wholeLogitBytes ||
    wholeGraphBytes(config, batch, trained) > passBytes
  );
}

/** Bytes of one matrix of all logits of a batch, of which a whole graph holds about four; layer by layer they come in pieces. */
export function logitBytesOf({ vocabSize }: ModelConfig, { targets }: BatchSize): number {
  return 4 * targets.length * vocabSize;
}

/** Tokens of a micro-batch of rows of a length: `batchTokens`, or what one layer of a large model can do in half of a pass's memory. */
export function microBatchTokens(config: ModelConfig, length: number): number {
  return Math.min(batchTokens, Math.floor(passBytes / 2 / (4 * activationsOfToken(config, length))));
}

/** The weights of the samples that share a scored token add up. @returns [M] */
function sumByPlace({ targets, places }: PackedBatch, weights: Weights): Float32Array {
  const summed = new Float32Array(targets.length);
  for (const { sample, scored } of places) {
    scored.forEach((place, j) => {
      summed[place] += weights[sample][j];
    });
  }
  return summed;
}

function requireTemperature({ temperature = 1 }: PassOptions): void {
  if (temperature > 0 && temperature < Infinity) return;
  throw new EngineError("temperature", temperature, {
    expected: "a number above 0: greedy sampling has no log-probs to train on",
  });
}

function checkWeights(samples: readonly ActionInContext[], weights: Weights): void {
  samples.forEach(({ action, trajectory, turn }, i) => {
    const where = `weights of turn ${turn} of trajectory ${trajectory}`;
    if (weights[i]?.length !== action.length)
      throw new EngineError(where, weights[i]?.length, { expected: `${action.length} numbers, one a token` });
    const bad = weights[i].find((w) => !Number.isFinite(w));
    if (bad !== undefined)
      throw new EngineError(where, bad, {
        expected: "finite numbers",
        hint: "Look at the rewards and log-probs of this step.",
      });
  });
}
