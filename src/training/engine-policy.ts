import type { Policy } from "../core/policy.ts";
import type { Engine, StepOptions } from "../engines/engine.ts";

/**
 * An engine as an algorithm sees it for one training step.
 * @param temperature of the rollouts
 * @param step with the schedule's learning rate for this step, which the algorithm may scale
 */
export function enginePolicy(engine: Engine, temperature: number, step: StepOptions): Policy {
  return {
    logprobs: (samples) => engine.logprobs(samples, { temperature }),
    referenceLogprobs: (samples) => engine.referenceLogprobs(samples, { temperature }),
    forwardBackward: (samples, decide) => engine.forwardBackward(samples, decide, { temperature }),
    step: (scale = 1) => engine.step({ ...step, learningRate: step.learningRate * scale }),
  };
}
