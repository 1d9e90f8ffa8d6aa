import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectClose } from "../../../test/algorithms/golden.ts";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { real } from "../../../test/reals.ts";
import { ShapeError } from "../../core/errors.ts";
import { bestOfGroupAdvantages } from "./best-of-group.ts";
import { gae } from "./gae.ts";
import { anchorState, gigpoAdvantages } from "./gigpo.ts";
import { gpgAdvantages } from "./gpg.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";
import { leaveOneOutAdvantages } from "./leave-one-out.ts";
import { lengthWeightedAdvantages } from "./length-weighted.ts";
import { discountedReturns } from "./returns.ts";
import { whitened } from "./statistics.ts";
import { ownTurns, treeAdvantages } from "./tree.ts";

const zero = { singletonGroups: "zero" } as const;
const number = real(-10, 10);
const returns = fc.array(number, { minLength: 2, maxLength: 8 });
const rowsOf = (minLength: number) => fc.array(fc.array(number, { minLength: 0, maxLength: 6 }), { minLength, maxLength: 4 });
const turn = { context: [0], action: [1] };

function groupWith(rewards: readonly number[], turns = 1, id = "g") {
  return groupOf(
    id,
    rewards.map((reward) => ({ reward, turns: Array.from({ length: turns }, () => turn) })),
  );
}

describe("leave-one-out", () => {
  test("is the return minus the mean of the others, and sums to zero", () => {
    fc.assert(
      fc.property(returns, (values) => {
        const advantages = [...leaveOneOutAdvantages([groupWith(values)], zero).values()];
        const sum = values.reduce((total, value) => total + value, 0);
        if (new Set(values).size > 1)
          expectClose(
            advantages,
            values.map((value) => value - (sum - value) / (values.length - 1)),
            { rel: 1e-8, abs: 1e-8 },
          );
        expect(advantages.reduce((total, a) => total + a, 0)).toBeCloseTo(0, 8);
      }),
    );
  });
});

test.each([
  ["leave-one-out", leaveOneOutAdvantages],
  ["length-weighted", lengthWeightedAdvantages],
  ["gpg", gpgAdvantages],
] as const)("%s: equal returns give exact zeros, a group of one zero or its bare return", (_, advantages) => {
  expect([...advantages([groupWith([0.1, 0.1, 0.1])], zero).values()]).toEqual([0, 0, 0]);
  expect([...advantages([groupWith([0.7])], zero).values()]).toEqual([0]);
  expect([...advantages([groupWith([0.7])], { singletonGroups: "raw" }).values()]).toEqual([0.7]);
});

test("length-weighted: the baseline minimises the variance of a gradient that grows with length", () => {
  const group = groupOf("g", [
    { reward: 1, turns: [{ context: [0], action: [1, 1, 1] }] },
    { reward: 0, turns: [{ context: [0], action: [1] }] },
  ]);
  expect([...lengthWeightedAdvantages([group], zero).values()]).toEqual([0.25, -0.75]);
  expect([...lengthWeightedAdvantages([groupWith([0, 1], 0)], zero).values()]).toEqual([0, 0]);
});

test("best-of-group: only the best is pushed, by its lead; two that tie for it by nothing", () => {
  expect([...bestOfGroupAdvantages([groupWith([0, 3, 1])], { std: "none" }).values()]).toEqual([0, 2, 0]);
  expect([...bestOfGroupAdvantages([groupWith([3, 3, 1])], { std: "none" }).values()]).toEqual([0, 0, 0]);
  // The standard deviation of 0, 3, 9 is √21.
  const [, , lead] = bestOfGroupAdvantages([groupWith([0, 3, 9])], { std: "group" }).values();
  expect(lead).toBeCloseTo(6 / Math.sqrt(21), 5);
});

describe("generalised advantage estimation", () => {
  test("by hand", () => {
    //  δ_1 = 2 − 3 = −1,  δ_0 = 1 + 0.5·3 − 4 = −1.5,  A_0 = −1.5 + 0.5·0.5·(−1)
    expect(gae([[1, 2]], [[4, 3]], { gamma: 0.5, lambda: 0.5 })).toEqual({ advantages: [[-1.75, -1]], returns: [[2.25, 2]] });
    expect(gae([[]], [[]], { gamma: 1, lambda: 1 })).toEqual({ advantages: [[]], returns: [[]] });
    expect(() => gae([[1]], [[]], { gamma: 1, lambda: 1 })).toThrow(ShapeError);
  });

  test("with λ = 1 is the discounted return minus the value; with λ = 0 one step of it", () => {
    fc.assert(
      fc.property(rowsOf(1), real(0, 1), (rewards, gamma) => {
        const values = rewards.map((row) => row.map((r) => r * 0.7 - 1));
        expectClose(gae(rewards, values, { gamma, lambda: 1 }).returns, discountedReturns(rewards, gamma), {
          rel: 1e-8,
          abs: 1e-8,
        });
        const oneStep = rewards.map((row, b) => row.map((r, k) => r + gamma * (values[b][k + 1] ?? 0) - values[b][k]));
        expectClose(gae(rewards, values, { gamma, lambda: 0 }).advantages, oneStep, { rel: 1e-8, abs: 1e-8 });
      }),
    );
  });
});

describe("whitening", () => {
  test("gives mean 0 and deviation 1, whatever is added or multiplied", () => {
    const rows = [[0, 1, 5], [], [2, -3]];
    const white = whitened(rows);
    const flat = white.flat();
    expect(flat.reduce((sum, x) => sum + x, 0)).toBeCloseTo(0, 7);
    expect(flat.reduce((sum, x) => sum + x * x, 0) / 4).toBeCloseTo(1, 7);
    expectClose(whitened(rows.map((row) => row.map((x) => 3 * x + 100))), white, { rel: 1e-6, abs: 1e-6 });
  });

  test("of equal numbers, of one and of none is zero", () => {
    expect(whitened([[0.1, 0.1], [0.1]])).toEqual([[0, 0], [0]]);
    expect(whitened([[5]])).toEqual([[0]]);
    expect(whitened([[], []])).toEqual([[], []]);
    expect(whitened([])).toEqual([]);
  });
});

describe("GiGPO", () => {
  const options = { omega: 1, mode: "mean_norm", episodeBaseline: "trajectories", singletonGroups: "zero" } as const;
  const step = (trajectory: string, anchor: string, episodeReturn: number, stepReturn: number, group = "g") => ({
    group,
    trajectory,
    anchor,
    episodeReturn,
    stepReturn,
  });

  test("adds what a step has over the others in its state to what its episode has over the group", () => {
    const steps = [step("a", "s", 1, 0.5), step("a", "x", 1, 1), step("b", "s", 0, 0), step("b", "y", 0, 0)];
    const { advantages, shared } = gigpoAdvantages(steps, options);
    expect(advantages).toEqual([0.5 + 0.25, 0.5, -0.5 - 0.25, -0.5]);
    expect(shared).toBe(2);
  });

  test("compares states within a group only", () => {
    const steps = [step("a", "s", 1, 1), step("b", "s", 0, 0, "other")];
    expect(gigpoAdvantages(steps, options)).toMatchObject({ advantages: [0, 0], shared: 0 });
  });

  test("without step advantages is group-relative, with and without deviation", () => {
    fc.assert(
      fc.property(returns, (values) => {
        const steps = values.map((value, i) => step(`g-${i}`, "s", value, i));
        for (const [mode, std] of [
          ["mean_norm", "none"],
          ["mean_std_norm", "group"],
        ] as const) {
          const { advantages } = gigpoAdvantages(steps, { ...options, omega: 0, mode });
          expect(advantages).toEqual([...groupRelativeAdvantages([groupWith(values)], { std, ...zero }).values()]);
        }
      }),
    );
  });

  test("the state of a turn is what follows the turn before it; the whole context at first and after a rewrite", () => {
    const turnOf = (context: number[], action: number[], rewritten = false) => ({
      trajectory: "t",
      turn: 0,
      context,
      action,
      rewritten,
    });
    const turns = [turnOf([1, 2], [3]), turnOf([1, 2, 3, 8, 9], [4]), turnOf([7, 7], [5], true)];
    expect(turns.map((_, i) => anchorState(turns, i))).toEqual(["1,2", "…8,9", "7,7"]);
  });
});

describe("trees", () => {
  const turns = (count: number) => Array.from({ length: count }, () => turn);
  /*
   *  root ── a0 ── a1 ── a2      R = 1         forked from a before turn 1: b (R = 0) and, before turn 2, c (R = 0.5)
   *             ├─ b1            R = 0
   *             │  (a1) ─ c2     R = 0.5
   *       ── d0                  R = 0.25
   */
  const forked = groupOf("g", [
    { id: "a", reward: 1, turns: turns(3) },
    { id: "b", reward: 0, turns: turns(2), branch: { from: "a", turn: 1 } },
    { id: "c", reward: 0.5, turns: turns(3), branch: { from: "a", turn: 2 } },
    { id: "d", reward: 0.25, turns: turns(1) },
  ]);

  test("by hand", () => {
    const advantages = treeAdvantages([forked], zero);
    // Root: leaves under a 1, 0, 0.5 (mean 0.5), under d 0.25. Before turn 1: a's way on 0.75, b 0. Before turn 2: a 1, c 0.5.
    expect(advantages.get("d")).toEqual([-0.125]);
    expect(advantages.get("a")).toEqual([0.125, 0.125 + 0.375, 0.5 + 0.25]);
    expect(advantages.get("b")).toEqual([0.125 - 0.375]);
    expect(advantages.get("c")).toEqual([0.5 - 0.25]);
    expect(forked.trajectories.map((trajectory) => ownTurns(trajectory).length)).toEqual([3, 1, 1, 1]);
  });

  test("do not depend on the order of trajectories, nor on which way on is called the fork", () => {
    const reordered = { ...forked, trajectories: [...forked.trajectories].reverse() };
    for (const [id, advantages] of treeAdvantages([reordered], zero))
      expect(advantages).toEqual(treeAdvantages([forked], zero).get(id));
    const renamed = groupOf("g", [
      { id: "b", reward: 0, turns: turns(2) },
      { id: "a", reward: 1, turns: turns(3), branch: { from: "b", turn: 1 } },
      { id: "c", reward: 0.5, turns: turns(3), branch: { from: "a", turn: 2 } },
      { id: "d", reward: 0.25, turns: turns(1) },
    ]);
    const advantages = treeAdvantages([renamed], zero);
    expect(advantages.get("b")).toEqual([0.125, 0.125 - 0.375]);
    expect(advantages.get("a")).toEqual([0.5, 0.75]);
    expect(advantages.get("c")).toEqual([0.25]);
  });

  test("a fork of a fork, where that fork began, is its sibling", () => {
    const group = groupOf("g", [
      { id: "a", reward: 3, turns: turns(2) },
      { id: "b", reward: 0, turns: turns(2), branch: { from: "a", turn: 1 } },
      { id: "c", reward: 0, turns: turns(2), branch: { from: "b", turn: 1 } },
    ]);
    const advantages = treeAdvantages([group], zero);
    expect([advantages.get("a"), advantages.get("b"), advantages.get("c")]).toEqual([[0, 2], [-1], [-1]]);
  });

  test("without branches are group-relative without deviation, bit for bit", () => {
    fc.assert(
      fc.property(returns, fc.nat({ max: 3 }), (values, count) => {
        const group = groupWith(values, count);
        const flat = groupRelativeAdvantages([group], { std: "none", ...zero });
        for (const [id, advantages] of treeAdvantages([group], zero))
          expect(advantages).toEqual(Array.from({ length: count }, () => flat.get(id)));
      }),
    );
  });

  test("ignore a constant added to every return, and grow with their scale", () => {
    const changed = (change: (r: number) => number) => ({
      ...forked,
      trajectories: forked.trajectories.map((trajectory) => ({ ...trajectory, reward: change(trajectory.reward) })),
    });
    const plain = treeAdvantages([forked], zero);
    for (const [id, advantages] of treeAdvantages([changed((r) => r + 5)], zero)) expectClose(advantages, plain.get(id));
    for (const [id, advantages] of treeAdvantages([changed((r) => r * 4)], zero))
      expectClose(
        advantages,
        plain.get(id)?.map((a) => 4 * a),
      );
  });

  test("that are none are refused", () => {
    const branched = (from: string, other: string) =>
      groupOf("g", [
        { id: "a", reward: 1, turns: turns(2), branch: { from, turn: 1 } },
        { id: "b", reward: 0, turns: turns(2), branch: { from: other, turn: 1 } },
      ]);
    expect(() => treeAdvantages([branched("nobody", "a")], zero)).toThrow("expected a trajectory of the same group");
    expect(() => treeAdvantages([branched("b", "a")], zero)).toThrow("expected a tree, not a circle");
  });
});
