import type { ActionInContext, TrajectoryId } from "./trajectory.ts";

/** Natural logs of probabilities, one row per sample, one number per action token. */
export type Logprobs = readonly (readonly number[])[];
/** Weights w of the objective Σ w·log π that is maximised: one row per sample, one number per action token. */
export type Weights = readonly (readonly number[])[];

/** From the log-probs of all samples of a call to their weights. Called once, between the forward and the backward half. */
export type Decide = (logprobs: Logprobs) => Weights;
/** V of the state before each action token: one row per sample, one number per action token. In units of the return. */
export type Values = readonly (readonly number[])[];

/**
 * The capabilities that an engine may lack, each with what it lets a run do. An engine lists what it has. A run that needs more
 * does not start, and the error names the setting that needs it (training/config/capabilities.ts).
 */
export const capabilityMeanings = {
  critic: "trains a value function beside the policy",
  "entropy-gradient": "back-propagates the entropy of the action tokens' distributions",
  reference: "keeps a frozen copy of the policy and scores samples under it",
  "tempered-logprobs": "scores and trains log-probs of softmax(logits / temperature) at temperatures other than 1",
  "gradient-accumulation": "adds up the gradients of several forwardBackward calls before a step",
  "gradient-clipping": "scales a gradient down to a given norm",
  "adam-settings": "takes beta1, beta2, epsilon and weight decay from the caller",
  "token-entropies": "reports the entropy of the distribution of each sampled token",
  "top-logprobs": "reports the log-probs of the most likely candidates of each sampled token",
  "masked-sampling": "samples actions of a given form: JSON of a schema, a call of a given tool",
  "frozen-policies": "samples from frozen weights while it trains",
  "exact-state": "continues from a saved state with the same numbers: optimiser moments included",
  "full-precision-state": "saves parameters as float32",
} as const;
export type Capability = keyof typeof capabilityMeanings;
/** All of them. */
export const capabilities = Object.keys(capabilityMeanings) as readonly Capability[];

/**
 * The part of a model that an algorithm needs: the seam between arithmetic and engines is the token log-probability.
 * All log-probs are of the distribution that the rollouts were sampled from (tempered by the rollout temperature).
 */
export interface Policy {
  /** log π of the action tokens, under the current parameters. */
  logprobs(samples: readonly ActionInContext[]): Promise<Logprobs>;
  /** The same under the frozen reference. */
  referenceLogprobs(samples: readonly ActionInContext[]): Promise<Logprobs>;
  /** The same under a teacher: another model with the same tokens. Present where the run has one. */
  readonly teacherLogprobs?: (samples: readonly ActionInContext[]) => Promise<Logprobs>;
  /**
   * Adds ∂(Σ w·log π)/∂θ to the gradient, w = decide(log π). Weights that are known in advance save a forward pass.
   * @param entropyWeights h: adds ∂(Σ h·H)/∂θ too, H the entropy in nats of the distribution that each token was drawn from;
   *   needs the capability "entropy-gradient"
   * @returns the log-probs under the current parameters
   */
  forwardBackward(samples: readonly ActionInContext[], decide: Decide | Weights, entropyWeights?: Weights): Promise<Logprobs>;
  /** One optimiser step along the accumulated gradient, which is cleared. */
  step(): Promise<StepReport>;
  /**
   * `forwardBackward` with weights that are known and `step`, in one call. Present where each answer of an engine is waited for, as over
   * a network: the step is sent before the pass is answered, so a check of the answer comes after the step.
   */
  readonly passAndStep?: (samples: readonly ActionInContext[], weights: Weights) => Promise<SteppedPass>;
  /** Present where the engine has the capability "critic" and the algorithm asked for it. */
  readonly critic?: Critic;
  /**
   * Receives the reasons of the weights that were back-propagated last. Present where an update is recorded. An algorithm calls it for the record alone: it moves no number.
   */
  readonly explain?: (reasons: readonly TurnReason[]) => void;
}

/** Why an algorithm gave the tokens of a turn their weights. */
export interface TurnReason {
  readonly trajectory: TrajectoryId;
  readonly turn: number;
  /** Â, mean over the turn's tokens. */
  readonly advantage: number;
  /** The factor that multiplied it: SeeUPO's M. undefined in algorithms that multiply by nothing. */
  readonly factor?: number;
}

/** A value function with parameters and an optimiser of its own: V(context and the action so far), before each action token. */
export interface Critic {
  values(samples: readonly ActionInContext[]): Promise<Values>;
  /**
   * Adds ∂(Σ w·V)/∂φ to the critic's gradient, w = decide(V): for a loss to be minimised w = −∂loss/∂V.
   * @returns the values under the current parameters
   */
  forwardBackward(samples: readonly ActionInContext[], decide: (values: Values) => Weights): Promise<Values>;
  /**
   * One optimiser step of the critic along its accumulated gradient, which is cleared.
   * @param scale multiplies the learning rate of the schedule
   */
  step(scale: number): Promise<StepReport>;
}

/** A pass and the step that was sent with it. */
export interface SteppedPass {
  /** Under the parameters before the step. */
  readonly logprobs: Logprobs;
  readonly report: StepReport;
}

export interface StepReport {
  /** Euclidean norm of the gradient over all parameters, before clipping. */
  readonly gradientNorm: number;
  readonly learningRate: number;
}
