import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { real } from "../../../test/reals.ts";
import { EnvError, ShapeError } from "../../core/errors.ts";
import type { Group } from "../../core/trajectory.ts";
import { batchNormalised, clippedAdvantages, groupsWithoutSignal } from "./by-group.ts";
import { groupRelativeAdvantages } from "./group-relative.ts";

const plain = { std: "none", singletonGroups: "zero" } as const;
const grpo = { std: "group", singletonGroups: "zero" } as const;

function groupWith(returns: readonly number[], id = "g"): Group {
  return groupOf(
    id,
    returns.map((reward) => ({ reward, turns: [] })),
  );
}

function advantagesOf(returns: readonly number[], options: Parameters<typeof groupRelativeAdvantages>[1] = plain): number[] {
  return [...groupRelativeAdvantages([groupWith(returns)], options).values()];
}

const returns = fc.array(real(-10, 10), { minLength: 2, maxLength: 12 });
/** Returns that differ by more than rounding: dividing by a deviation near 0 would magnify it. */
const differing = returns.filter((values) => Math.max(...values) - Math.min(...values) > 0.1);

describe("group-relative advantages", () => {
  test("sum to zero in a group, and ignore a constant added to every return", () => {
    fc.assert(
      fc.property(returns, real(-10, 10), (values, shift) => {
        const advantages = advantagesOf(values);
        expect(advantages.reduce((sum, a) => sum + a, 0)).toBeCloseTo(0, 9);
        for (const [i, a] of advantagesOf(values.map((value) => value + shift)).entries())
          expect(a).toBeCloseTo(advantages[i], 9);
      }),
    );
  });

  test("grow with the returns' scale, unless divided by their deviation", () => {
    fc.assert(
      fc.property(differing, real(1, 10), (values, factor) => {
        const scaled = values.map((value) => value * factor);
        for (const [i, a] of advantagesOf(scaled).entries()) expect(a).toBeCloseTo(factor * advantagesOf(values)[i], 8);
        // The 1e-6 that is added to the deviation does not scale: relative to a deviation of at least 0.02 it is 5e-5.
        for (const [i, a] of advantagesOf(scaled, grpo).entries()) expect(a).toBeCloseTo(advantagesOf(values, grpo)[i], 3);
      }),
    );
  });

  test("belong to ids, whatever the order of trajectories and groups", () => {
    const [a, b] = [groupWith([0, 1, 1], "a"), groupWith([0.5, 2], "b")];
    const reordered = [b, { ...a, trajectories: [...a.trajectories].reverse() }];
    const advantages = groupRelativeAdvantages([a, b], grpo);
    for (const [id, advantage] of groupRelativeAdvantages(reordered, grpo))
      expect(advantage).toBeCloseTo(advantages.get(id) ?? NaN, 12);
  });

  test("are exactly zero where all returns are equal, also where the mean of three 0.1 is not 0.1", () => {
    for (const value of [0, 1, 0.1, 1 / 3, 1e9 + 0.1]) {
      expect(advantagesOf([value, value, value]).every((a) => a === 0)).toBe(true);
      expect(advantagesOf([value, value, value], grpo).every((a) => a === 0)).toBe(true);
    }
  });

  test("give a group of one zero, or its bare return where that is set", () => {
    expect(advantagesOf([0.7], grpo)).toEqual([0]);
    expect(advantagesOf([0.7], { ...plain, singletonGroups: "raw" })).toEqual([0.7]);
    expect(advantagesOf([0.7], { ...grpo, singletonGroups: "raw" })[0]).toBeCloseTo(0.7, 5);
  });

  test("of an empty batch, and of a group without trajectories, are none", () => {
    expect(groupRelativeAdvantages([], plain).size).toBe(0);
    expect(groupRelativeAdvantages([groupWith([])], grpo).size).toBe(0);
  });

  test("of a return that is not finite are refused by the trajectory's name", () => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(() => advantagesOf([0, value])).toThrow(EnvError);
      expect(() => advantagesOf([0, value])).toThrow(/g-1/);
    }
  });

  test("of two trajectories with one id are refused", () => {
    expect(() => groupRelativeAdvantages([groupWith([0, 1]), groupWith([1, 0])], plain)).toThrow(ShapeError);
  });
});

describe("batch normalisation", () => {
  const batch = fc
    .array(returns, { minLength: 1, maxLength: 4 })
    .map((groups) => groups.map((values, i) => groupWith(values, `g${i}`)));

  test("gives mean 0 and deviation 1, whatever the returns' scale", () => {
    fc.assert(
      fc.property(differing, real(0.1, 10), (values, factor) => {
        const normalised = (scale: number) => [
          ...batchNormalised(groupRelativeAdvantages([groupWith(values.map((v) => v * scale))], plain), true).values(),
        ];
        const advantages = normalised(1);
        expect(advantages.reduce((sum, a) => sum + a, 0)).toBeCloseTo(0, 8);
        expect(advantages.reduce((sum, a) => sum + a * a, 0) / (advantages.length - 1)).toBeCloseTo(1, 8);
        for (const [i, a] of normalised(factor).entries()) expect(a).toBeCloseTo(advantages[i], 8);
      }),
    );
  });

  test("keeps the exact zeros of groups without signal", () => {
    fc.assert(
      fc.property(batch, real(-1, 1), (groups, value) => {
        const silent = groupWith([value, value, value], "silent");
        const advantages = batchNormalised(groupRelativeAdvantages([...groups, silent], plain), true);
        expect(silent.trajectories.map(({ id }) => advantages.get(id))).toEqual([0, 0, 0]);
      }),
    );
  });

  test("does not divide by a deviation of 1e-6 or less", () => {
    const tiny = new Map([
      ["a", 1e-7],
      ["b", -1e-7],
    ]);
    expect([...batchNormalised(tiny, true).values()]).toEqual([1e-7, -1e-7]);
  });

  test("removes the mean that bare returns of single trajectories leave", () => {
    const raw = groupRelativeAdvantages([groupWith([1], "a"), groupWith([3], "b")], { ...plain, singletonGroups: "raw" });
    expect([...batchNormalised(raw, false).values()].map((a) => a * Math.SQRT2)).toEqual([
      expect.closeTo(-1, 12),
      expect.closeTo(1, 12),
    ]);
  });
});

test("clipped advantages stay within the bound and keep what is inside", () => {
  expect([
    ...clippedAdvantages(
      new Map([
        ["a", -5],
        ["b", 2],
        ["c", 3.5],
      ]),
      3,
    ).values(),
  ]).toEqual([-3, 2, 3]);
});

test("groups without signal are those of equal returns and those of one", () => {
  expect(groupsWithoutSignal([groupWith([0, 1]), groupWith([1, 1]), groupWith([1]), groupWith([])])).toBe(3);
});
