import type { TrainingConfig } from "../config/settings.ts";

/**
 * Learning rate of a step: a linear warm-up, then constant, or falling to 0 after the last step along a line or half a cosine.
 * @param step from 1 to `steps`
 */
export function scheduledLearningRate(
  step: number,
  steps: number,
  { learningRate, schedule, warmupSteps }: Pick<TrainingConfig["optimizer"], "learningRate" | "schedule" | "warmupSteps">,
): number {
  if (step <= warmupSteps) return (learningRate * step) / warmupSteps;
  const passed = (step - 1 - warmupSteps) / (steps - warmupSteps);
  switch (schedule) {
    case "constant":
      return learningRate;
    case "linear":
      return learningRate * (1 - passed);
    case "cosine":
      return (learningRate * (1 + Math.cos(Math.PI * passed))) / 2;
    default:
      return schedule satisfies never;
  }
}
