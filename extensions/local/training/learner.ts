import { EngineError } from "../../../src/core/errors.ts";
import type { Weights } from "../../../src/core/policy.ts";
import type { ActionInContext } from "../../../src/core/trajectory.ts";
import type { CallOrder } from "../../../src/engines/call-order.ts";
import type { EngineStats, StepOptions } from "../../../src/engines/engine.ts";
import { requireSampleTokens } from "../machine/token-ids.ts";
import type { Head } from "../model/heads.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { AdamW } from "./adamw.ts";
import { DeviceSums, type Gradients } from "./gradient-sums.ts";
import { batchRows, type PackedBatch, packBatch, packRows } from "./packing.ts";
import type { ParameterStore, Placed } from "./parameter-store.ts";
import { activationsOfToken, keptBytesOfToken, passBytes, passLimits, wholeGraphTokens } from "./pass-sizes.ts";
import { Passes, type PassesOptions } from "./passes.ts";
import type { Pass } from "./training-graph.ts";

/** Samples up to this length are packed into rows of at most as many tokens, which are passed over as a whole. */
export const shortRow = 768;
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

/** The count of what passes have computed, over all learners of an engine. */
export type TrainingCount = { -readonly [Name in keyof EngineStats["training"]]: EngineStats["training"][Name] };

/** One number for each action token of each sample. */
type Numbers = readonly (readonly number[])[];

export interface LearnerOptions extends Omit<PassesOptions, "trained"> {
  readonly maxLength: number;
  readonly count: TrainingCount;
  /** The order of the engine's calls, the critic's included. Callers of a learner queue there. */
  readonly order: CallOrder;
  /** Parameters that do not learn: with an adapter, those of the base. */
  readonly frozen: ParameterStore;
}

export interface PassOptions {
  /** The temperature of log-probs; values have none. */
  readonly temperature?: number;
  /** Parameters used instead of those that learn, such as a reference's. */
  readonly parameters?: Placed;
}

/**
 * Parameters that learn: passes over samples with every shared token once, the gradient that they add up, and AdamW. One call is made at a time, as the
 * order of the engine's calls has it.
 */
export class Learner {
  readonly parameters: ParameterStore;
  readonly optimiser: AdamW;
  readonly #config: ModelConfig;
  readonly #passes: Passes;
  readonly #options: LearnerOptions;
  #gradient: ParameterStore | undefined;
  /** Where passes add to it. */
  #sums: Gradients | undefined;
  /** Whether the gradient counts as zeros, whatever its arrays hold: clearing them would be a pass over memory for nothing. */
  #cleared = true;

  /**
   * @param heads the n-th reads n numbers a token, the first of which is the same for all
   * @param parameters that learn, by name; changed in place by `step`
   */
  constructor(config: ModelConfig, heads: readonly Head[], parameters: ParameterStore, options: LearnerOptions) {
    this.parameters = parameters;
    this.optimiser = new AdamW(parameters);
    this.#config = config;
    this.#passes = new Passes(config, heads, { ...options, trained: parameters.shapes });
    this.#options = options;
  }

  async forward(samples: readonly ActionInContext[], options: PassOptions = {}): Promise<Numbers> {
    requireTemperature(options);
    return this.#forward(this.#pack(samples), options);
  }

  /**
   * Adds ∂(Σ w·number)/∂θ to the gradient, w = decide(numbers). Samples whose weights are all 0 cost no backward pass.
   * @param decide weights of the head's first number, or what decides them
   * @param further weights of its further numbers
   */
  async forwardBackward(
    samples: readonly ActionInContext[],
    decide: ((numbers: Numbers) => Weights | Promise<Weights>) | Weights,
    further: readonly Weights[],
    options: PassOptions = {},
  ): Promise<Numbers> {
    requireTemperature(options);
    const packed = this.#pack(samples);
    if (typeof decide !== "function") return this.#backward(packed, [decide, ...further], options);
    const numbers = await this.#forward(packed, options);
    const weights = [await decide(numbers), ...further];
    for (const each of weights) checkWeights(samples, each);
    const trained = samples.flatMap((_, i) => (weights.some((each) => each[i].some((w) => w !== 0)) ? [i] : []));
    if (trained.length === samples.length) await this.#backward(packed, weights, options);
    else {
      const some = trained.map((i) => samples[i]);
      const ofSome = weights.map((each) => trained.map((i) => each[i]));
      await this.#backward(this.#pack(some), ofSome, options);
    }
    return numbers;
  }

  /** One step up the gradient, which is cleared. @returns its norm before clipping @throws EngineError if there is none */
  async step(options: StepOptions): Promise<number> {
    const gradient = this.requireGradient();
    if (this.#cleared) await gradient.write((await gradient.zeros()).arrays);
    const norm = await this.optimiser.step(gradient, options);
    this.#cleared = true;
    return norm;
  }

  requireGradient(): ParameterStore {
    if (this.#gradient !== undefined) return this.#gradient;
    throw new EngineError("gradient", undefined, {
      expected: "a forwardBackward with weights that are not all 0 before a step",
    });
  }

  async forgetGradient(): Promise<void> {
    if (this.#sums instanceof DeviceSums) await this.#sums.close();
    await this.#gradient?.dispose();
    this.#gradient = undefined;
    this.#sums = undefined;
    this.#cleared = true;
  }

  /** Gives back the memory of passes layer by layer, and of large whole graphs. */
  async rest(): Promise<void> {
    await this.#passes.rest();
  }

  async close(): Promise<void> {
    await this.#passes.close();
    await this.forgetGradient();
    await this.optimiser.close();
    await this.parameters.dispose();
  }

  /** Cuts samples into micro-batches. */
  #pack(samples: readonly ActionInContext[]): Packed {
    requireSampleTokens(samples, this.#config.vocabSize);
    const longest = samples.reduce((most, { context, action }) => Math.max(most, context.length + action.length), 0);
    const limit = rowTokens(this.#config, longest);
    const rows = packRows(samples, limit, this.#options.maxLength);
    const { passBytes, provider } = this.#options;
    const most = microBatchTokens(this.#config, limit, this.parameters.bytes, passBytes, passLimits(provider));
    return { samples, batches: batchRows(rows, most).map(packBatch) };
  }

  async #forward(packed: Packed, { parameters, temperature }: PassOptions): Promise<Numbers> {
    const passes = packed.batches.map((batch) => ({ batch, temperature }));
    return this.#counted(packed, () => this.#made(passes, parameters));
  }

  /** @param weights of each number that a head reads: as many as there are choose the head */
  async #backward(packed: Packed, weights: readonly Weights[], { parameters, temperature }: PassOptions): Promise<Numbers> {
    for (const each of weights) checkWeights(packed.samples, each);
    await this.#openSums();
    const passes = packed.batches.map((batch) => ({
      ...{ batch, temperature },
      weights: weights.map((each) => sumByTarget(batch, each)),
    }));
    return this.#counted(packed, () => this.#made(passes, parameters));
  }

  async #openSums(): Promise<void> {
    this.#gradient ??= await this.parameters.zeros();
    const gradient = this.#gradient;
    this.#sums ??= gradient.provider === undefined ? gradient.arrays : await DeviceSums.open(gradient);
  }

  /** Makes passes, one after another; those with weights add to the gradient. @returns each one's numbers, in order */
  async #made(passes: readonly Pass[], parameters?: Placed): Promise<Float32Array[]> {
    const learned = parameters ?? (await this.parameters.placed());
    const all = new Map([...(await this.#options.frozen.placed()), ...learned]);
    const numbers: Float32Array[] = [];
    for (const pass of passes) numbers.push(await this.#add(pass, all));
    return numbers;
  }

  async #add(pass: Pass, all: Placed): Promise<Float32Array> {
    this.#options.order.requireUnbroken();
    if (pass.weights === undefined || this.#sums === undefined) return this.#passes.forward(pass, all);
    const numbers = await this.#passes.backward(pass, all, this.#sums, this.#cleared);
    this.#cleared = false;
    return numbers;
  }

  /** From the numbers of each batch's scored tokens to those of each sample's action tokens. */
  async #counted({ samples, batches }: Packed, passes: () => Promise<readonly Float32Array[]>): Promise<Numbers> {
    const { count } = this.#options;
    const start = performance.now();
    const numbers: number[][] = samples.map(() => []);
    for (const [b, numberAt] of (await passes()).entries())
      for (const { sample, scored } of batches[b].scoredSamples) numbers[sample] = scored.map((at) => numberAt[at]);
    count.seconds += (performance.now() - start) / 1000;
    count.computedTokens += batches.reduce((sum, { rows, length }) => sum + rows * length, 0);
    count.denseTokens += samples.reduce((sum, { context, action }) => sum + context.length + action.length, 0);
    return numbers;
  }
}

/** Samples, and the micro-batches that they were cut into. */
interface Packed {
  readonly samples: readonly ActionInContext[];
  readonly batches: readonly PackedBatch[];
}

/**
 * Tokens of a micro-batch of rows of a length: as many as are passed over at a time, or as one graph over the whole model holds in a pass's memory.
 * Where that is less than a row, passes are made layer by layer, and it is what one layer can do in half of that memory.
 * @param learnedBytes of all that gets gradients
 */
export function microBatchTokens(
  config: ModelConfig,
  length: number,
  learnedBytes: number,
  most = passBytes,
  { batchTokens, row, logits, scored } = passLimits(),
): number {
  const whole = wholeGraphTokens(config, length, most - 2 * learnedBytes, scored);
  const ofLogits = scored < 1 ? batchTokens : Math.floor(logits / (4 * config.vocabSize));
  if (length <= row && Math.min(whole, ofLogits) >= length) return Math.min(batchTokens, whole, ofLogits);
  return Math.min(batchTokens, Math.floor(most / 2 / (4 * activationsOfToken(config, length))));
}

/** The weights of the samples that share a scored token add up. @returns [M] */
function sumByTarget({ targets, scoredSamples }: PackedBatch, weights: Weights): Float32Array {
  const summed = new Float32Array(targets.length);
  for (const { sample, scored } of scoredSamples) {
    scored.forEach((at, j) => {
      summed[at] += weights[sample][j];
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
