import type { ClippedSimplex } from "./maximise.ts";

/**
 * The mirror-learning update with the KL drift, in one simplex: π maximises E_π[M·A] − KL(π ‖ π_old) / η.
 *
 *   π(a) ∝ π_old(a) · exp(η · q(a) / max|q|),   q(a) = E[M·A | a] times the probability of the history
 *
 * q is divided by its largest size, so that histories that are seldom reached move as far.
 */
export function withDrift(simplex: ClippedSimplex, eta: number): Float64Array {
  return tilted(simplex.old, scaled(simplex), eta);
}

/**
 * The update with a trust region: π maximises E_π[M·A] under KL(π ‖ π_old) ≤ δ. The maximum is on the same path as that of the drift; η is found by
 * bisection, and has an upper end beyond which the best actions have all the probability.
 */
export function withinRegion(simplex: ClippedSimplex, delta: number): Float64Array {
  const values = scaled(simplex);
  const at = (eta: number) => tilted(simplex.old, values, eta);
  let [low, high] = [0, 1];
  while (high < maxTilt && divergence(at(high), simplex.old) < delta) high *= 2;
  for (let i = 0; i < bisections; i++) {
    const middle = (low + high) / 2;
    if (divergence(at(middle), simplex.old) < delta) low = middle;
    else high = middle;
  }
  return at(low);
}

const [maxTilt, bisections] = [512, 40];

function scaled({ gain, loss, old }: ClippedSimplex): Float64Array {
  const values = Float64Array.from({ length: old.length }, (_, a) => (old[a] > 0 ? (gain[a] + loss[a]) / old[a] : 0));
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return size === 0 ? values : values.map((value) => value / size);
}

function tilted(old: ArrayLike<number>, values: Float64Array, eta: number): Float64Array {
  const best = values.reduce((most, value, a) => (old[a] > 0 ? Math.max(most, value) : most), Number.NEGATIVE_INFINITY);
  const weights = values.map((value, a) => old[a] * Math.exp(eta * (value - best)));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** KL(π ‖ old) in nats. */
function divergence(policy: Float64Array, old: ArrayLike<number>): number {
  return policy.reduce((sum, p, a) => sum + (p > 0 ? p * Math.log(p / old[a]) : 0), 0);
}
