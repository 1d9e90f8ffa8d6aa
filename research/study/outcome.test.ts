import { expect, test } from "vitest";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { writeEvaluation } from "../../src/runs/write.ts";
import { fell, outcomeOf, planHash } from "./outcome.ts";
import { smallStudy } from "./small-study.fixture.ts";

const study = smallStudy();
const key = { world: "near", arm: "a", rate: 1e-4, seed: 2 };
const share = { mean: 0.5, low: 0.4, high: 0.6 };

/** An evaluation of tasks whose attempts have these rewards. */
function evaluate(
  folder: string,
  when: EvaluationRecord["when"],
  step: number,
  rewards: readonly (readonly number[])[],
  greedy = false,
) {
  const record: EvaluationRecord = {
    ...{ when, step, split: "test", tasks: rewards.length, k: rewards[0]?.length ?? 1, temperature: 1, ...share },
    ...{ decoding: greedy ? "greedy" : "sampled", measure: "success", sampledTokens: 5, reward: share, passAt: [], passAll: [] },
    ...{ meanTurns: 2, toolCalls: 1, stopReasons: { done: 1 }, byKind: [], behaviours: [], byRequests: [], byTurns: [] },
  };
  const episodes = rewards.flatMap((attempts, task) =>
    attempts.map((reward, i) => trajectoryOf(`${when}-${step}/${task}/${i}`, { reward, task: `test/${task}` })),
  );
  writeEvaluation(folder, record, episodes);
}

test("the outcome of a run is its curve on the first tasks, its end on all of them, and its optimiser steps", () => {
  const folder = newRun();
  evaluate(folder, "after", 9, [
    [1, 1, 0],
    [0, 0, 0],
    [1, 1, 1],
  ]);
  evaluate(folder, "after", 9, [[1], [1], [0]], true);
  evaluate(folder, "before", 0, [[0], [1], [0]]);
  evaluate(folder, "during", 4, [[1], [0]]);
  addStep(folder, 1, [trajectoryOf("step-1/0/0")], { optimiserSteps: 2 });
  addStep(folder, 2, [trajectoryOf("step-2/0/0")], { optimiserSteps: 3 });
  addStep(folder, 3, [trajectoryOf("step-3/0/0")]);
  expect(outcomeOf(study, key, folder)).toEqual({
    ...key,
    plan: planHash(study, key),
    curve: [
      { steps: 0, values: [0, 1] },
      { steps: 4, values: [1, 0] },
      { steps: 9, values: [0.6667, 0] },
    ],
    final: { sampled: [0.6667, 0, 1], greedy: [1, 1, 0] },
    optimiserSteps: 5,
  });
});

test("a plan is known by its settings: another rate, seed or arm has another hash", () => {
  const changed = [{}, { rate: 1e-3 }, { seed: 3 }, { arm: "b" }].map((more) => planHash(study, { ...key, ...more }));
  expect(new Set(changed).size).toBe(4);
  expect(changed[0]).toMatch(/^[0-9a-f]{16}$/);
  expect(planHash({ ...study, title: "another" }, key)).toBe(changed[0]);
});

test("a fall is from the best earlier point, and of tasks by more than chance", () => {
  const curve = (...points: number[][]) => ({ curve: points.map((values, steps) => ({ steps, values })) });
  const of = (ones: number, size = 20) => Array.from({ length: size }, (_, i) => Number(i < ones));
  expect(fell(curve(of(10), of(16), of(8)))).toBe(true);
  // Two of twenty are ten points, and not more.
  expect(fell(curve(of(20), of(18)))).toBe(false);
  // A third of three tasks is much, and may be chance.
  expect(fell(curve([1, 1, 1], [1, 1, 0]))).toBe(false);
  expect(fell(curve(of(8), of(16)))).toBe(false);
  expect(fell({ curve: [] })).toBe(false);
});
