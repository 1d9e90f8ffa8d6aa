import fc from "fast-check";
import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { real } from "../../test/reals.ts";

/**
 * A policy that decides when to stop. In turn k = 1 … K it continues with probability p_k or stops; if it continues it earns the
 * mean reward r_k of the turn's work and reaches turn k + 1; turn K + 1 is the end. Stopping in turn k earns the outcome o_k,
 * continuing to the end o_{K+1}. θ_k is the logit of continuing, so ∂ log π / ∂θ_k is 1 − p_k for continuing and −p_k for stopping.
 */
interface StoppingProblem {
  /** K numbers: p_k. */
  readonly goOn: readonly number[];
  /** K numbers: r_k, the intermediate reward of going on in turn k. */
  readonly rewards: readonly number[];
  /** K + 1 numbers: what stopping in turn k earns, and what the end earns. */
  readonly outcomes: readonly number[];
}

/** q_k, the probability that turn k is reached; q_1 = 1. One more than there are turns. */
function reachProbabilities({ goOn }: StoppingProblem): number[] {
  const reach = [1];
  for (const p of goOn) reach.push(reach[reach.length - 1] * p);
  return reach;
}

/** Every way to stop: after `turns` turns gone on, with its probability and its rewards. */
function stoppingTrajectories(problem: StoppingProblem) {
  const { goOn, rewards, outcomes } = problem;
  const reach = reachProbabilities(problem);
  return outcomes.map((outcome, turns) => ({
    turns,
    probability: reach[turns] * (turns === goOn.length ? 1 : 1 - goOn[turns]),
    earned: rewards.slice(0, turns),
    outcome,
  }));
}

/** ∂J/∂θ_k by enumeration of J's own definition: reach · p(1 − p) · (value of going on − value of stopping). */
function stoppingGradient(problem: StoppingProblem): number[] {
  const { goOn, rewards, outcomes } = problem;
  const reach = reachProbabilities(problem);
  const values = [...outcomes];
  const gradient = new Array<number>(goOn.length).fill(0);
  for (let k = goOn.length - 1; k >= 0; k--) {
    const [on, stop] = [rewards[k] + values[k + 1], outcomes[k]];
    gradient[k] = reach[k] * goOn[k] * (1 - goOn[k]) * (on - stop);
    values[k] = goOn[k] * on + (1 - goOn[k]) * stop;
  }
  return gradient;
}

/**
 * Computes what the estimator with one baseline for each turn index expects, by enumeration: every trajectory's advantage is the
 * sum over its own turns of (reward − mean reward of that index among the trajectories that have it), plus its outcome less the
 * mean outcome:
 *
 *   A(τ) = Σ_{k ≤ turns(τ)} (r_k(τ) − b_k) + o(τ) − ō          b_k = E[r_k | turn k was gone on in]
 *
 * in the limit of infinite groups. It subtracts as many b_k as the trajectory chose to have turns, so the baseline depends on the actions.
 */
function perTurnIndexGradient(problem: StoppingProblem): number[] {
  const { goOn } = problem;
  const trajectories = stoppingTrajectories(problem);
  const meanOutcome = trajectories.reduce((sum, { probability, outcome }) => sum + probability * outcome, 0);
  const baselines = goOn.map((_, k) => {
    const having = trajectories.filter(({ turns }) => turns > k);
    const mass = having.reduce((sum, { probability }) => sum + probability, 0);
    return mass === 0 ? 0 : having.reduce((sum, { probability, earned }) => sum + probability * earned[k], 0) / mass;
  });
  return goOn.map((p, k) =>
    trajectories.reduce((sum, { turns, probability, earned, outcome }) => {
      if (turns < k) return sum;
      const score = turns > k ? 1 - p : -p;
      const advantage = earned.reduce((total, reward, j) => total + reward - baselines[j], 0) + outcome - meanOutcome;
      return sum + probability * score * advantage;
    }, 0),
  );
}

/**
 * The bias in closed form, E[estimator] − ∂J/∂θ_k:
 *
 *   bias_k = −q_k p_k (1 − p_k) · E[ Σ_{j ≥ k} b_j 1(turn j is gone on in) | turn k is gone on in ]
 *          = −q_k p_k (1 − p_k) · Σ_{j ≥ k} b_j Π_{i = k+1 … j} p_i
 *
 * the gradient of a hidden reward −b_j for every turn j that is gone on in: with positive intermediate rewards, a push towards stopping
 * at once. It does not vanish with larger groups. It is 0 where the policy does not decide (p_k = 0 or 1), and where intermediate rewards have mean 0.
 */
function stoppingBias({ goOn, rewards, ...rest }: StoppingProblem): number[] {
  const reach = reachProbabilities({ goOn, rewards, ...rest });
  return goOn.map((p, k) => {
    let hidden = 0;
    for (let j = goOn.length - 1; j >= k; j--) hidden = rewards[j] + (j + 1 < goOn.length ? goOn[j + 1] * hidden : 0);
    return -reach[k] * p * (1 - p) * hidden;
  });
}

/**
 * Computes what an estimator with the mean of the whole return as its baseline expects: the true gradient, whatever the policy
 * decides.
 */
function trajectoryBaselineGradient(problem: StoppingProblem): number[] {
  const trajectories = stoppingTrajectories(problem);
  const total = ({ earned, outcome }: (typeof trajectories)[number]) => earned.reduce((sum, r) => sum + r, 0) + outcome;
  const mean = trajectories.reduce((sum, trajectory) => sum + trajectory.probability * total(trajectory), 0);
  return problem.goOn.map((p, k) =>
    trajectories.reduce((sum, trajectory) => {
      if (trajectory.turns < k) return sum;
      return sum + trajectory.probability * (trajectory.turns > k ? 1 - p : -p) * (total(trajectory) - mean);
    }, 0),
  );
}

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

test("of the 1,000 random problems of the lab 648 expect a wrong sign in some turn, each of them towards stopping", () => {
  const random = randomStream(0, "stopping");
  const numbers = (count: number, low: number, high: number) =>
    Array.from({ length: count }, () => low + (high - low) * random.uniform());
  const wrong = Array.from({ length: 1000 }, (_, i) => {
    const turns = 1 + (i % 4);
    const problem = { goOn: numbers(turns, 0.05, 0.95), rewards: numbers(turns, 0, 1), outcomes: numbers(turns + 1, 0, 1) };
    const gradient = stoppingGradient(problem);
    return perTurnIndexGradient(problem).filter((expected, k) => expected * gradient[k] < 0);
  }).filter((turns) => turns.length > 0);
  expect(wrong).toHaveLength(648);
  expect(wrong.filter((turns) => turns.some((expected) => expected < 0))).toHaveLength(648);
});
