import { EngineError } from "../core/errors.ts";
import type { Capability, Critic, Decide, Logprobs, SteppedPass, StepReport, Weights } from "../core/policy.ts";
import type { ActionInContext, DrawnToken, TokenId } from "../core/trajectory.ts";

/** One action to be sampled. */
export interface SampleRequest {
  readonly context: readonly TokenId[];
  /** Upper bound on the number of tokens, at least 1. */
  readonly maxTokens: number;
  /** Sampling ends after any of these; the token is part of the action. */
  readonly stopTokens: readonly TokenId[];
  /** Sampling ends once the decoded action contains any of these. */
  readonly stopStrings?: readonly string[];
  /** Decides every draw of this request, whatever else runs beside it. */
  readonly seed: number;
  /** 1 if left out. 0 is greedy: always the most likely token. */
  readonly temperature?: number;
  /** Smallest set of tokens whose probability reaches this; 1 (off) if left out. */
  readonly topP?: number;
  /** Only the k most likely tokens; 0 (off) if left out. */
  readonly topK?: number;
  /** Number of top candidates whose log-probs are returned for each token. Default 0. Above 0 it needs the capability "top-logprobs". */
  readonly topLogprobs?: number;
  /** Receives each token as it is drawn, where the engine draws it here. Others give all at the end. */
  readonly onToken?: (drawn: DrawnToken) => void;
  /** The tokens that may be drawn. Needs the capability "masked-sampling". */
  readonly mask?: TokenMask;
  /** Names the row whose key/value cache this context continues; the cache is kept until `release(key)`. */
  readonly cacheKey?: string;
  /** Cancels the request and frees its slot. */
  readonly signal?: AbortSignal;
}

/** Decides which tokens may come next in one action. It belongs to one request. */
export interface TokenMask {
  /** One bit a token, 32 an element, the lowest first. Tokens beyond the last element may not come. */
  next(): Int32Array;
  /** Whether a token that `next` leaves out may come after all. It is called only for likely tokens. */
  allows(token: TokenId): boolean;
  /** Continues behind a token. */
  accept(token: TokenId): void;
}

export interface SampledAction {
  readonly tokens: readonly TokenId[];
  /** Under the distribution that was sampled: temperature, mask, top-k and top-p applied. */
  readonly logprobs: readonly number[];
  /** Indices of the tokens whose distribution the request's mask changed. Absent if there are none. */
  readonly masked?: readonly number[];
  /** Under the model itself: softmax(logits). undefined if the engine reports only those of the sampled distribution. */
  readonly modelLogprobs?: readonly number[];
  /** Entropy in nats of the tempered distribution, before top-k and top-p. Empty without the capability "token-entropies". */
  readonly entropies: readonly number[];
  /** For each token the most likely candidates of the same distribution, most likely first. Where the request asked for them. */
  readonly topLogprobs?: readonly (readonly number[])[];
  /** The candidates' ids, where the engine reports them. */
  readonly topTokens?: readonly (readonly TokenId[])[];
  readonly finish: "stop" | "length";
  /** Optimiser steps that the sampling weights had seen. */
  readonly weightVersion: number;
}

export interface EngineInfo {
  readonly name: string;
  readonly parameters: number;
  readonly vocabularySize: number;
  /** Longest sequence, context and action together. */
  readonly maxLength: number;
  /** The capabilities beyond sampling, log-probs and Σ w·log π. Asked for another, the engine throws `missingCapability`. */
  readonly capabilities: readonly Capability[];
  /**
   * Largest |sampler − trainer| log-prob in nats of a token that is rounding, as the engine's precision allows. Default 0.02, above what 32 bits give.
   */
  readonly logprobTolerance?: number;
  /** Adam's settings that the engine always uses. Required of an engine without the capability "adam-settings". */
  readonly fixedAdam?: AdamSettings;
}

/** Settings of AdamW (Loshchilov & Hutter, arXiv:1711.05101), with PyTorch's meaning. */
export interface AdamSettings {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
}

/** Values other than `EngineInfo.fixedAdam` need the capability "adam-settings". */
export interface StepOptions extends AdamSettings {
  readonly learningRate: number;
  /** The gradient is scaled down to this Euclidean norm. Infinity is no clipping; less needs the capability "gradient-clipping". */
  readonly clipNorm: number;
}

export interface ForwardOptions {
  /** Log-probs are of softmax(logits / temperature). A temperature other than 1 needs the capability "tempered-logprobs". */
  readonly temperature: number;
}

export interface BackwardOptions extends ForwardOptions {
  /**
   * h: adds ∂(Σ h·H)/∂θ too, H the entropy in nats of softmax(logits / temperature) where each action token was drawn.
   * Needs the capability "entropy-gradient".
   */
  readonly entropyWeights?: Weights;
}

export interface SamplerStats {
  readonly sampledTokens: number;
  readonly prefilledTokens: number;
  readonly seconds: number;
}

/** The sampling half of an engine: all that a rollout needs. */
export interface Sampler {
  readonly info: EngineInfo;
  /** Optimiser steps taken so far; goes up with every `step`. */
  readonly weightVersion: number;
  sample(request: SampleRequest): Promise<SampledAction>;
  /** Drops the key/value cache of a rollout that has ended. */
  release(cacheKey: string): void;
}

/**
 * A policy as it was when it was frozen: it is sampled and scored while the engine trains on. Each has a sampler of its own, so what one
 * samples depends on no other.
 */
export interface FrozenPolicy extends Sampler {
  /** Log-probs of the action tokens under the frozen parameters. */
  logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs>;
  /** Returns what was sampled since the last call. */
  takeStats(): SamplerStats;
  /** Writes what `Engine.loadFrozen` needs. */
  saveState(folder: string): Promise<void>;
  /** Cancels what is being sampled and gives the memory back. */
  dispose(): Promise<void>;
}

/**
 * A model that can be sampled and trained. Samples are scored and trained token for token as they were sampled.
 * An engine computes tokens that samples share (prompts, histories, stems of a tree) once.
 *
 * The contract, which test/engine-suite.ts checks:
 * - Calls take effect in the order in which they are made, whether or not the calls before were awaited (`CallOrder` queues them). A call
 *   that fails rejects its own promise, and the calls after it are still made.
 * - A step follows exactly one `forwardBackward`; several need the capability "gradient-accumulation".
 * - A step does not refresh the sampler. The first `sample` after it does, so that steps which nobody samples between cost no refresh.
 * - What an engine cannot do is missing from `info.capabilities`, and asking for it throws `missingCapability`. It never drops a setting.
 * - A state is a folder. An engine elsewhere writes a reference into it: a path on its server, and numbers.
 */
export interface Engine extends Sampler {
  /** Log-probs of the action tokens under the current parameters. */
  logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs>;
  /**
   * The same under the parameters of the last `snapshotReference`.
   * @throws EngineError if there was none, or where the engine lacks the capability "reference"
   */
  referenceLogprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs>;
  /**
   * Adds ∂(Σ w·log π)/∂θ to the accumulated gradient, w = decide(log π). Weights that are already known save a forward pass;
   * samples whose decided weights are all 0 cost no backward pass.
   * @returns the log-probs under the current parameters
   * @throws EngineError for entropy weights where the engine lacks the capability "entropy-gradient"
   */
  forwardBackward(samples: readonly ActionInContext[], decide: Decide | Weights, options: BackwardOptions): Promise<Logprobs>;
  /**
   * One AdamW step *up* the accumulated gradient of Σ w·log π; clears it. Frozen policies may be sampled meanwhile, the engine itself not.
   * @throws EngineError if the gradient is not finite, or while the engine itself is being sampled
   */
  step(options: StepOptions): Promise<StepReport>;
  /**
   * `forwardBackward` with weights that are known and the step behind it, waited for once. Present where a wait costs, as on a server.
   * If the pass fails, so does the call, and the parameters are those before it.
   */
  passAndStep?(
    samples: readonly ActionInContext[],
    weights: Weights,
    forward: ForwardOptions,
    options: StepOptions,
  ): Promise<SteppedPass>;
  /**
   * Freezes the current parameters to sample from, whatever `step` does next: on a remote engine, weights saved for its samplers.
   * @throws EngineError where the engine lacks the capability "frozen-policies"
   */
  freeze(): Promise<FrozenPolicy>;
  /** The policy that a `FrozenPolicy.saveState` wrote: same weights, same version. @throws EngineError as `freeze` */
  loadFrozen(folder: string): Promise<FrozenPolicy>;
  /**
   * The critic, made when it is first asked for, from then on part of the state that is saved. Loading a state replaces it: ask again.
   * @throws EngineError where the engine lacks the capability "critic"
   */
  critic(): Promise<EngineCritic>;
  /** Freezes a copy of the current parameters as the reference. @throws EngineError where the engine lacks the capability "reference" */
  snapshotReference(): Promise<void>;
  /** Writes a Hugging Face-format folder. */
  saveModel(folder: string): Promise<void>;
  /**
   * Writes what training needs to continue into a folder: parameters, optimiser moments, reference, critic, or a reference to where these
   * are. With the capabilities "exact-state" and "full-precision-state" training continues with the same numbers.
   */
  saveState(folder: string): Promise<void>;
  /** Continues from what `saveState` wrote. The folder may have been renamed since. */
  loadState(folder: string): Promise<void>;
  /** Deletes what a saved state refers to outside its folder. The caller then removes the folder. */
  dropState(folder: string): Promise<void>;
  /** Remembers the state of now. Present where that is quick. */
  restorePoint?(): Promise<RestorePoint>;
  /** Returns what was computed since the last call, for the metrics. */
  takeStats(): EngineStats;
  dispose(): Promise<void>;
}

/** A way back to a state of an engine, in memory. */
export interface RestorePoint {
  /** Whether it leads back over optimiser steps too: parameters and moments were copied. Where they are large they are not. */
  readonly overSteps: boolean;
  /** Breaks off what the engine computes, between two micro-batches, and brings the state back. */
  restore(): Promise<void>;
}

/** A value function that is trained beside the policy, with parameters, gradient and AdamW of its own. */
export interface EngineCritic extends Omit<Critic, "step"> {
  /** Steps taken so far; goes up with every `step`. */
  readonly steps: number;
  /** One AdamW step *up* the accumulated gradient of Σ w·V; clears it. @throws EngineError if it is not finite */
  step(options: StepOptions): Promise<StepReport>;
}

export interface EngineStats {
  readonly sampler: SamplerStats;
  /** The critic's passes included. */
  readonly training: {
    /** Tokens that went through a forward or backward pass, shared ones counted once. */
    readonly computedTokens: number;
    /** The same with every sample counted in full: what an engine without sharing would compute. */
    readonly denseTokens: number;
    readonly seconds: number;
  };
  /** The exchange of an engine on a server. */
  readonly remote?: RemoteStats;
}

/** The counts of what an engine on a server exchanged with it. */
export interface RemoteStats {
  /** HTTP requests, polls included. */
  readonly requests: number;
  /** Results of training calls that were awaited, one after another. */
  readonly waits: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Tokens of training passes if prefixes that samples share were computed once, which a server does not do. */
  readonly sharedTokens: number;
}

/**
 * The error of an engine that is asked for a capability which it lacks.
 * @example
 * throw missingCapability(engine.info, "critic"); // names the engine, the capability and those that it has
 */
export function missingCapability({ name, capabilities }: EngineInfo, capability: Capability): EngineError {
  return new EngineError(`the capability "${capability}" of ${name}`, undefined, {
    expected: `an engine that has it; this one has ${capabilities.length === 0 ? "none" : capabilities.join(", ")}`,
    hint: "Choose another algorithm or another engine.",
  });
}

/**
 * Requires a capability of an engine.
 * @throws EngineError where the engine lacks the capability
 * @example
 * requireCapability(engine.info, "reference");
 * const refLogprobs = await engine.referenceLogprobs(samples, { temperature: 1 });
 */
export function requireCapability(info: EngineInfo, capability: Capability): void {
  if (!info.capabilities.includes(capability)) throw missingCapability(info, capability);
}

/**
 * Requires what the options of a step ask for.
 * @throws EngineError where options of a step ask for what the engine lacks
 * @example
 * requireStepOptions(engine.info, { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
 */
export function requireStepOptions(info: EngineInfo, options: StepOptions): void {
  if (options.clipNorm < Infinity) requireCapability(info, "gradient-clipping");
  if (differentAdam(info, options) !== undefined) requireCapability(info, "adam-settings");
}

/** The first of Adam's settings that an engine without "adam-settings" would not take. */
export function differentAdam(
  { capabilities, fixedAdam }: Pick<EngineInfo, "capabilities" | "fixedAdam">,
  requested: AdamSettings,
): keyof AdamSettings | undefined {
  if (capabilities.includes("adam-settings")) return undefined;
  return (["beta1", "beta2", "epsilon", "weightDecay"] as const).find((name) => requested[name] !== fixedAdam?.[name]);
}
