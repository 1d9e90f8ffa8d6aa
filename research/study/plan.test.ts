import { expect, test } from "vitest";
import { ConfigError } from "../../src/core/errors.ts";
import { configOf, type RunKey } from "./definition.ts";
import { checkPart, openRuns, plannedRuns, remaining, runId, runOf } from "./plan.ts";
import { outcome, smallDefinition, smallStudy } from "./small-study.fixture.ts";

const study = smallStudy();
const tuning = (arm: string, rate: number, seed: number, end: number) => outcome(study, { arm, rate, seed }, [0.1, 0.1, end]);

test("every rate with every tuning seed comes first, then the reported seeds at the chosen rate, seed by seed", () => {
  expect(plannedRuns(study, "near")).toEqual({ tuning: 8, reported: 6 });
  expect(openRuns(study, []).map(runId)).toEqual(
    [11, 12].flatMap((seed) => ["a", "b"].flatMap((arm) => [1e-4, 1e-3].map((rate) => `near.${arm}.${rate}.${seed}`))),
  );
  const tuned = [1e-4, 1e-3].flatMap((rate) =>
    [11, 12].flatMap((seed) => [tuning("a", rate, seed, rate * 100), tuning("b", rate, seed, 0.5 - rate * 100)]),
  );
  expect(openRuns(study, tuned).map(runId)).toEqual(
    [1, 2, 3].flatMap((seed) => [`near.a.0.001.${seed}`, `near.b.0.0001.${seed}`]),
  );
  expect(remaining(study, tuned)).toEqual([{ world: "near", runs: 6 }]);
});

test("an arm waits for its own tuning runs alone, and no longer than for those of the part", () => {
  const ofA = [1e-4, 1e-3].flatMap((rate) => [11, 12].map((seed) => tuning("a", rate, seed, 0.4)));
  expect(openRuns(study, ofA).map(runId).slice(-3)).toEqual(["near.a.0.0001.1", "near.a.0.0001.2", "near.a.0.0001.3"]);
  const part = { arms: ["a"], rates: [1e-3], tuningSeeds: 1, seeds: 1 };
  expect(openRuns(study, [], part).map(runId)).toEqual(["near.a.0.001.11"]);
  expect(remaining(study, [], part)).toEqual([{ world: "near", runs: 2 }]);
  expect(openRuns(study, [tuning("a", 1e-3, 11, 0.4)], part).map(runId)).toEqual(["near.a.0.001.1"]);
});

test("worlds that cannot start yet are planned and have no open run", () => {
  expect(plannedRuns(study, "far")).toEqual({ tuning: 18, reported: 9 });
  expect(openRuns(study, [], { worlds: ["far"] })).toEqual([]);
});

test("an arm has rates of its own", () => {
  const { a, b, c } = smallDefinition.arms;
  const own = smallStudy({ arms: { a, b: { ...b, rates: { near: [1e-2] } }, c } });
  expect(plannedRuns(own, "near")).toEqual({ tuning: 6, reported: 6 });
  expect(openRuns(own, [], { tuningSeeds: 1, arms: ["b"] }).map(runId)).toEqual(["near.b.0.01.11"]);
});

test("of a question, a part has the rates that are asked for, those included that only questions name", () => {
  const { better } = smallDefinition.questions;
  const [primary] = better.contrasts;
  const contrasts = [primary, { ...primary, more: ["near", "b", 6e-4] as [string, string, number] }];
  const named = smallStudy({ questions: { better: { ...better, contrasts } } });
  const part = { question: "better", rates: [6e-4], seeds: 2 };
  expect(() => checkPart(named, part)).not.toThrow();
  expect(openRuns(named, [], part).map(runId)).toEqual(["near.b.0.0006.1", "near.b.0.0006.2"]);
  expect(openRuns(named, [], { ...part, rates: [1e-4] })).toHaveLength(4);
});

test("a run's name is read back", () => {
  const key: RunKey = { world: "near", arm: "b", rate: 1e-3, seed: 12 };
  expect(runOf(study, runId(key))).toEqual(key);
  expect(() => runOf(study, "near.b.0.5.1")).toThrow(ConfigError);
});

test("tuning runs are measured on validation, reported ones on test, both at the arm's settings and the rate", () => {
  const key = { world: "near", arm: "b", rate: 1e-3 };
  const [tuned, reported] = [configOf(study, { ...key, seed: 11 }), configOf(study, { ...key, seed: 2 })];
  expect(tuned.evaluation).toMatchObject({
    split: "validation",
    during: { split: "validation", tasks: 2 },
    greedy: false,
    tasks: 3,
  });
  expect(reported.evaluation).toMatchObject({ split: "test", during: { split: "test", tasks: 2 }, greedy: true });
  expect(reported).toMatchObject({ seed: 2, steps: 2, optimizer: { learningRate: 1e-3 }, algorithm: { miniBatches: 2 } });
});

test("a plan that cannot be is refused, by the setting that is wrong", () => {
  const contrast = { title: "", more: ["near", "b", 1], less: ["near", "a", 1], test: "different" };
  const question = { title: "Q", ask: "", answer: "", seeds: 2 };
  const wrong: readonly (readonly [object, string])[] = [
    [{ seeds: [1, 11] }, "none of the reported seeds (11 is both)"],
    [{ questions: { q: { ...question, contrasts: [{ ...contrast, more: ["near", "d", 1] }] } } }, "the name of an arm"],
    [{ questions: { q: { ...question, contrasts: [{ ...contrast, test: undefined }] } } }, "the test of the primary"],
    [{ questions: { q: { ...question, contrasts: [{ ...contrast, less: ["moon", "a", 1] }] } } }, "the name of a world"],
    [{ arms: { ...smallDefinition.arms, a: { title: "A", config: { algorithm: "grop" } } } }, 'Did you mean "grpo"?'],
    [{ arms: { ...smallDefinition.arms, a: { title: "A", config: {}, worlds: ["moon"] } } }, "the name of a world"],
    [{ rates: [0] }, "more than 0"],
  ];
  for (const [changes, message] of wrong) expect(() => smallStudy(changes)).toThrow(message);
  expect(() => checkPart(study, { arms: ["z"] })).toThrow('--arms is "z"; expected "a", "b" or "c".');
  expect(() => checkPart(study, { rates: [0.5] })).toThrow("--rates is 0.5");
});
