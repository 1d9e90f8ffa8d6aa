import { expect, test } from "vitest";
import { analyse, areas } from "./analysis.ts";
import { openRuns, remaining, runId } from "./plan.ts";
import { outcome, smallDefinition, smallStudy } from "./small-study.fixture.ts";

const study = smallStudy();
const at = (episodes: number, values: readonly number[]) => ({
  ...{ steps: 1, toolCalls: 0, sampledTokens: 0 },
  episodes,
  values: [...values],
});

test("an area is the mean height of each task by itself, and one that nothing was played for is the height at the start", () => {
  // Task 0: 0 → 1 over 10 episodes, then 1 → 0.5 over 20, of which 10 count: (5 + 8.75) / 20.
  const curve = [at(0, [0, 1]), at(10, [1, 1]), at(30, [0.5, 1])];
  expect(areas(curve, 20)).toEqual([0.6875, 1]);
  expect(areas(curve, 10)).toEqual([0.5, 1]);
  expect(areas(curve, 0)).toEqual([0, 1]);
  // Two evaluations at one place have no width.
  expect(areas([at(0, [0]), at(10, [1]), at(10, [0])], 10)).toEqual([0.5]);
});

test("a world's results are of the reported runs at the chosen rate, up to what all of them have played", () => {
  const of = (key: Parameters<typeof outcome>[1], means: readonly [number, number, number], changes = {}) =>
    outcome(study, key, means, changes, 20);
  const tuned = ["a", "b"].flatMap((arm) => [
    of({ arm, seed: 11, rate: 1e-4 }, [0.1, 0.2, 0.6]),
    of({ arm, seed: 11, rate: 1e-3 }, [0.1, 0.2, 0.3]),
  ]);
  const short = of({ arm: "a", seed: 1 }, [0.2, 0.4, 0.8]);
  const runs = [
    of({ arm: "a", seed: 3 }, [0.2, 0.6, 0.4], { optimiserSteps: 12 }),
    { ...short, curve: short.curve.slice(0, 2) },
    of({ arm: "a", seed: 2, rate: 1e-3 }, [0, 0, 0]), // at another rate
    of({ arm: "b", seed: 1 }, [0.2, 0.2, 0.15]),
    of({ world: "far", arm: "a", seed: 1 }, [1, 1, 1]),
  ];
  const world = analyse(study, "near", [...tuned, ...runs]);
  expect(world).toMatchObject({
    ...{ world: "near", title: "Near", planned: { tuning: 8, reported: 6 } },
    ...{ done: { tuning: 4, reported: 3 }, atOtherRates: 1 },
  });
  const [a, b] = world.arms;
  expect(a).toMatchObject({
    ...{
      arm: "a",
      title: "A",
      rate: 1e-4,
      seeds: [1, 3],
      perSeed: [expect.closeTo(0.8, 12), expect.closeTo(0.4, 12)],
      fell: 1,
      survived: 1,
    },
    // 6 optimiser steps in 1 step, and 12 in 2.
    optimiserSteps: 6,
    ...{ sampled: { mean: expect.closeTo(0.6, 12) }, greedy: { mean: expect.closeTo(0.6, 12) } },
    // Up to 4 episodes, which all have played: (0.2 + 0.4) / 2 and (0.2 + 0.6) / 2.
    area: { mean: expect.closeTo(0.35, 12) },
    // The last points: 10 calls at step 1, and 20 at step 2.
    toolCalls: 15,
  });
  expect(a.curve).toMatchObject([
    { steps: 0, episodes: 0, toolCalls: 0, value: { mean: expect.closeTo(0.2, 12) } },
    { steps: 1, episodes: 4, toolCalls: 10, value: { mean: expect.closeTo(0.5, 12) } },
  ]);
  expect(b).toMatchObject({ arm: "b", seeds: [1], fell: 0, survived: 0, toolCalls: 20 });
  const none = analyse(study, "near", tuned).arms[0];
  expect([none.seeds, none.sampled, none.rate]).toEqual([[], undefined, 1e-4]);
  const [withoutGreedy] = analyse(study, "near", [...tuned, { ...short, final: { sampled: short.final.sampled } }]).arms;
  expect(withoutGreedy.greedy).toBeUndefined();
});

test("what is left of a question is counted without what is done, and every run of it once", () => {
  const part = { question: "better" };
  const wanted = openRuns(study, [], part).map(runId);
  expect(new Set(wanted).size).toBe(wanted.length);
  expect(wanted).toEqual(expect.arrayContaining(["near.a.0.0001.1", "near.b.0.001.3"]));
  expect(remaining(study, [], part)).toEqual([{ world: "near", runs: wanted.length }]);
  const done = [outcome(study, { arm: "a", seed: 1 }, [0, 0, 0])];
  expect(remaining(study, done, part)).toEqual([{ world: "near", runs: wanted.length - 1 }]);
  expect(openRuns(study, done, part).map(runId)).toEqual(wanted.filter((id) => id !== "near.a.0.0001.1"));
  expect(openRuns(study, [], { ...part, arms: ["b"] }).every(({ arm }) => arm === "b")).toBe(true);
});

test("worlds of a part are those that it names; an arm that has no rate yet has all of its reported runs left", () => {
  const both = smallStudy({
    worlds: { near: smallDefinition.worlds.near, other: { ...smallDefinition.worlds.near, title: "Other" } },
    questions: {},
    arms: { a: smallDefinition.arms.a },
  });
  expect(openRuns(both, [], { worlds: ["other"] }).map(({ world }) => world)).toEqual(Array(4).fill("other"));
  expect(remaining(both, [], { worlds: ["other"], seeds: 2 })).toEqual([{ world: "other", runs: 4 + 2 }]);
});
