import type { StepOptions } from "../../../src/engines/engine.ts";

/** The same on all sides. */
export const adamw: StepOptions = {
  learningRate: 1e-5,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.01,
  clipNorm: 1,
};
