import { expect, test } from "vitest";
import { bestOfGroupAdvantages } from "../../src/algorithms/advantages/best-of-group.ts";
import { type Advantages, batchNormalised, clippedAdvantages } from "../../src/algorithms/advantages/by-group.ts";
import { gae } from "../../src/algorithms/advantages/gae.ts";
import { gigpoAdvantages } from "../../src/algorithms/advantages/gigpo.ts";
import { gpgAdvantages } from "../../src/algorithms/advantages/gpg.ts";
import { groupRelativeAdvantages } from "../../src/algorithms/advantages/group-relative.ts";
import { leaveOneOutAdvantages } from "../../src/algorithms/advantages/leave-one-out.ts";
import { lengthWeightedAdvantages } from "../../src/algorithms/advantages/length-weighted.ts";
import { discountedReturns } from "../../src/algorithms/advantages/returns.ts";
import { whitened } from "../../src/algorithms/advantages/statistics.ts";
import type { Group } from "../../src/core/trajectory.ts";
import { expectClose, type GoldenCase, goldenCases, unpadded } from "./golden.ts";
import { groupOf } from "./table-policy.ts";

type Matrix = number[][];

interface Params {
  readonly divideByStd: boolean;
  readonly gamma: number;
  readonly lambda: number;
  readonly clamp: number;
  readonly fNorm: number;
  readonly mode: "mean_norm" | "mean_std_norm";
  readonly baselineOverRows: boolean;
  readonly stepWeight: number;
}
interface Inputs {
  readonly tokenRewards: Matrix;
  readonly mask: Matrix;
  readonly values: Matrix;
  readonly group: number[];
  readonly carriedRatio?: number[];
  readonly rewardBaselines: number[];
  readonly trajectory: (string | number)[];
  readonly anchorObservation: string[];
  readonly stepRewards: number[];
  readonly step: number[];
  readonly rewards: number[];
}
interface Outputs {
  readonly advantages: Matrix;
  readonly returns: Matrix;
  readonly episodeAdvantages: Matrix;
}
type Case = GoldenCase<Params, Inputs, Outputs>;

/** Numbers of action tokens: the sources also give some at masked positions, which nothing reads. */
function expectTokens(actual: Matrix, { inputs }: Case, expected: Matrix): void {
  expectClose(actual, unpadded(expected, inputs.mask));
}

function expectPerRow(of: (groups: readonly Group[], params: Params) => Advantages): (golden: Case) => void {
  return ({ inputs, outputs, params }) => {
    const advantages = of(groupsByRow(inputs), params);
    const perToken = inputs.mask.map((row, b) =>
      row.map((m) => m * (advantages.get(`row-${b}`) ?? Number.NaN) * (inputs.carriedRatio?.[b] ?? 1)),
    );
    expectClose(perToken, outputs.advantages);
  };
}

const raw = { singletonGroups: "raw" } as const;
const std = (divides: boolean) => (divides ? "group" : "none");

const checks: Readonly<Record<string, (golden: Case) => void>> = {
  "grpo/verl": expectPerRow((groups, { divideByStd }) => groupRelativeAdvantages(groups, { std: std(divideByStd), ...raw })),
  "grpo/arpo": expectPerRow((groups, { divideByStd }) => groupRelativeAdvantages(groups, { std: std(divideByStd), ...raw })),
  "rloo/verl": expectPerRow((groups) => leaveOneOutAdvantages(groups, raw)),
  "rloo/arpo": expectPerRow((groups) => leaveOneOutAdvantages(groups, raw)),
  "rloo-vectorized/verl": expectPerRow((groups) => leaveOneOutAdvantages(groups, { singletonGroups: "zero" })),
  "grpo-passk/verl": expectPerRow((groups, { divideByStd }) => bestOfGroupAdvantages(groups, { std: std(divideByStd) })),
  "opo/verl": expectPerRow((groups) => lengthWeightedAdvantages(groups, raw)),
  "gpg/verl": expectPerRow((groups, { fNorm }) => {
    expect(fNorm).toBe(1);
    return gpgAdvantages(groups, raw);
  }),
  "seeupo/seeupo": expectPerRow((groups, { clamp }) =>
    clippedAdvantages(batchNormalised(groupRelativeAdvantages(groups, { std: "none", ...raw }), false), clamp),
  ),
  "gae/verl": (golden) => {
    const { tokenRewards, values, mask } = golden.inputs;
    const { advantages, returns } = gae(unpadded(tokenRewards, mask), unpadded(values, mask), golden.params);
    expectTokens(whitened(advantages), golden, golden.outputs.advantages);
    expectTokens(returns, golden, golden.outputs.returns);
  },
  // Older code takes every position as a token, and whitens by the unmasked ones.
  "gae/arpo": (golden) => {
    const { tokenRewards, values, mask } = golden.inputs;
    const { advantages, returns } = gae(tokenRewards, values, golden.params);
    expectTokens(whitened(unpadded(advantages, mask)), golden, golden.outputs.advantages);
    expectClose(returns, golden.outputs.returns);
  },
  "reinforce++/verl": (golden) => {
    const { tokenRewards, mask } = golden.inputs;
    const returns = discountedReturns(unpadded(tokenRewards, mask), golden.params.gamma);
    expectTokens(returns, golden, golden.outputs.returns);
    expectTokens(whitened(returns), golden, golden.outputs.advantages);
  },
  // In older code a masked token cuts off what comes after it: the parts between are rows of their own, up to and with the hole's reward.
  "reinforce++/arpo": (golden) => {
    const { tokenRewards, mask } = golden.inputs;
    const returns = mask.map((row, b) =>
      row.map((_, t) => {
        const hole = row.indexOf(0, t);
        const [part] = discountedReturns([tokenRewards[b].slice(t)], golden.params.gamma);
        if (hole < 0) return part[0];
        // Beyond the hole the run starts anew, and the hole itself is not carried on.
        return discountedReturns(
          [tokenRewards[b].slice(t, hole === t ? row.length : hole)],
          hole === t ? 0 : golden.params.gamma,
        )[0][0];
      }),
    );
    expectTokens(unpadded(returns, mask), golden, golden.outputs.returns);
    expectTokens(whitened(unpadded(returns, mask)), golden, golden.outputs.advantages);
  },
  "reinforce++-baseline/verl": (golden) => {
    const advantages = groupRelativeAdvantages(groupsByRow(golden.inputs), { std: "none", ...raw });
    const rows = unpadded(golden.inputs.mask, golden.inputs.mask).map((row, b) =>
      row.map(() => advantages.get(`row-${b}`) ?? Number.NaN),
    );
    expectTokens(whitened(rows), golden, golden.outputs.advantages);
  },
  "remax/verl": (golden) => {
    const rewards = unpadded(golden.inputs.tokenRewards, golden.inputs.mask);
    expectTokens(discountedReturns(rewards, 1), golden, golden.outputs.returns);
  },
  "gigpo/gigpo": (golden) => {
    const { tokenRewards, mask, group, trajectory, anchorObservation, stepRewards } = golden.inputs;
    const steps = group.map((g, b) => ({
      group: String(g),
      trajectory: String(trajectory[b]),
      anchor: anchorObservation[b],
      episodeReturn: tokenRewards[b].reduce((sum, r) => sum + r, 0),
      stepReturn: stepRewards[b],
    }));
    const { mode, stepWeight: omega, baselineOverRows } = golden.params;
    const episodeBaseline = baselineOverRows ? "turns" : "trajectories";
    const { advantages, episodeAdvantages } = gigpoAdvantages(steps, { omega, mode, episodeBaseline, ...raw });
    const perToken = (values: number[]) => mask.map((row, b) => row.map((m) => m * values[b]));
    expectClose(perToken(advantages), golden.outputs.advantages);
    expectClose(perToken(episodeAdvantages), golden.outputs.episodeAdvantages);
  },
  "gigpo-step-returns/gigpo": ({ inputs: { trajectory, rewards }, params: { gamma }, outputs, tolerance }) => {
    const ids = [...new Set(trajectory)];
    const rows = ids.map((id) => rewards.filter((_, b) => trajectory[b] === id));
    const returns = discountedReturns(rows, gamma);
    const taken = ids.map(() => 0);
    const inOrder = trajectory.map((id) => {
      const row = ids.indexOf(id);
      return returns[row][taken[row]++];
    });
    expectClose(inOrder, outputs.returns, tolerance);
  },
};

const cases = goldenCases<Params, Inputs, Outputs>("advantages");

for (const golden of cases) {
  test(golden.id, () => {
    const [, algorithm, source] = golden.id.split("/");
    checks[`${algorithm}/${source}`](golden);
  });
}

test("every formula has cases", () => {
  expect(new Set(cases.map(({ id }) => id.split("/").slice(1, 3).join("/")))).toEqual(new Set(Object.keys(checks)));
});

function groupsByRow({ group, tokenRewards, mask }: Inputs): Group[] {
  const rewards = tokenRewards.map((row) => row.reduce((sum, reward) => sum + reward, 0));
  return [...new Set(group)].map((g) =>
    groupOf(
      `group-${g}`,
      rewards.flatMap((reward, b) => {
        const turns = [{ context: [0], action: mask[b].filter((m) => m === 1) }];
        return group[b] === g ? [{ id: `row-${b}`, reward, turns }] : [];
      }),
    ),
  );
}
