type Fold = "mean" | "min" | "max" | "sum";

/**
 * The glossary of what an update reports. `fold` says how the values of an update's optimiser steps become one number.
 * A metric is absent where it does not exist, such as `kl` without a reference.
 */
export const updateMetrics = {
  loss: {
    fold: "mean",
    meaning:
      "The scalar that was minimised, before each optimiser step, without the weights of a correction. SFT: nats per action token.",
  },
  clipFraction: { fold: "mean", meaning: "Share of tokens whose clipped surrogate was the larger loss: they have no gradient." },
  dualClipFraction: { fold: "mean", meaning: "Share of tokens with negative advantage whose loss was cut off by the dual clip." },
  approxKl: {
    fold: "mean",
    meaning: "Mean over tokens of log π_old − log π_θ: how far the steps of this update have moved the policy, in nats.",
  },
  ratioMean: { fold: "mean", meaning: "Mean of π_θ/π_old over the rows or tokens of a step, at the moment of its gradient." },
  ratioMin: { fold: "min", meaning: "Smallest such ratio." },
  ratioMax: { fold: "max", meaning: "Largest such ratio. 1 for a single on-policy step." },
  kl: { fold: "mean", meaning: "Mean over tokens of the KL estimate to the reference, in nats." },
  gradientNorm: { fold: "mean", meaning: "Euclidean norm of the gradient before clipping, mean over the optimiser steps." },
  gradientNormMax: { fold: "max", meaning: "The largest of them." },
  learningRate: { fold: "mean", meaning: "Learning rate of the optimiser steps, scaled as each turn update was." },
  optimiserSteps: { fold: "sum", meaning: "Optimiser steps that were taken." },
  groups: { fold: "sum", meaning: "Groups in the batch." },
  groupsWithoutSignal: { fold: "sum", meaning: "Groups whose returns are all equal, groups of one included." },
  anchorsShared: {
    fold: "mean",
    meaning: "GiGPO: share of turns whose anchor state occurs in another turn of the group; the others have no step advantage.",
  },
  overlongMean: { fold: "mean", meaning: "DAPO: mean over trajectories of the punishment for length." },
  importanceMean: {
    fold: "mean",
    meaning: "Correction: mean of π/μ before its bounds, over the tokens, turns or trajectories that it is taken over. Near 1.",
  },
  importanceMin: { fold: "min", meaning: "Correction: smallest such ratio." },
  importanceMax: { fold: "max", meaning: "Correction: largest such ratio." },
  importanceBounded: { fold: "mean", meaning: "Correction: share of them beyond the bounds: truncated, or masked." },
  effectiveSampleShare: {
    fold: "mean",
    meaning: "Correction: (Σw)²/(n·Σw²) of the weights that were used: 1 if all are alike, 1/n if one outweighs all.",
  },
  behaviourKl: {
    fold: "mean",
    meaning: "Correction: mean over tokens of log μ − log π, in nats: an estimate of KL(μ‖π), π the policy before the update.",
  },
  valueLoss: { fold: "mean", meaning: "PPO: the critic's loss before each of its steps, in squared units of the return." },
  valueClipFraction: {
    fold: "mean",
    meaning: "PPO: share of values that had moved beyond the clip range: they have no gradient.",
  },
  explainedVariance: {
    fold: "mean",
    meaning: "PPO: 1 − var(G − V)/var(G) before the update: 1 for a perfect critic, 0 for a constant one.",
  },
  criticGradientNorm: { fold: "mean", meaning: "PPO: norm of the critic's gradient before clipping." },
  turnUpdates: { fold: "sum", meaning: "SeeUPO: turn updates that took a step." },
  rowsPerUpdateMin: { fold: "min", meaning: "SeeUPO: turns in the smallest turn update." },
  rowsPerUpdateMean: { fold: "mean", meaning: "SeeUPO: turns in a turn update, mean over the turn updates." },
  rowsPerUpdateMax: { fold: "max", meaning: "SeeUPO: turns in the largest turn update." },
  visitScaleMin: { fold: "min", meaning: "SeeUPO: smallest factor that a turn update put on the learning rate." },
  turnRatioMean: {
    fold: "mean",
    meaning:
      "SeeUPO: mean of the r that multiply M: a turn's probability after its turn update, over that before it or before the iteration. Not yet clipped.",
  },
  turnRatioMin: { fold: "min", meaning: "SeeUPO: smallest r." },
  turnRatioMax: { fold: "max", meaning: "SeeUPO: largest r." },
  carriedMin: { fold: "min", meaning: "SeeUPO: smallest M that multiplied an advantage." },
  carriedMax: { fold: "max", meaning: "SeeUPO: largest M that multiplied an advantage." },
} as const satisfies Record<string, { fold: Fold; meaning: string }>;

export type UpdateMetric = keyof typeof updateMetrics;
export type UpdateMetrics = { readonly [Name in UpdateMetric]?: number };

/** Folds the metrics of an update's parts into one record, each by the rule of the glossary. */
export class MetricTally {
  readonly #folded = new Map<string, { value: number; count: number }>();

  record(metrics: UpdateMetrics): void {
    for (const [name, value] of Object.entries(metrics)) {
      const folded = this.#folded.get(name);
      if (folded === undefined) this.#folded.set(name, { value, count: 1 });
      else this.#folded.set(name, { value: fold(name as UpdateMetric, folded.value, value), count: folded.count + 1 });
    }
  }

  result(): UpdateMetrics {
    return Object.fromEntries(
      [...this.#folded].map(([name, { value, count }]) => [
        name,
        updateMetrics[name as UpdateMetric].fold === "mean" ? value / count : value,
      ]),
    );
  }
}

function fold(name: UpdateMetric, a: number, b: number): number {
  switch (updateMetrics[name].fold) {
    case "min":
      return Math.min(a, b);
    case "max":
      return Math.max(a, b);
    default:
      return a + b;
  }
}

/** Smallest, mean and largest of the values added. The mean of nothing is NaN. */
export class Spread {
  min = Infinity;
  max = -Infinity;
  #sum = 0;
  #count = 0;

  add(value: number): void {
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
    this.#sum += value;
    this.#count++;
  }

  get mean(): number {
    return this.#sum / this.#count;
  }
}
