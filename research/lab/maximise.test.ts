import fc from "fast-check";
import { expect, test } from "vitest";
import { real } from "../../test/reals.ts";
import { type ClippedSimplex, maximiseClipped } from "./maximise.ts";

const clip = { low: 0.2, high: 0.2 };

/** Simplices of 2 to 4 actions with samples of both signs. */
const simplices: fc.Arbitrary<ClippedSimplex> = fc.integer({ min: 2, max: 4 }).chain((actions) => {
  const numbers = (min: number, max: number) => fc.array(real(min, max), { minLength: actions, maxLength: actions });
  return fc.record({ gain: numbers(0, 1), loss: numbers(-1, 0), old: numbers(0.05, 1) }).map(({ gain, loss, old }) => {
    const total = old.reduce((sum, p) => sum + p, 0);
    return { gain, loss, old: old.map((p) => p / total) };
  });
});

/** F at a distribution. */
function clippedObjective({ gain, loss, old }: ClippedSimplex, probabilities: ArrayLike<number>, low: number, high: number) {
  let sum = 0;
  for (let a = 0; a < old.length; a++) {
    const ratio = old[a] === 0 ? 1 : probabilities[a] / old[a];
    sum += gain[a] * Math.min(ratio, 1 + high) + loss[a] * Math.max(ratio, 1 - low);
  }
  return sum;
}

/** The best of F on a grid of the simplex, with steps of 1/n. */
function bestOnGrid(simplex: ClippedSimplex, n: number): number {
  const turnUpdate = (chosen: readonly number[], left: number): number =>
    chosen.length === simplex.old.length - 1
      ? clippedObjective(simplex, [...chosen, left / n], clip.low, clip.high)
      : Math.max(...Array.from({ length: left + 1 }, (_, part) => turnUpdate([...chosen, part / n], left - part)));
  return turnUpdate([], n);
}

test("no point of a fine grid is better, and none much worse is best: the fill is the maximum", () => {
  fc.assert(
    fc.property(simplices, (simplex) => {
      const solution = maximiseClipped(simplex, { ...clip, floor: 0 });
      const found = clippedObjective(simplex, solution, clip.low, clip.high);
      expect(solution.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 12);
      expect(Math.min(...solution)).toBeGreaterThanOrEqual(0);
      const steps = simplex.old.length === 4 ? 20 : 60;
      expect(bestOnGrid(simplex, steps)).toBeLessThanOrEqual(found + 1e-12);
    }),
    { numRuns: 60 },
  );
});

test("moving probability between any two actions gains nothing", () => {
  fc.assert(
    fc.property(simplices, (simplex) => {
      const floor = 0.01;
      const solution = [...maximiseClipped(simplex, { ...clip, floor })];
      const best = clippedObjective(simplex, solution, clip.low, clip.high);
      for (const step of [1e-6, 1e-3, 0.05])
        for (let a = 0; a < solution.length; a++)
          for (let b = 0; b < solution.length; b++) {
            if (a === b || solution[a] - step < Math.min(floor, simplex.old[a])) continue;
            const moved = solution.with(a, solution[a] - step).with(b, solution[b] + step);
            expect(clippedObjective(simplex, moved, clip.low, clip.high)).toBeLessThanOrEqual(best + 1e-12);
          }
    }),
  );
});

test("never worse than staying, and no probability under the floor", () => {
  fc.assert(
    fc.property(simplices, real(0, 0.04), (simplex, floor) => {
      const solution = maximiseClipped(simplex, { ...clip, floor });
      const staying = clippedObjective(simplex, simplex.old, clip.low, clip.high);
      expect(clippedObjective(simplex, solution, clip.low, clip.high)).toBeGreaterThanOrEqual(staying - 1e-12);
      solution.forEach((p, a) => {
        expect(p).toBeGreaterThanOrEqual(Math.min(floor, simplex.old[a]) - 1e-15);
      });
    }),
  );
});

test("by hand: two actions, advantages +1 and −1: both go to the edge of the clip range", () => {
  const simplex = { gain: [0.5, 0], loss: [0, -0.5], old: [0.5, 0.5] };
  const [a, b] = maximiseClipped(simplex, { ...clip, floor: 0 });
  expect(a).toBeCloseTo(0.6, 12);
  expect(b).toBeCloseTo(0.4, 12);
});

test("by hand: a likely good action cannot grow by a fifth, and takes all there is", () => {
  const simplex = { gain: [0.9, 0], loss: [0, -0.1], old: [0.9, 0.1] };
  expect([...maximiseClipped(simplex, { ...clip, floor: 0 })]).toEqual([1, 0]);
  expect(maximiseClipped(simplex, { ...clip, floor: 0.02 })[1]).toBeCloseTo(0.02, 12);
});

test("advantages near the smallest number decide like any others", () => {
  const [a, b] = maximiseClipped({ gain: [5e-324, 0], loss: [0, 0], old: [0.5, 0.5] }, { ...clip, floor: 0 });
  expect(a).toBeCloseTo(0.6, 12);
  expect(b).toBeCloseTo(0.4, 12);
});

test("without advantages nothing moves; renaming the actions renames the solution", () => {
  expect([...maximiseClipped({ gain: [0, 0, 0], loss: [0, 0, 0], old: [0.2, 0.3, 0.5] }, { ...clip, floor: 0.1 })]).toEqual([
    0.2, 0.3, 0.5,
  ]);
  fc.assert(
    fc.property(simplices, ({ gain, loss, old }) => {
      const reversed = maximiseClipped(
        { gain: [...Array.from(gain)].reverse(), loss: [...Array.from(loss)].reverse(), old: [...Array.from(old)].reverse() },
        { ...clip, floor: 1e-3 },
      );
      const plain = maximiseClipped({ gain, loss, old }, { ...clip, floor: 1e-3 });
      plain.forEach((p, a) => {
        expect(reversed[plain.length - 1 - a]).toBeCloseTo(p, 10);
      });
    }),
  );
});
