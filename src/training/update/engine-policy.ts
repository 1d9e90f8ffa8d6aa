import type { Policy } from "../../core/policy.ts";
import type { Engine, EngineCritic, StepOptions } from "../../engines/engine.ts";
import type { TrainingConfig } from "../config/settings.ts";

/** The optimiser's settings as an engine takes them, with the learning rate of one step. */
export function stepOptions(
  { clipNorm, beta1, beta2, epsilon, weightDecay }: TrainingConfig["optimizer"],
  learningRate: number,
): StepOptions {
  return { learningRate, beta1, beta2, epsilon, weightDecay, clipNorm: clipNorm === "off" ? Infinity : clipNorm };
}

/**
 * An engine as an algorithm sees it for one training step.
 * @param temperature of the rollouts
 * @param step with the schedule's learning rate for this step
 * @param critic for algorithms that need one; its steps are those of the policy, save for the algorithm's scale
 * @example
 * const policy = enginePolicy(engine, 1, { learningRate: 1e-4, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 });
 */
export function enginePolicy(engine: Engine, temperature: number, step: StepOptions, critic?: EngineCritic): Policy {
  const together = engine.passAndStep?.bind(engine);
  return {
    logprobs: (samples) => engine.logprobs(samples, { temperature }),
    referenceLogprobs: (samples) => engine.referenceLogprobs(samples, { temperature }),
    forwardBackward: (samples, decide, entropyWeights) =>
      engine.forwardBackward(samples, decide, { temperature, entropyWeights }),
    step: () => engine.step(step),
    passAndStep: together && ((samples, weights) => together(samples, weights, { temperature }, step)),
    critic: critic && {
      values: (samples) => critic.values(samples),
      forwardBackward: (samples, decide) => critic.forwardBackward(samples, decide),
      step: (scale) => critic.step({ ...step, learningRate: step.learningRate * scale }),
    },
  };
}
