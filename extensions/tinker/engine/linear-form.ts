import type { Weights } from "../../../src/core/policy.ts";
import { present } from "../../../src/core/present.ts";
import type { Datum } from "../client/index.ts";

/** One way of asking a server for the gradient of −Σ w·log π, for weights of any sign. */
export interface LinearForm {
  readonly name: string;
  readonly lossFn: string;
  readonly config: Readonly<Record<string, number>>;
  /** Whether gradients of several passes before a step add up as they are. */
  readonly accumulates: boolean;
  /** The data with the weights, in the server's terms. */
  inputs(data: readonly Datum[], weights: Weights): Datum[];
}

const weightsOf = (weights: Weights, datum: number) => present(weights[datum], "the weights of a datum");

/** The candidates, in the order in which they are tried. A server's name says nothing: which of them is exact is measured. */
export const linearForms: readonly LinearForm[] = [
  {
    name: "cross_entropy with signed weights",
    lossFn: "cross_entropy",
    config: {},
    accumulates: true,
    inputs: (data, weights) => data.map((datum, i) => ({ ...datum, inputs: { weights: weightsOf(weights, i) } })),
  },
  {
    // SkyRL's JAX back end divides cross-entropy by the signed sum of its weights, and averages over targets and data.
    name: "cispo clipped to 1, scaled by targets × data",
    lossFn: "cispo",
    config: { clip_low_threshold: 1, clip_high_threshold: 1 },
    accumulates: false,
    inputs: (data, weights) =>
      data.map((datum, i) => ({
        ...datum,
        inputs: { advantages: weightsOf(weights, i).map((weight) => weight * datum.targets.length * data.length) },
      })),
  },
];
