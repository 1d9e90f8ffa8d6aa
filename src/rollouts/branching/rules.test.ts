import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../../test/reals.ts";
import { randomStream } from "../../core/random.ts";
import { preMonitored } from "./pre-monitoring.ts";
import { branches } from "./rules.ts";
import { branchingSchema, firstRolloutsOf } from "./settings.ts";

const drawing = (uniform: number) => ({ ...randomStream(1, "unused"), uniform: () => uniform });
const reference = { kind: "reference", weight: 0.2, threshold: 0.5 } as const;
const at = (rise: number) => ({ rise, consecutive: 0 });
const paper = { kind: "paper", alpha: 0.5, beta: 0.2, threshold: 0.5 } as const;

test("the published code's rule: clip(u − w·ΔH, 0, 1) ≤ threshold", () => {
  expect([0, 0.5, 0.51, 0.99].map((u) => branches(reference, at(0), drawing(u)))).toEqual([true, true, false, false]);
  expect(branches(reference, at(1), drawing(0.69))).toBe(true);
  expect(branches(reference, at(1), drawing(0.71))).toBe(false);
  expect(branches(reference, at(-3), drawing(0))).toBe(false);
  expect(branches({ ...reference, weight: 0 }, at(5), drawing(0.6))).toBe(false);
  expect(branches({ ...reference, threshold: 1 }, at(-5), drawing(0.99))).toBe(true);
});

test("the published code's rule branches with chance clip(threshold + w·ΔH)", () => {
  const random = randomStream(3, "rule");
  const draws = 20_000;
  for (const rise of [-1, 0, 0.5, 4]) {
    const share = Array.from({ length: draws }, () => branches(reference, at(rise), random)).filter(Boolean).length / draws;
    // Four standard errors of a share of a half.
    expect(Math.abs(share - Math.min(1, 0.5 + 0.2 * rise))).toBeLessThan(4 * Math.sqrt(0.25 / draws));
  }
});

test("the paper's rule: α + β·ΔH > τ, without chance", () => {
  fc.assert(
    fc.property(real(-2, 2), real(0, 1), (rise, u) => {
      expect(branches(paper, at(rise), drawing(u))).toBe(0.5 + 0.2 * rise > 0.5);
    }),
  );
  expect(branches({ ...paper, alpha: 0.6 }, at(0), drawing(0))).toBe(true);
  expect(branches({ ...paper, beta: -1 }, at(1), drawing(0))).toBe(false);
  expect(branches({ ...paper, threshold: 0.8 }, at(1), drawing(0))).toBe(false);
});

test("the threshold is a chance, from 0 to 1", () => {
  const threshold = (value: number) => branchingSchema.safeParse({ rule: { kind: "reference", threshold: value } }).success;
  expect([0, 0.7, 1, -0.1, 1.1].map(threshold)).toEqual([true, true, true, false, false]);
});

test("half of the leaves begin at the root, unless something else is said", () => {
  expect([1, 2, 5, 16].map((groupSize) => firstRolloutsOf(branchingSchema.parse({}), groupSize))).toEqual([1, 1, 3, 8]);
  expect(firstRolloutsOf(branchingSchema.parse({ firstRollouts: 3 }), 16)).toBe(3);
});

test("AEPO's rule: (α + γ·ΔH)(1 − penalty·l) > τ, by hand", () => {
  const aepo = { kind: "aepo", alpha: 0.5, gamma: 0.2, penalty: 0.25, threshold: 0.5 } as const;
  const after = (consecutive: number) => branches(aepo, { rise: 1, consecutive }, drawing(0));
  // 0.7, then 0.7 · ¾ = 0.525, then 0.7 · ½ = 0.35; never less than 0.
  expect([0, 1, 2, 9].map(after)).toEqual([true, true, false, false]);
  expect(branches({ ...aepo, penalty: 0 }, { rise: 1, consecutive: 9 }, drawing(0))).toBe(true);
  expect(branches({ ...aepo, threshold: -0.1 }, { rise: 1, consecutive: 9 }, drawing(0))).toBe(true);
});

test("pre-monitoring: ⌊16·σ(β(H_root − H̄_tool))⌋ + 1 of 16, by hand", () => {
  const of = (beta: number, ...rises: number[]) => {
    const turns = [{}, ...rises.map((rise) => ({ branching: { entropy: 1, rise, branch: false, forks: 0 } }))];
    return preMonitored.count(turns, { beta }, 16);
  };
  // σ(0.3) = 0.5744: 9.19. σ(−3) = 0.0474: 0.76. σ(6) = 0.9975: 15.96.
  expect([of(0.5, -0.6), of(10, 0.2, 0.4), of(10, -0.6), of(1000, -1), of(0.5)]).toEqual([10, 1, 16, 16, 9]);
  expect(firstRolloutsOf(branchingSchema.parse({ firstRollouts: { kind: "pre-monitored" } }), 16)).toBe(1);
});
