import { expect, test } from "vitest";
import { ConfigError, MeasurementError } from "../../core/errors.ts";
import { mean } from "../../core/mean.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { meanInterval } from "../../statistics/intervals.ts";
import { episodes, tasks } from "./compare.fixture.ts";
import { acrossSeeds, compareOutcomes, differenceAcrossSeeds, outcomesOf, requireScored } from "./compare.ts";

const solved = (of: (i: number) => boolean) => episodes(Object.fromEntries(tasks.map((task, i) => [task, [Number(of(i))]])));

test("two evaluations of the same tasks: the difference of each task, and McNemar's exact test", () => {
  const [first, second] = [outcomesOf(solved((i) => i < 5)), outcomesOf(solved((i) => i > 1 && i < 15))];
  const { success } = compareOutcomes(first, second, 1);
  expect(success).toMatchObject({ tasks: 20, better: 10, worse: 2, exact: true });
  expect(success?.difference.mean).toBeCloseTo(0.4, 12);
  // R: binom.test(2, 12)$p.value
  expect(success?.pValue).toBeCloseTo(0.03857421875, 12);
  expect(success?.difference.low).toBeGreaterThan(0);
});

test("attempts count by their share, rewards as they are", () => {
  const [first, second] = [
    { a: [1, 0, 0, 0.5], b: [0.5, 0.5, 0.5, 0.5] },
    { a: [1, 1, 0, 0], b: [1, 0.5, 0.5, 0.5] },
  ].map((rewards) => outcomesOf(episodes(rewards)));
  expect(first).toEqual({ tasks: ["a", "b"], success: [0.25, 0], reward: [0.375, 0.5], k: 4, attempts: 8, errors: 0 });
  const { success, reward } = compareOutcomes(first, second, 1);
  expect(success?.difference.mean).toBe(0.25);
  expect(reward?.difference.mean).toBeCloseTo(0.125, 12);
});

test("evaluations of other tasks are refused, naming the first that differs", () => {
  const [all, some] = [outcomesOf(solved(() => true)), outcomesOf(solved(() => true).slice(1))];
  expect(() => compareOutcomes(all, some, 1, ["A", "B"])).toThrow(ConfigError);
  expect(() => compareOutcomes(all, some, 1, ["A", "B"])).toThrow(
    /the tasks of B is "test\/1"; expected the tasks of A: test\/0/,
  );
});

test("two tasks of one id are not merged into one", () => {
  const twice = episodes({ a: [1, 1], b: [0, 0] }).map((episode) => ({ ...episode, task: "row" }));
  expect(() => outcomesOf(twice)).toThrow(ConfigError);
  expect(() => outcomesOf(twice)).toThrow(/the id of two tasks of an evaluation is "row"/);
});

test("several seeds: the mean over seeds and tasks, and the difference paired by seed", () => {
  const before = [3, 5, 4].map((n) => outcomesOf(solved((i) => i < n)));
  const after = [15, 17, 13].map((n) => outcomesOf(solved((i) => i < n)));
  const { seeds, perSeed, success } = acrossSeeds(after, 1);
  expect(seeds).toBe(3);
  expect(perSeed).toEqual([0.75, 0.85, 0.65]);
  expect(success.mean).toBeCloseTo(0.75, 12);
  const difference = differenceAcrossSeeds(before, after, 1);
  expect(difference.success.mean).toBeCloseTo(0.55, 12);
  // By hand: half² = t₂²·MS_seed/60 + t₁₉²·(MS_task − MS_rest)/60, with t₂ = 4.302652730 and t₁₉ = 2.093024054: 0.55 ± 0.2843710908. On the
  // left the interval of the tasks alone is wider, and counts.
  expect(difference.success.high).toBeCloseTo(0.8343710908, 8);
  const solvedBy = (n: number, i: number) => Number(i < n);
  const gained = Array.from({ length: 20 }, (_, i) =>
    mean([15, 17, 13].map((n, seed) => solvedBy(n, i) - solvedBy([3, 5, 4][seed], i))),
  );
  const { low } = meanInterval(gained, { seed: 1, range: [-1, 1] });
  expect(low).toBeLessThan(0.2656289092);
  expect(difference.success.low).toBeCloseTo(low, 12);
});

const unscored = (all: readonly Trajectory[], of: (i: number) => boolean) =>
  all.map((episode, i) => (of(i) ? { ...episode, reward: 0, stopReason: "actor-error" as const, error: "503" } : episode));

test("errors are no pairs: two equal models of which one's server failed do not differ", () => {
  const same = solved((i) => i < 15);
  const [calm, busy] = [outcomesOf(same), outcomesOf(unscored(same, (i) => i < 2))];
  const { counts, success, reward, withheld } = compareOutcomes(calm, busy, 1);
  expect(counts).toEqual([
    { attempts: 20, errors: 0 },
    { attempts: 20, errors: 2 },
  ]);
  expect(success).toMatchObject({ tasks: 18, worse: 0, better: 0, difference: { mean: 0 } });
  expect(reward).toMatchObject({ tasks: 18, worse: 0 });
  expect(withheld).toBeUndefined();
});

test("above a tenth of errors on either side there is no verdict", () => {
  const same = solved((i) => i < 15);
  const [calm, busy] = [outcomesOf(same), outcomesOf(unscored(same, (i) => i % 2 === 0))];
  for (const [first, second] of [
    [calm, busy],
    [busy, calm],
  ] as const) {
    const compared = compareOutcomes(first, second, 1, ["A", "B"]);
    expect(compared.withheld).toMatch(/^no verdict: 10 of 20 attempts of [AB] ended by an error/);
    expect(compared.success).toBeUndefined();
  }
  expect(() => acrossSeeds([calm, busy], 1)).toThrow(/no verdict: 10 of 20/);
});

test("a task without a score leaves a gap in no table over seeds: it is refused", () => {
  const same = solved((i) => i < 15);
  expect(() => differenceAcrossSeeds([outcomesOf(same)], [outcomesOf(unscored(same, (i) => i === 3))], 1)).toThrow(
    /no score in task test\/3/,
  );
});

test("outcomes are by scenario where tasks belong to some, and of nothing there are none", () => {
  const scenario = (task: string, reward: number, of?: string) => ({
    ...(episodes({ [task]: [reward] })[0] as Trajectory),
    ...(of === undefined ? {} : { scenario: of }),
  });
  const outcomes = outcomesOf([scenario("a", 1, "s"), scenario("b", 0, "s"), scenario("c", 0.5)]);
  expect(outcomes).toEqual({ tasks: ["s", "c"], success: [0.5, 0], reward: [0.5, 0.5], k: 2, attempts: 3, errors: 0 });
  expect(outcomesOf([])).toEqual({ tasks: [], success: [], reward: [], k: 0, attempts: 0, errors: 0 });
  const failed = { ...scenario("d", 0), stopReason: "actor-error" as const };
  expect(outcomesOf([failed])).toMatchObject({ success: [undefined], reward: [undefined], k: 1, attempts: 1, errors: 1 });
});

test("the tasks of two evaluations are the same ones in the same order, or the first difference is named", () => {
  const of = (...names: readonly string[]) => outcomesOf(episodes(Object.fromEntries(names.map((name) => [name, [1]]))));
  const refusal = (first: ReturnType<typeof of>, second: ReturnType<typeof of>) => {
    try {
      compareOutcomes(first, second, 1);
    } catch (error) {
      return (error as Error).message;
    }
    return "compared";
  };
  const hint = "Only evaluations of the same tasks in the same order are compared.";
  expect([
    refusal(of("a", "b"), of("a", "b")),
    refusal(of("a", "b"), of("b", "a")),
    refusal(of("a", "b"), of("a", "c")),
    refusal(of("a", "b"), of("a")),
    refusal(of("a"), of("a", "b")),
  ]).toEqual([
    "compared",
    `the tasks of the second is "b"; expected the tasks of the first evaluation: a at position 1. ${hint}`,
    `the tasks of the second is "c"; expected the tasks of the first evaluation: b at position 2. ${hint}`,
    `the tasks of the second is "fewer tasks"; expected the tasks of the first evaluation: b at position 2. ${hint}`,
    `the tasks of the second is "2 tasks"; expected the tasks of the first evaluation: 1 tasks at position 1. ${hint}`,
  ]);
  expect(() => acrossSeeds([of("a"), of("b")], 1)).toThrow("the tasks of another is");
  expect(() => acrossSeeds([], 1)).toThrow("a run is missing");
  expect(() => differenceAcrossSeeds([], [of("a")], 1)).toThrow("the first evaluation is missing");
  expect(() => differenceAcrossSeeds([of("a")], [], 1)).toThrow("the second is missing");
});

test("a table over seeds has a score for each task, or says what is missing", () => {
  const whole = outcomesOf(episodes({ a: [1, 0], b: [0.5, 0.5] }));
  expect(requireScored(whole)).toEqual({ success: [0.5, 0], reward: [0.5, 0.5] });
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`t${i}`, [1]]));
  const gap = unscored(episodes(many), (i) => i === 3);
  expect(() => requireScored(outcomesOf(gap))).toThrow(
    new MeasurementError("an evaluation", "no score in task t3", {
      expected: "a score for each task, and errors in at most a tenth of the attempts",
      hint: "Repair what raises the errors (runs show has them), and evaluate again.",
    }),
  );
  expect(() => requireScored(outcomesOf(unscored(episodes(many), (i) => i < 3)))).toThrow(
    "no verdict: 3 of 20 attempts of an evaluation ended by an error, more than a tenth",
  );
  expect(acrossSeeds([whole, whole], 1)).toMatchObject({ seeds: 2, tasks: 2, perSeed: [0.25, 0.25], success: { mean: 0.25 } });
});
