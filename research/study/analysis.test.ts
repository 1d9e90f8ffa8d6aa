import { expect, test } from "vitest";
import { mean } from "../../src/core/mean.ts";
import { randomStream } from "../../src/core/random.ts";
import { analyse, areas } from "./analysis.ts";
import type { StudyDefinition } from "./definition.ts";
import type { RunOutcome } from "./outcome.ts";
import { pageLines, tableLines } from "./page.ts";
import { openRuns, remaining, runId } from "./plan.ts";
import { answers } from "./questions.ts";
import { outcome, smallStudy } from "./small-study.fixture.ts";
import { chosenRate, fell, rivalRate, stabilityOf, survived } from "./tuning.ts";

const study = smallStudy();

test("a run falls by more than 10 points below an earlier point, and survives if it ends no lower than it began", () => {
  const run = (means: readonly [number, number, number], changes: Partial<RunOutcome> = {}) =>
    outcome(study, { arm: "a", seed: 1 }, means, changes, 20);
  expect(fell(run([0.2, 0.5, 0.41]))).toBe(false);
  expect(fell(run([0.2, 0.5, 0.39]))).toBe(true);
  expect(survived(run([0.2, 0.5, 0.41]))).toBe(true);
  expect(survived(run([0.5, 0.45, 0.45]))).toBe(false);
  expect(survived(run([0.2, 0.5, 0.6], { collapsed: "loss is NaN" }))).toBe(false);
});

test("a policy that stays as it is falls in few curves: before, where 10 points alone decided, in half of them", () => {
  const random = randomStream(1, "falls");
  const curves = Array.from({ length: 1_000 }, () => {
    const chances = Array.from({ length: 64 }, () => random.uniform());
    return Array.from({ length: 6 }, () => ({ values: chances.map((chance) => Number(random.chance(chance))) }));
  }) as unknown as RunOutcome["curve"][];
  const share = (of: (curve: RunOutcome["curve"]) => boolean) => curves.filter(of).length / curves.length;
  const byPoints = (curve: RunOutcome["curve"]) => {
    const means = curve.map(({ values }) => mean(values));
    return means.some((value, i) => value < Math.max(...means.slice(0, i)) - 0.1);
  };
  expect(share(byPoints)).toBeGreaterThan(0.45);
  expect(share((curve) => fell({ curve }))).toBeLessThan(0.05);
});

test("the good range is around the best rate, without a gap, and open where it reaches the last rate that was tried", () => {
  const rate = (rate: number, final: number, survived = 2) => ({ rate, final, survived, runs: 2, fell: false });
  const curve = [rate(1, 0.5), rate(3, 0.2), rate(9, 0.48), rate(27, 0.52), rate(81, 0.1, 1)];
  expect(stabilityOf(curve)).toEqual({ largestSurviving: 27, goodFrom: 9, goodTo: 27, openBelow: false, openAbove: false });
  expect(stabilityOf(curve.slice(0, 4))).toMatchObject({ openAbove: true });
  expect(stabilityOf([rate(1, 0.5, 0)])).toEqual({ goodFrom: 1, goodTo: 1, openBelow: true, openAbove: true });
  expect(stabilityOf([])).toBeUndefined();
});

test("a rate has a rival where another one is at most 5 points behind, and the page names both", () => {
  const rate = (rate: number, final: number) => ({ rate, final, survived: 2, runs: 2, fell: false });
  expect(rivalRate([rate(1, 0.5), rate(3, 0.2), rate(9, 0.48), rate(27, 0.52)])).toEqual({ rate: 1, behind: 0.52 - 0.5 });
  expect(rivalRate([rate(1, 0.4), rate(3, 0.5)])).toBeUndefined();
  expect(rivalRate([rate(1, 0.5)])).toBeUndefined();
  const tuned = (final: number, rate: number) => outcome(study, { arm: "b", seed: 11, rate }, [0.1, 0.2, final]);
  const page = (worse: number) => {
    const worlds = [analyse(study, "near", [tuned(0.5, 1e-4), tuned(worse, 1e-3)])];
    return tableLines({ study, worlds, command: "x" }, new Map()).join("\n");
  };
  expect(page(0.48)).toContain("by at most 5.0 points: B: 0.0001 before 0.001 by 2.0.");
  expect(page(0.4)).not.toContain("hardly distinguishes");
});

test("the area is the mean height up to a common amount, on straight lines between evaluations", () => {
  const { curve } = outcome(study, { arm: "a", seed: 1 }, [0.2, 0.6, 0.8]);
  expect(areas(curve, 8)[0]).toBeCloseTo((0.4 + 0.7) / 2, 12);
  expect(areas(curve, 6)[0]).toBeCloseTo((0.4 * 4 + 0.65 * 2) / 6, 12);
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

test("a question compares two cells on the seeds that both have, and tests its primary alone", () => {
  const few = answers(study, outcomes(0.25))[0].contrasts;
  expect(few.map(({ seeds, split, rates }) => ({ seeds, split, rates }))).toEqual([
    { seeds: [1, 2, 3], split: "test", rates: [1e-4, 1e-4] },
    { seeds: [1, 2, 3], split: "test", rates: [1e-4, 1e-4] },
    { seeds: [11, 12], split: "validation", rates: [1e-3, 1e-3] },
  ]);
  expect(few[0].values).toEqual([expect.closeTo(0.65, 12), expect.closeTo(0.4, 12)]);
  expect(few[0].difference?.mean).toBeCloseTo(0.25, 12);
  expect(few[1].difference?.mean).toBeCloseTo(0.25, 12);
  expect(few[2].values).toEqual([0, 0]);
  expect(few.map(({ pValue }) => pValue)).toEqual([undefined, undefined, undefined]);
  const five = smallStudy({ seeds: [1, 2, 3, 4, 5] });
  const tested = answers(five, outcomes(0.25, [1, 2, 3, 4, 5]))[0].contrasts.map(({ pValue }) => pValue !== undefined);
  expect(tested).toEqual([true, false, false]);
});

type Asked = StudyDefinition["questions"][string]["contrasts"][number];

test("of a question's tests each is looked at only if those before it held", () => {
  const contrast: Asked = { title: "", more: ["near", "b", 1e-4], less: ["near", "a", 1e-4], test: "different" };
  const contrasts: Asked[] = [
    { ...contrast, title: "first" },
    { ...contrast, title: "second" },
    { ...contrast, title: "described", test: undefined },
    { ...contrast, title: "third", more: ["near", "a", 1e-4] },
    { ...contrast, title: "fourth" },
  ];
  const seeds = [1, 2, 3, 4, 5];
  const asked = smallStudy({ seeds, questions: { q: { title: "", ask: "", answer: "", seeds: 5, contrasts } } });
  const rolesAt = (gain: number) => answers(asked, outcomes(gain, seeds))[0].contrasts.map(({ role }) => role);
  expect(rolesAt(0.25)).toEqual(["primary", "in sequence", "descriptive", "in sequence", "not looked at"]);
  expect(rolesAt(0)).toEqual(["primary", "not looked at", "descriptive", "not looked at", "not looked at"]);
  const [, second, , third, fourth] = answers(asked, outcomes(0.25, seeds))[0].contrasts;
  expect(second.pValue).toBeLessThan(0.05);
  expect([third.pValue, fourth.pValue]).toEqual([1, undefined]);
});

test("two primaries are both tested, each at half of the level; what follows is looked at only if both held", () => {
  const sampled: Asked = { title: "sampled", more: ["near", "b", 1e-4], less: ["near", "a", 1e-4], test: "different" };
  const contrasts: Asked[] = [{ ...sampled, title: "greedy", outcome: "greedy" }, sampled, { ...sampled, title: "third" }];
  const seeds = [1, 2, 3, 4, 5];
  const asked = smallStudy({ seeds, questions: { q: { title: "", ask: "", answer: "", seeds: 5, primaries: 2, contrasts } } });
  const shifted = (greedy: number) =>
    outcomes(0.25, seeds).map((run) => ({
      ...run,
      final: { ...run.final, ...(run.arm === "b" && run.final.greedy ? { greedy: run.final.greedy.map(() => greedy) } : {}) },
    }));
  const at = (greedy: number) => answers(asked, shifted(greedy))[0].contrasts;
  expect(at(0.9).map(({ role }) => role)).toEqual(["primary", "primary", "in sequence"]);
  expect(at(0.9)[0].difference?.mean).toBeCloseTo(0.5, 12);
  expect(at(0.4).map(({ role }) => role)).toEqual(["primary", "primary", "not looked at"]);
  expect(at(0.4)[1].pValue).toBeLessThan(0.025);
  expect(at(0.4)[0].values).toEqual([expect.closeTo(0.4, 12), expect.closeTo(0.4, 12)]);
});

test("--question needs the runs at the rates that it names, its primary's first", () => {
  expect(openRuns(study, [], { question: "better", seeds: 2 }).map(runId)).toEqual([
    ...["near.b.0.0001.1", "near.a.0.0001.1", "near.b.0.0001.2", "near.a.0.0001.2"],
    ...["near.b.0.001.1", "near.a.0.001.1", "near.b.0.001.2", "near.a.0.001.2"],
  ]);
  expect(remaining(study, outcomes(0, [1]), { question: "better", seeds: 1 })).toEqual([{ world: "near", runs: 2 }]);
});

test("a rate of which a tuning run fell is not chosen while another has none", () => {
  const tuned = (rate: number, points: readonly [number, number, number]) =>
    outcome(study, { arm: "a", seed: 11, rate }, points, {}, 20);
  expect(chosenRate(study, "near", "a", [tuned(1e-4, [0.2, 0.3, 0.3]), tuned(1e-3, [0.2, 0.6, 0.45])])).toBe(1e-4);
  expect(chosenRate(study, "near", "a", [tuned(1e-3, [0.2, 0.6, 0.45])])).toBeUndefined();
});

test("what is missing is said: planned runs, rates, arms, and runs at a rate that is no longer chosen", () => {
  const some = outcomes(0.1, [1]).filter(({ arm, rate, seed }) => arm === "a" && (rate === 1e-4 || seed < 10));
  const stale = outcome(study, { arm: "a", seed: 2, rate: 1e-3 }, [0.2, 0.3, 0.4]);
  const worlds = ["near", "far"].map((world) => analyse(study, world, [...some, stale]));
  const page = pageLines({
    study,
    worlds,
    answers: [],
    results: "small",
    tables: "tables.md",
    figures: new Map(),
    command: "retrograde-rl study small",
  }).join("\n");
  expect(page).toContain("3 of 14 planned runs are done: 2 of 8 that choose rates, 1 of 6 that are reported.");
  expect(page).toContain("Not tried at any arm: the learning rates 0.001.");
  expect(page).toContain("Without any run: B.");
  expect(page).toContain("1 more ran at other rates, for questions: the tables of all arms do not count them.");
  expect(page).toContain("Not started: it has no model. 0 of 27 planned runs are done");
});

test("where no rate survives the page has no good range", () => {
  const lost = study.rates.map((rate) => outcome(study, { arm: "a", seed: 11, rate }, [0.3, 0.1, 0]));
  const worlds = [analyse(study, "near", lost)];
  const page = tableLines({ study, worlds, command: "x" }, new Map()).join("\n");
  expect(page).toContain("| A | **0.0, 0 of 1** | 0.0, 0 of 1 | – | none |");
});

test("the page begins with the questions: primary, descriptive rows, and what is not there", () => {
  const page = pageLines({
    ...{ study, worlds: [], answers: answers(study, outcomes(0.25)), results: ".", tables: "tables.md" },
    ...{ figures: new Map(), command: "x" },
  }).join("\n");
  expect(page).toContain("## Is b better?\n\n**Not known.**\n\nb against a.");
  expect(page).toMatch(
    /\| \*\*primary\*\* \| b − a at one rate \| 3 \| 0\.0001, 0\.0001 \| 65\.0 \| 40\.0 \| \+62 % \| 25\.0 \[.*\] \| – \|/,
  );
  expect(page).toContain("| descriptive | falls (runs that fell) | 2, tuning |");
  expect(page).toContain("**Not there yet.** All of it.");
  const withoutFalls = outcomes(0.25).filter(({ arm, rate }) => arm === "a" || rate === 1e-4);
  const planned = pageLines({
    ...{ study, worlds: [], answers: answers(study, withoutFalls), results: ".", tables: "tables.md" },
    ...{ figures: new Map(), command: "x" },
  }).join("\n");
  expect(planned).toContain("**Planned, not run:**\n\n- falls (runs that fell)");
  expect(planned).not.toContain("| falls");
});
