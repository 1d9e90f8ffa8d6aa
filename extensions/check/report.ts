import type { Split } from "../../src/environments/environment.ts";
import type { Estimate } from "../../src/statistics/estimate.ts";
import type { Overlap } from "./overlap.ts";

/** The facts that `retrograde-rl env check` finds out about an environment. */
export interface EnvironmentReport {
  readonly environment: string;
  /** Number of tasks of each split; null for splits without end. */
  readonly sizes: Readonly<Record<string, number | null>>;
  /** The split that policies were measured on. */
  readonly split: Split;
  readonly tasks: number;
  /** Success of the scripted expert. */
  readonly expert?: Estimate;
  /** Success of policies that understand nothing. */
  readonly policies: readonly { readonly name: string; readonly success: Estimate }[];
  /** Success of naming one of the request's names and numbers at random. */
  readonly chance?: Estimate;
  readonly overlap: readonly Overlap[];
  readonly model?: ModelReport;
  /** Sentences about what is not the same the second time: tasks, or what their episodes answer. Empty if all is. */
  readonly unrepeatable: readonly string[];
  /** The checks that could not be made, and why. */
  readonly unchecked: readonly string[];
}

export interface ModelReport {
  /** Tokens of what an episode begins with, tools included. */
  readonly prompt: { readonly mean: number; readonly longest: number };
  readonly greedy: Estimate;
  readonly sampled: Estimate;
  readonly attempts: number;
  /** The share of the groups of a training step whose rewards are not all equal. */
  readonly signal: Estimate;
  readonly groupSize: number;
}
