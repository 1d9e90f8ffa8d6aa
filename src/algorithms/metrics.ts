/** How the values of an update's optimiser steps become one number, and what the number is. */
export interface Metric {
  readonly fold: "mean" | "min" | "max" | "sum";
  readonly meaning: string;
}
export type Glossary<Name extends string = string> = Readonly<Record<Name, Metric>>;

/** Numbers by the names of a glossary. One is absent where it does not exist, such as `kl` without a reference. */
export type MetricValues = Readonly<Record<string, number>>;

/** The metrics that several algorithms report. A kind that has others brings them. */
export const sharedMetrics = {
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
} as const satisfies Glossary;

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

  /** As the metrics `NAMEMin`, `NAMEMean` and `NAMEMax`. */
  named(name: string): MetricValues {
    return { [`${name}Min`]: this.min, [`${name}Mean`]: this.mean, [`${name}Max`]: this.max };
  }
}
