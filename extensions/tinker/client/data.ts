import type { TokenId } from "../../../src/core/trajectory.ts";

/** One sequence of a pass. Position t of `targets` is scored given tokens 0 … t: for text, targets are the tokens shifted by one. */
export interface Datum {
  readonly tokens: readonly TokenId[];
  /** As many as tokens. */
  readonly targets: readonly TokenId[];
  /** The inputs that the loss asks for, as many numbers as targets: "weights", "advantages", "logprobs" … */
  readonly inputs?: Readonly<Record<string, readonly number[]>>;
}

/** One forward pass, with its gradient unless `forwardOnly`. */
export interface ForwardBackwardCall {
  readonly data: readonly Datum[];
  readonly lossFn: string;
  readonly config: Readonly<Record<string, number>>;
  readonly forwardOnly: boolean;
}

export interface ForwardBackwardResult {
  /** Named arrays, one row a datum. "logprobs" is in every result: log p(target) in nats. */
  readonly fields: Readonly<Record<string, readonly (readonly number[])[]>> & {
    readonly logprobs: readonly (readonly number[])[];
  };
  /** "name:reduction" to value, as the server gives them. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Settings of one AdamW step. Absent ones have the server's defaults. */
export interface AdamSettings {
  /** ≥ 0. */
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Decoupled weight decay. Default 0. */
  readonly weightDecay?: number;
  /** Largest norm of the gradient. Default 0, which is none. */
  readonly clipNorm?: number;
}

export interface OptimStepResult {
  /** Undefined if the server does not report it. */
  readonly gradientNorm: number | undefined;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface SampleCall {
  readonly prompt: readonly TokenId[];
  readonly maxTokens: number;
  /** Default 1. 0 is greedy. */
  readonly temperature?: number;
  /** Default 1, which is off. */
  readonly topP?: number;
  /** Default 0, which is off. */
  readonly topK?: number;
  readonly seed?: number;
  /** Token ids, or texts. Absent: the model's end-of-text token, on servers that stop there. */
  readonly stop?: readonly TokenId[] | readonly string[];
  /** Number of sequences. Default 1. */
  readonly samples?: number;
  /** Returns log-probs of the prompt's tokens too. */
  readonly promptLogprobs?: boolean;
  /** Number of top candidates returned for each token of the prompt. Default 0. */
  readonly topPromptLogprobs?: number;
  /** Number of top candidates returned for each sampled token. Default 0. */
  readonly topLogprobs?: number;
}

/** Candidates of one position, most likely first. */
export interface TopLogprobs {
  readonly tokens: readonly TokenId[];
  readonly logprobs: readonly number[];
}

export interface SampledSequence {
  /** The stop token is the last one, where one was met. */
  readonly tokens: readonly TokenId[];
  /** As many as tokens. Servers differ in whether temperature is applied. */
  readonly logprobs: readonly number[];
  readonly stopReason: "stop" | "length";
  readonly topLogprobs?: readonly TopLogprobs[];
}

export interface SampleResult {
  readonly sequences: readonly SampledSequence[];
  /** One for each token of the prompt; NaN for the first. */
  readonly promptLogprobs?: readonly number[];
  readonly topPromptLogprobs?: readonly TopLogprobs[];
}
