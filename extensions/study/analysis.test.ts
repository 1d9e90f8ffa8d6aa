import { expect, test } from "vitest";
import { holm } from "../../src/statistics/multiple.ts";
import { analyse, areas, firstReached } from "./analysis.ts";
import type { RunOutcome } from "./outcome.ts";
import { pageLines } from "./page.ts";
import { outcome, smallStudy } from "./small-study.fixture.ts";
import { fell, rivalRate, stabilityOf, survived } from "./tuning.ts";

const study = smallStudy();

test("a run falls by more than 10 points below an earlier point, and survives if it ends no lower than it began", () => {
  const run = (means: readonly [number, number, number], changes: Partial<RunOutcome> = {}) =>
    outcome(study, { arm: "a", seed: 1 }, means, changes);
  expect(fell(run([0.2, 0.5, 0.41]))).toBe(false);
  expect(fell(run([0.2, 0.5, 0.39]))).toBe(true);
  expect(survived(run([0.2, 0.5, 0.41]))).toBe(true);
  expect(survived(run([0.5, 0.45, 0.45]))).toBe(false);
  expect(survived(run([0.2, 0.5, 0.6], { collapsed: "loss is NaN" }))).toBe(false);
});

test("the good range is around the best rate, without a gap, and open where it reaches the last rate that was tried", () => {
  const rate = (rate: number, final: number, survived = 2) => ({ rate, final, survived, runs: 2 });
  const curve = [rate(1, 0.5), rate(3, 0.2), rate(9, 0.48), rate(27, 0.52), rate(81, 0.1, 1)];
  expect(stabilityOf(curve)).toEqual({ largestSurviving: 27, goodFrom: 9, goodTo: 27, openBelow: false, openAbove: false });
  expect(stabilityOf(curve.slice(0, 4))).toMatchObject({ openAbove: true });
  expect(stabilityOf([rate(1, 0.5, 0)])).toEqual({ goodFrom: 1, goodTo: 1, openBelow: true, openAbove: true });
  expect(stabilityOf([])).toBeUndefined();
});

test("a rate has a rival where another one is at most 5 points behind, and the page names both", () => {
  const rate = (rate: number, final: number) => ({ rate, final, survived: 2, runs: 2 });
  expect(rivalRate([rate(1, 0.5), rate(3, 0.2), rate(9, 0.48), rate(27, 0.52)])).toEqual({ rate: 1, behind: 0.52 - 0.5 });
  expect(rivalRate([rate(1, 0.4), rate(3, 0.5)])).toBeUndefined();
  expect(rivalRate([rate(1, 0.5)])).toBeUndefined();
  const tuned = (final: number, rate: number) => outcome(study, { arm: "b", seed: 11, rate }, [0.1, 0.2, final]);
  const page = (worse: number) => {
    const worlds = [analyse(study, "near", [tuned(0.5, 1e-4), tuned(worse, 1e-3)])];
    return pageLines({ study, worlds, results: "small", figures: new Map(), command: "x" }).join("\n");
  };
  expect(page(0.48)).toContain("by at most 5.0 points: B: 0.0001 before 0.001 by 2.0.");
  expect(page(0.4)).not.toContain("hardly distinguishes");
});

test("the area is the mean height up to a common amount, on straight lines between evaluations", () => {
  const { curve } = outcome(study, { arm: "a", seed: 1 }, [0.2, 0.6, 0.8]);
  expect(areas(curve, "episodes", 8)[0]).toBeCloseTo((0.4 + 0.7) / 2, 12);
  expect(areas(curve, "episodes", 6)[0]).toBeCloseTo((0.4 * 4 + 0.65 * 2) / 6, 12);
  expect(areas(curve, "toolCalls", 5)[0]).toBeCloseTo(0.3, 12);
  const mean = curve.map((point) => ({ ...point, value: { mean: point.values[0], low: 0, high: 1 } }));
  expect(firstReached(mean, "episodes", 0.5)).toBeCloseTo(3, 12);
  expect(firstReached(mean, "toolCalls", 0.1)).toBe(0);
  expect(firstReached(mean, "toolCalls", 0.9)).toBeUndefined();
});

/** All tuning runs, and reported ones of which b is better by `gain` in every task of every seed. */
function outcomes(gain: number, seeds = [1, 2, 3]): RunOutcome[] {
  const tuned = ["a", "b"].flatMap((arm) =>
    [11, 12].flatMap((seed) => [1e-4, 1e-3].map((rate) => outcome(study, { arm, seed, rate }, [0.2, 0.3, 0.5 - rate]))),
  );
  const reported = seeds.flatMap((seed) => [
    outcome(study, { arm: "a", seed }, [0.2, 0.3, 0.4]),
    outcome(study, { arm: "b", seed }, [0.2, 0.3 + gain, 0.4 + gain]),
  ]);
  return [...tuned, ...reported];
}

test("arms are compared on the seeds that both have, second less first, corrected for all comparisons", () => {
  const { comparisons, done, planned, arms } = analyse(study, "near", outcomes(0.25));
  expect({ done, planned }).toEqual({ done: { tuning: 8, reported: 6 }, planned: { tuning: 8, reported: 6 } });
  expect(comparisons.map(({ outcome }) => outcome)).toEqual(["sampled at the end", "greedy at the end", "area over episodes"]);
  expect(comparisons[0]).toMatchObject({ first: "a", second: "b", seeds: 3, tasks: 4 });
  expect(comparisons[0].difference.mean).toBeCloseTo(0.25, 12);
  // Three comparisons: of equal p-values each is that of the first one, and the area's is smaller.
  expect(comparisons.map(({ corrected }) => corrected)).toEqual(holm(comparisons.map(({ pValue }) => pValue)));
  expect(comparisons[0].corrected).toBeGreaterThan(comparisons[0].pValue);
  expect(arms.map(({ rate }) => rate)).toEqual([1e-4, 1e-4]);
  expect(arms.map(({ axes = [] }) => axes[0].targets)).toEqual([
    [{ target: 0.5 }],
    [{ target: 0.5, spent: expect.closeTo(4 * (0.3 / 0.35), 9) }],
  ]);
});

test("what is missing is said: planned runs, rates, arms, and runs at a rate that is no longer chosen", () => {
  const some = outcomes(0.1, [1]).filter(({ arm, rate, seed }) => arm === "a" && (rate === 1e-4 || seed < 10));
  const stale = outcome(study, { arm: "a", seed: 2, rate: 1e-3 }, [0.2, 0.3, 0.4]);
  const worlds = ["near", "far"].map((world) => analyse(study, world, [...some, stale]));
  const page = pageLines({ study, worlds, results: "small", figures: new Map(), command: "retrograde study small" }).join("\n");
  expect(page).toContain("3 of 14 planned runs are done: 2 of 8 that choose rates, 1 of 6 that are reported.");
  expect(page).toContain("Not tried at any arm: the learning rates 0.001.");
  expect(page).toContain("Without any run: B.");
  expect(page).toContain("1 more ran at rates that are no longer the chosen ones; they are not counted.");
  expect(page).toContain("Not started: it has no model. 0 of 21 planned runs are done");
  expect(page).toContain("No pair of arms shares two seeds yet.");
});

test("where no rate survives the page has no good range", () => {
  const lost = study.rates.map((rate) => outcome(study, { arm: "a", seed: 11, rate }, [0.3, 0.1, 0]));
  const worlds = [analyse(study, "near", lost)];
  const page = pageLines({ study, worlds, results: "small", figures: new Map(), command: "x" }).join("\n");
  expect(page).toContain("| A | **0.0, 0 of 1** | 0.0, 0 of 1 | – | none |");
});

test("beside every difference that was not shown is the smallest that would have been", () => {
  const random = [0.1, -0.2, 0.3, 0, 0.2, -0.1, 0.15, -0.3, 0.05, 0.1, -0.05, 0.2];
  const noisy = outcomes(0).map((run, i) => {
    const change = (values: readonly number[]) =>
      values.map((value, task) => value + (run.arm === "b" && run.seed < 10 ? random[(i * 5 + task) % 12] : 0));
    return { ...run, final: { ...run.final, sampled: change(run.final.sampled) } };
  });
  const world = analyse(study, "near", noisy);
  const page = pageLines({ study, worlds: [world], results: ".", figures: new Map(), command: "x" }).join("\n");
  const [sampled] = world.comparisons;
  expect(sampled.corrected).toBeGreaterThan(0.05);
  expect(page).toContain(`no difference shown; below ${(sampled.smallest * 100).toFixed(1)} points it would not have been seen`);
  expect(analyse(study, "near", outcomes(0.25)).comparisons[0].corrected).toBeLessThan(0.05);
});
