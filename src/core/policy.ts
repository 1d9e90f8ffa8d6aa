import type { ActionInContext } from "./trajectory.ts";

/** Natural logs of probabilities, one row per sample, one number per action token. */
export type Logprobs = readonly (readonly number[])[];
/** Weights w of the objective Σ w·log π that is maximised: one row per sample, one number per action token. */
export type Weights = readonly (readonly number[])[];

/** From the log-probs of all samples of a call to their weights. Called once, between the forward and the backward half. */
export type Decide = (logprobs: Logprobs) => Weights;
/** V of the state before each action token: one row per sample, one number per action token. In units of the return. */
export type Values = readonly (readonly number[])[];

/**
 * What a run may need of an engine beyond sampling, log-probs and Σ w·log π: algorithms a critic or the gradient of the entropy, rollouts that
 * are sampled ahead frozen policies. An engine lists what it has; a run that needs more does not start.
 */
export const capabilities = ["critic", "entropy-gradient", "frozen-policies"] as const;
export type Capability = (typeof capabilities)[number];

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
   * @param entropyWeights h: adds ∂(Σ h·H)/∂θ too, H the entropy in nats of the distribution that each token was drawn from;
   *   needs the capability "entropy-gradient"
   * @returns the log-probs under the current parameters
   */
  forwardBackward(samples: readonly ActionInContext[], decide: Decide | Weights, entropyWeights?: Weights): Promise<Logprobs>;
  /**
   * One optimiser step along the accumulated gradient, which is cleared.
   * @param scale multiplies the learning rate of the schedule; 1 if left out
   */
  step(scale?: number): Promise<StepReport>;
  /** Present where the engine has the capability "critic" and the algorithm asked for it. */
  readonly critic?: Critic;
}

/** A value function with parameters and an optimiser of its own: V(context and the action so far), before each action token. */
export interface Critic {
  values(samples: readonly ActionInContext[]): Promise<Values>;
  /**
   * Adds ∂(Σ w·V)/∂φ to the critic's gradient, w = decide(V): for a loss to be minimised w = −∂loss/∂V.
   * @returns the values under the current parameters
   */
  forwardBackward(samples: readonly ActionInContext[], decide: (values: Values) => Weights): Promise<Values>;
  /** One optimiser step of the critic along its accumulated gradient, which is cleared. */
  step(scale?: number): Promise<StepReport>;
}

export interface StepReport {
  /** Euclidean norm of the gradient over all parameters, before clipping. */
  readonly gradientNorm: number;
  readonly learningRate: number;
}
