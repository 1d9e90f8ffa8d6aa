import type { Logprobs } from "../../core/policy.ts";
import { checkRows, clamp, type LossAndWeights, type TokenRows } from "./objective.ts";

export const klEstimators = ["k1", "k2", "k3", "abs", "k1+", "k3+"] as const;
export type KlEstimator = (typeof klEstimators)[number];

/** verl's: k3 beyond this many nats counts as this, without a gradient. TRL has none. */
export const klCutOff = 10;

export interface KlOptions {
  readonly estimator: KlEstimator;
  /** Largest k3 of a token, in nats. Infinity: no limit, on |x| either. Default 10. */
  readonly cutOff?: number;
}

export interface KlBatch {
  readonly logprobs: Logprobs;
  readonly refLogprobs: Logprobs;
  readonly tokenScales: readonly number[];
}

/**
 * β times a KL estimate to the frozen reference, differentiated as it stands. With x = logπ − logπ_ref:
 *
 *   k1 = x          unbiased as a value; its derivative, 1, has expectation 0: a weight on the score alone
 *   k2 = x²/2       its derivative, x, is an unbiased gradient of the KL
 *   k3 = e^−x + x − 1   never negative; its derivative is 1 − e^−x
 *   abs = |x|       its derivative is the sign of x
 *   k1+, k3+        the value of k1 or k3 with the gradient of k2 (verl's straight-through forms)
 *
 * (J. Schulman, "Approximating KL divergence", 2020.) As in verl, k3 is cut off at |x| = 20 and at `cutOff` nats, with gradient 0 beyond: a
 * token whose probability the policy has all but given up is then no longer pulled back. TRL cuts nothing off.
 * @throws ShapeError if rows do not fit each other
 * @example
 * klPenalty({ logprobs: [[-1]], refLogprobs: [[-1.5]], tokenScales: [1] }, { estimator: "k3", coefficient: 0.01 }).loss;
 */
export function klPenalty(
  { logprobs, refLogprobs, tokenScales }: KlBatch,
  { estimator, coefficient, cutOff }: KlOptions & { readonly coefficient: number },
): LossAndWeights {
  checkRows({ logprobs, refLogprobs }, tokenScales);
  const weights: number[][] = [];
  let loss = 0;
  let sum = 0;
  let tokens = 0;
  const estimate = { value: 0, derivative: 0 };
  for (let b = 0; b < logprobs.length; b++) {
    const [row, ref, scale] = [logprobs[b], refLogprobs[b], coefficient * tokenScales[b]];
    const weight = new Array<number>(row.length);
    for (let t = 0; t < row.length; t++) {
      estimateKl(row[t] - ref[t], { estimator, cutOff }, estimate);
      loss += scale * estimate.value;
      sum += estimate.value;
      weight[t] = -scale * estimate.derivative;
    }
    weights.push(weight);
    tokens += row.length;
  }
  return { loss, weights, metrics: tokens === 0 ? {} : { kl: sum / tokens } };
}

interface KlEstimate {
  value: number;
  derivative: number;
}

/**
 * One token's KL estimate in nats and what is taken as its derivative with respect to logπ. x = logπ − logπ_ref.
 * @example
 * tokenKl(-1 - -1.5, { estimator: "k3" }); // value e^-0.5 + 0.5 - 1, derivative 1 - e^-0.5
 */
export function tokenKl(x: number, options: KlOptions): Readonly<KlEstimate> {
  return estimateKl(x, options, { value: 0, derivative: 0 });
}

/** The same into a record that is there already: nothing is allocated per token. */
function estimateKl(x: number, { estimator, cutOff = klCutOff }: KlOptions, out: KlEstimate): KlEstimate {
  const widest = cutOff < Infinity ? 20 : Infinity;
  const limited = clamp(x, -widest, widest);
  const exp = estimator === "k3" || estimator === "k3+" ? Math.exp(-limited) : 0;
  const k3 = exp + limited - 1;
  switch (estimator) {
    case "k1":
    case "k1+":
      out.value = x;
      out.derivative = estimator === "k1" ? 1 : x;
      return out;
    case "k2":
      out.value = (x * x) / 2;
      out.derivative = x;
      return out;
    case "k3":
      out.value = Math.min(k3, cutOff);
      out.derivative = k3 > cutOff || limited !== x ? 0 : 1 - exp;
      return out;
    case "k3+":
      out.value = Math.min(k3, cutOff);
      out.derivative = x;
      return out;
    case "abs":
      out.value = Math.abs(x);
      out.derivative = Math.sign(x);
      return out;
    default:
      return estimator satisfies never;
  }
}

/** κ_t: the KL estimate of every token, for a penalty in the reward. Rows as given. */
export function tokenKls(logprobs: Logprobs, refLogprobs: Logprobs, options: KlOptions): TokenRows {
  checkRows(
    { logprobs, refLogprobs },
    logprobs.map(() => 1),
  );
  return logprobs.map((row, b) => row.map((logprob, t) => tokenKl(logprob - refLogprobs[b][t], options).value));
}
