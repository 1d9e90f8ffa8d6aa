import type { Decide, Logprobs, StepReport, Weights } from "../core/policy.ts";
import type { ActionInContext, TokenId } from "../core/trajectory.ts";

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
  /** 1 if left out. 0 is greedy: always the likeliest token. */
  readonly temperature?: number;
  /** Smallest set of tokens whose probability reaches this; 1 (off) if left out. */
  readonly topP?: number;
  /** Only the k likeliest tokens; 0 (off) if left out. */
  readonly topK?: number;
  /** Names the row whose key/value cache this context continues; the cache is kept until `release(key)`. */
  readonly cacheKey?: string;
  /** Cancels the request and frees its slot. */
  readonly signal?: AbortSignal;
}

export interface SampledAction {
  readonly tokens: readonly TokenId[];
  /** Under the distribution that was sampled: temperature, top-k and top-p applied. */
  readonly logprobs: readonly number[];
  /** Under the model itself: softmax(logits). */
  readonly modelLogprobs: readonly number[];
  /** Entropy in nats of the tempered distribution, before top-k and top-p. */
  readonly entropies: readonly number[];
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
}

/** Adam's settings are AdamW's (Loshchilov & Hutter, arXiv:1711.05101), as in PyTorch. */
export interface StepOptions {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** The gradient is scaled down to this Euclidean norm; Infinity leaves it alone. */
  readonly clipNorm: number;
}

export interface ForwardOptions {
  /** Log-probs are of softmax(logits / temperature). */
  readonly temperature: number;
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
 * A model that can be sampled and trained. Samples are scored and trained token for token as they were sampled.
 * An engine computes tokens that samples share (prompts, histories, stems of a tree) once.
 */
export interface Engine extends Sampler {
  /** Log-probs of the action tokens under the current parameters. */
  logprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs>;
  /** The same under the parameters of the last `snapshotReference`. @throws EngineError if there was none */
  referenceLogprobs(samples: readonly ActionInContext[], options: ForwardOptions): Promise<Logprobs>;
  /**
   * Adds ∂(Σ w·log π)/∂θ to the accumulated gradient, w = decide(log π). Weights that are known beforehand save a forward pass;
   * samples whose decided weights are all 0 cost no backward pass.
   * @returns the log-probs under the current parameters
   */
  forwardBackward(samples: readonly ActionInContext[], decide: Decide | Weights, options: ForwardOptions): Promise<Logprobs>;
  /** One AdamW step *up* the accumulated gradient of Σ w·log π; clears it. @throws EngineError if it is not finite */
  step(options: StepOptions): Promise<StepReport>;
  /** Freezes a copy of the current parameters as the reference. */
  snapshotReference(): Promise<void>;
  /** Writes a Hugging Face-format folder. */
  saveModel(folder: string): Promise<void>;
  /** Writes all that training needs to continue exactly: parameters in full precision, optimiser moments, reference. */
  saveState(folder: string): Promise<void>;
  loadState(folder: string): Promise<void>;
  /** What was computed since the last call, for the metrics. */
  takeStats(): EngineStats;
  dispose(): Promise<void>;
}

export interface EngineStats {
  readonly sampler: SamplerStats;
  readonly training: {
    /** Tokens that went through a forward or backward pass, shared ones counted once. */
    readonly computedTokens: number;
    /** The same with every sample counted in full: what an engine without sharing would compute. */
    readonly denseTokens: number;
    readonly seconds: number;
  };
}
