import type { ActionInContext } from "./trajectory.ts";

/** Natural logs of probabilities, one row per sample, one number per action token. */
export type Logprobs = readonly (readonly number[])[];
/** Weights w of the objective Σ w·log π that is maximised: one row per sample, one number per action token. */
export type Weights = readonly (readonly number[])[];

/** From the log-probs of all samples of a call to their weights. Called once, between the forward and the backward half. */
export type Decide = (logprobs: Logprobs) => Weights;

/**
 * What an algorithm needs of a model: the seam between arithmetic and engines is the token log-probability.
 * All log-probs are of the distribution that the rollouts were sampled from (tempered by the rollout temperature).
 */
export interface Policy {
  /** log π of the action tokens, under the current parameters. */
  logprobs(samples: readonly ActionInContext[]): Promise<Logprobs>;
  /** The same under the frozen reference. */
  referenceLogprobs(samples: readonly ActionInContext[]): Promise<Logprobs>;
  /**
   * Adds ∂(Σ w·log π)/∂θ to the gradient, w = decide(log π). Weights that are known beforehand save a forward pass.
   * @returns the log-probs under the current parameters
   */
  forwardBackward(samples: readonly ActionInContext[], decide: Decide | Weights): Promise<Logprobs>;
  /**
   * One optimiser step along the accumulated gradient, which is cleared.
   * @param scale multiplies the learning rate of the schedule; 1 if left out
   */
  step(scale?: number): Promise<StepReport>;
}

export interface StepReport {
  /** Euclidean norm of the gradient over all parameters, before clipping. */
  readonly gradientNorm: number;
  readonly learningRate: number;
}
