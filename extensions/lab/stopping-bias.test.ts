import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../test/reals.ts";
import {
  perTurnIndexGradient,
  type StoppingProblem,
  stoppingBias,
  stoppingGradient,
  stoppingTrajectories,
  trajectoryBaselineGradient,
} from "./stopping-bias.ts";

const number = real(-3, 3);
const problems: fc.Arbitrary<StoppingProblem> = fc.integer({ min: 1, max: 5 }).chain((turns) =>
  fc.record({
    goOn: fc.array(real(0.05, 0.95), { minLength: turns, maxLength: turns }),
    rewards: fc.array(number, { minLength: turns, maxLength: turns }),
    outcomes: fc.array(number, { minLength: turns + 1, maxLength: turns + 1 }),
  }),
);

function expectClose(actual: readonly number[], expected: readonly number[]) {
  expect(actual.length).toBe(expected.length);
  for (let i = 0; i < actual.length; i++) expect(actual[i]).toBeCloseTo(expected[i], 10);
}

/** J from the list of trajectories, not from the recursion that the gradient uses. */
function expectedReturn(problem: StoppingProblem): number {
  return stoppingTrajectories(problem).reduce(
    (sum, { probability, earned, outcome }) => sum + probability * (earned.reduce((total, r) => total + r, 0) + outcome),
    0,
  );
}

test("the closed form of the bias is what enumeration gives", () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const gradient = stoppingGradient(problem);
      expectClose(
        perTurnIndexGradient(problem).map((value, k) => value - gradient[k]),
        stoppingBias(problem),
      );
    }),
  );
});

test("the true gradient agrees with central differences of J in the logits", () => {
  fc.assert(
    fc.property(problems, (problem) => {
      const moved = (k: number, step: number) => {
        const logit = Math.log(problem.goOn[k] / (1 - problem.goOn[k])) + step;
        return expectedReturn({ ...problem, goOn: problem.goOn.with(k, 1 / (1 + Math.exp(-logit))) });
      };
      const differences = problem.goOn.map((_, k) => (moved(k, 1e-4) - moved(k, -1e-4)) / 2e-4);
      stoppingGradient(problem).forEach((value, k) => {
        expect(value).toBeCloseTo(differences[k], 6);
      });
    }),
  );
});

test("a baseline for the whole return has no bias", () => {
  fc.assert(
    fc.property(problems, (problem) => {
      expectClose(trajectoryBaselineGradient(problem), stoppingGradient(problem));
    }),
  );
});

test("two turns of reward 1, all outcomes 0: going on is right, and the estimator sees nothing", () => {
  //  p = (1/2, 1/2), r = (1, 1):  ∂J/∂θ_1 = 1/4 · (1 + 1/2) = 3/8,  ∂J/∂θ_2 = 1/2 · 1/4 · 1 = 1/8; the bias takes all of it away
  const problem = { goOn: [0.5, 0.5], rewards: [1, 1], outcomes: [0, 0, 0] };
  expectClose(stoppingGradient(problem), [3 / 8, 1 / 8]);
  expectClose(stoppingBias(problem), [-3 / 8, -1 / 8]);
  expectClose(perTurnIndexGradient(problem), [0, 0]);
});

test("with an outcome that pays for stopping, the estimator points the wrong way", () => {
  // Going on earns 1 and then 0, stopping earns 0.4: going on is better by 0.6, and the estimator says that it is worse by 0.4.
  const problem = { goOn: [0.5], rewards: [1], outcomes: [0.4, 0] };
  expectClose(stoppingGradient(problem), [0.15]);
  expectClose(perTurnIndexGradient(problem), [-0.1]);
});
