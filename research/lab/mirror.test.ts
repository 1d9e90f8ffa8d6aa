import { expect, test } from "vitest";
import { withDrift, withinRegion } from "./mirror.ts";

const simplex = { gain: [0.3, 0.05, 0, 0], loss: [0, -0.01, -0.2, 0], old: [0.2, 0.4, 0.3, 0.1] };
/** E[M·A | a]. */
const q = simplex.old.map((p, a) => ((simplex.gain[a] ?? 0) + (simplex.loss[a] ?? 0)) / p);
const divergence = (policy: ArrayLike<number>) =>
  Array.from(policy).reduce((sum, p, a) => sum + (p > 0 ? p * Math.log(p / (simplex.old[a] ?? 0)) : 0), 0);
const expected = (policy: ArrayLike<number>) => Array.from(policy).reduce((sum, p, a) => sum + p * (q[a] ?? 0), 0);

/** Distributions beside one, in every direction between two actions. */
function* beside(policy: ArrayLike<number>, step: number) {
  for (let from = 0; from < policy.length; from++)
    for (let to = 0; to < policy.length; to++) {
      const other = Array.from(policy);
      other[from] = (other[from] ?? 0) - step;
      other[to] = (other[to] ?? 0) + step;
      if (from !== to && (other[from] ?? 0) > 0) yield other;
    }
}

test("the KL drift: no distribution beside it has more of E[M·A] − KL/η", () => {
  const eta = 0.7;
  const size = Math.max(...q.map(Math.abs));
  const objective = (policy: ArrayLike<number>) => expected(policy) / size - divergence(policy) / eta;
  const policy = withDrift(simplex, eta);
  expect(Array.from(policy).reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
  for (const step of [1e-2, 1e-4])
    for (const other of beside(policy, step)) expect(objective(other)).toBeLessThan(objective(policy));
});

test("the trust region: the bound is met, and no distribution within it has more of E[M·A]", () => {
  const policy = withinRegion(simplex, 0.02);
  expect(divergence(policy)).toBeCloseTo(0.02, 9);
  for (const step of [1e-2, 1e-3])
    for (const other of beside(policy, step))
      if (divergence(other) <= 0.02) expect(expected(other)).toBeLessThanOrEqual(expected(policy));
  const far = withinRegion(simplex, 10);
  expect(far[0]).toBeCloseTo(1, 9);
  const idle = withinRegion({ ...simplex, gain: [0, 0, 0, 0], loss: [0, 0, 0, 0] }, 0.02);
  expect(Array.from(idle)).toEqual(simplex.old.map((p) => expect.closeTo(p, 12)));
});
