import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { advantagesOf, exactBatch, sampledBatch } from "./batch.ts";
import { levels, updateKinds } from "./cell.ts";
import { objective, unitRanges } from "./objective.ts";
import { optimum } from "./optimum.ts";
import {
  chancesFor,
  expectedReturn,
  layoutOf,
  leafProbabilities,
  normalise,
  type Policy,
  randomPolicy,
  sights,
  uniformPolicy,
} from "./policy.ts";
import { drawProblem } from "./problem.ts";
import { valuesOf } from "./values.ts";

const size = { turns: 2, tokens: 2, vocabulary: 2, contexts: 2 };
const problem = drawProblem(size, 1, randomStream(3, "test"));
const rules = { clip: 0.2, ratio: "normalised" } as const;

/** The policy with one logit moved. */
function moved(policy: Policy, at: number, step: number): Policy {
  return normalise(
    policy.map((p, i) => (i === at ? p * Math.exp(step) : p)),
    size.vocabulary,
  );
}

function differences(policy: Policy, value: (policy: Policy) => number): number[] {
  return [...policy].map((_, at) => (value(moved(policy, at, 1e-5)) - value(moved(policy, at, -1e-5))) / 2e-5);
}

function expectClose(actual: ArrayLike<number>, expected: readonly number[]) {
  expected.forEach((value, i) => {
    expect(actual[i]).toBeCloseTo(value, 7);
  });
}

test.each(sights)(
  "policy gradient theorem: REINFORCE with exact group-relative advantages has the gradient of J (%s)",
  (sees) => {
    const layout = layoutOf(size, sees);
    const policy = randomPolicy(layout, randomStream(5, sees));
    const batch = exactBatch(problem, layout, policy);
    const slopes = differences(policy, (p) => expectedReturn(problem, layout, p));
    for (const advantage of ["gae", "grae"] as const)
      for (const update of updateKinds)
        for (const level of levels) {
          const cell = { advantage, update, level };
          const gradient = new Float64Array(policy.length);
          const advantages = advantagesOf(cell, problem, layout, policy, batch);
          const turns = [0, 1];
          const ranges = unitRanges(level, layout, turns);
          const turnUpdate = { turns, ranges, batch, advantages, carried: new Float64Array(batch.count).fill(1), old: policy };
          objective(cell, layout, policy, turnUpdate, { ...rules, ratio: "plain" }, gradient);
          expectClose(gradient, slopes);
        }
  },
);

test.each(levels)("the gradient of the clipped objective agrees with central differences of it (level %s)", (level) => {
  const layout = layoutOf(size, "index");
  const old = randomPolicy(layout, randomStream(7, level));
  const policy = randomPolicy(layout, randomStream(8, level)).map((p, i) => 0.85 * old[i] + 0.15 * p);
  const batch = exactBatch(problem, layout, old);
  const advantages = advantagesOf({ advantage: "grae", level }, problem, layout, old, batch);
  const turns = [0, 1];
  const ranges = unitRanges(level, layout, turns);
  const turnUpdate = { turns, ranges, batch, advantages, carried: new Float64Array(batch.count).fill(0.9), old };
  const cell = { update: "ppu", level } as const;
  for (const ratio of ["normalised", "plain"] as const) {
    const gradient = new Float64Array(policy.length);
    objective(cell, layout, policy, turnUpdate, { clip: 0.2, ratio }, gradient);
    const scratch = new Float64Array(policy.length);
    expectClose(
      gradient,
      differences(policy, (p) => objective(cell, layout, p, turnUpdate, { clip: 0.2, ratio }, scratch)),
    );
  }
});

test("the exact critic's advantages have mean 0 at every unit, and sum to the return less J", () => {
  const layout = layoutOf(size, "history");
  const policy = randomPolicy(layout, randomStream(9));
  const deterministic = { ...problem, spreads: new Float64Array(problem.spreads.length) };
  const batch = exactBatch(deterministic, layout, policy);
  const values = valuesOf(deterministic, layout, policy).before[0];
  for (const level of levels) {
    const advantages = advantagesOf({ advantage: "gae", level }, deterministic, layout, policy, batch);
    const units = advantages.length / batch.count;
    for (let u = 0; u < units; u++) {
      let mean = 0;
      for (let i = 0; i < batch.count; i++) mean += batch.weights[i] * advantages[i * units + u];
      expect(mean).toBeCloseTo(0, 12);
    }
    const sum = advantages.subarray(0, units).reduce((total, a) => total + a, 0);
    expect(sum).toBeCloseTo(batch.rewards[0] - values[0], 12);
  }
});

test("a sampled group's advantages are G−1 over G of the unbiased ones: their mean slope shrinks so", () => {
  const single = { turns: 1, tokens: 1, vocabulary: 2, contexts: 1 };
  const layout = layoutOf(single, "history");
  const coin = { size: single, means: Float64Array.from([1, 0]), spreads: new Float64Array(2) };
  const policy = uniformPolicy(layout);
  const random = randomStream(11);
  const cell = { advantage: "grae", update: "reinforce", level: "turn" } as const;
  const draws = 20_000;
  let slope = 0;
  for (let i = 0; i < draws; i++) {
    const batch = sampledBatch(coin, layout, leafProbabilities(layout, policy, chancesFor(coin)), 2, random);
    const advantages = advantagesOf(cell, coin, layout, policy, batch);
    const gradient = new Float64Array(2);
    objective(
      cell,
      layout,
      policy,
      { turns: [0], ranges: unitRanges("turn", layout, [0]), batch, advantages, carried: Float64Array.of(1, 1), old: policy },
      rules,
      gradient,
    );
    slope += gradient[0] / draws;
  }
  // ∂J/∂logit = 1/4; a group of two sees half of it.
  expect(slope).toBeGreaterThan(0.12);
  expect(slope).toBeLessThan(0.13);
});

test("the optimum of a shared table may be mixed, and is found", () => {
  // Two turns must differ: a b or b a. One table for both turns does best with 1/2 each, and gets 1/2.
  const differ = {
    size: { turns: 2, tokens: 1, vocabulary: 2, contexts: 1 },
    means: Float64Array.from([0, 1, 1, 0]),
    spreads: new Float64Array(4),
  };
  expect(optimum(differ, "shared")).toBeCloseTo(0.5, 9);
  expect(optimum(differ, "index")).toBe(1);
  expect(optimum(differ, "history")).toBe(1);
});
