import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun, writeEvaluation } from "../../src/runs/write.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { askedOf, keepEpisode, openEvaluation } from "../../src/training/evaluation/folder.ts";
import { environmentsOwn, recordedGroups, recordedTasks } from "./recorded-groups.ts";

const estimate = { mean: 0.5, low: 0.4, high: 0.6 };
const record: Omit<EvaluationRecord, "split" | "decoding" | "step"> = {
  ...estimate,
  when: "after",
  ...{
    tasks: 1,
    k: 1,
    temperature: 1,
    measure: "success",
    passAt: [],
    passAll: [],
    reward: estimate,
    meanTurns: 2,
    toolCalls: 1,
  },
  ...{ sampledTokens: 5, stopReasons: {}, byKind: [], behaviours: [], byRequests: [], byTurns: [] },
};

function evaluate(folder: string, split: string, decoding: EvaluationRecord["decoding"], step: number): void {
  const id = `after-${split}-${step}-${decoding}/0/0`;
  writeEvaluation(folder, { ...record, split, decoding, step }, [trajectoryOf(id, { group: `${split}/0` })]);
}

/** Which episodes are in which group, with the step of each group. */
const shape = ({ groups, steps, split }: ReturnType<typeof recordedGroups>) => ({
  ...{ split, steps },
  ids: groups.map(({ trajectories }) => trajectories.map(({ id }) => id)),
});

test("training episodes are grouped as they were played, by step, or those of one step alone", () => {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0"), trajectoryOf("step-1/1/0"), trajectoryOf("step-1/0/1")]);
  addStep(folder, 2, [trajectoryOf("step-2/0/0")]);
  expect(shape(recordedGroups(folder, {}))).toEqual({
    ...{ split: "train", steps: [1, 1, 2] },
    ids: [["step-1/0/0", "step-1/0/1"], ["step-1/1/0"], ["step-2/0/0"]],
  });
  expect(shape(recordedGroups(folder, { step: 2 }))).toEqual({ split: "train", steps: [2], ids: [["step-2/0/0"]] });
  expect(() => recordedGroups(folder, { step: 3 })).toThrow('--step is 3; expected "1" or "2"');
});

test("a run's own split is that of its training tasks", () => {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-recorded-")), "run");
  createRun(folder, { seed: 1, rollout: { split: "lessons" } });
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  expect(recordedGroups(folder, {}).split).toBe("lessons");
});

test("of a split's evaluations the newest sampled one is meant; a greedy one where there is no other", () => {
  const folder = newRun();
  evaluate(folder, "test", "sampled", 2);
  evaluate(folder, "test", "sampled", 4);
  evaluate(folder, "test", "greedy", 4);
  evaluate(folder, "challenge", "greedy", 4);
  expect(shape(recordedGroups(folder, { split: "test" }))).toEqual({
    ...{ split: "test", steps: undefined },
    ids: [["after-test-4-sampled/0/0"]],
  });
  expect(shape(recordedGroups(folder, { split: "challenge" })).ids).toEqual([["after-challenge-4-greedy/0/0"]]);
  expect(() => recordedGroups(folder, { split: "pairs" })).toThrow('expected "test" or "challenge"');
  expect(() => recordedGroups(folder, { split: "test", step: 1 })).toThrow("none beside --split");
  // It has evaluations alone: the error names a split of them.
  expect(() => recordedGroups(folder, {})).toThrow("Add --split test");
});

test("an evaluation's folder gives its sampled attempts, else its greedy ones, and has no steps", () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-recorded-"));
  openEvaluation(folder, askedOf(resolveConfig(), { model: "m" }, []), false);
  expect(() => recordedGroups(folder, {})).toThrow("at least one, of a finished step or evaluation");
  keepEpisode(folder, "greedy", trajectoryOf("greedy/0/0"));
  expect(shape(recordedGroups(folder, {}))).toEqual({ split: "test", steps: undefined, ids: [["greedy/0/0"]] });
  keepEpisode(folder, "sampled", trajectoryOf("sampled/0/0"));
  expect(shape(recordedGroups(folder, { split: "test" })).ids).toEqual([["sampled/0/0"]]);
  expect(() => recordedGroups(folder, { step: 1 })).toThrow("an evaluation has no steps");
  expect(() => recordedGroups(folder, { split: "challenge" })).toThrow('--split is "challenge"; expected "test"');
});

test("tasks of an evaluation are those at the numbers of its groups, and one that has changed is an error", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-recorded-"));
  openEvaluation(folder, askedOf(resolveConfig({ environment: "office" }), { model: "m" }, []), false);
  for (const at of [2, 0]) keepEpisode(folder, "sampled", trajectoryOf(`a/${at}/0`, { group: `a/${at}`, task: `test/${at}` }));
  const recorded = recordedGroups(folder, {});
  const limits = { timeoutMs: 10_000 };
  expect((await recordedTasks(folder, recorded, limits)).map(({ id }) => id)).toEqual(["test/0", "test/2"]);
  // Without the environment a task is its name.
  expect(await recordedTasks(folder, recorded, { ...limits, environment: false })).toEqual([{ id: "test/0" }, { id: "test/2" }]);
  keepEpisode(folder, "sampled", trajectoryOf("a/1/0", { group: "a/1", task: "test/9" }));
  await expect(recordedTasks(folder, recordedGroups(folder, {}), limits)).rejects.toThrow(/"test\/9".*which is "test\/1" now/s);
});

test("rewards that build on the environment's start from its own, where another was composed", () => {
  const composed = trajectoryOf("g/0", { scores: { "reward:environment": 0.25 }, reward: 0.75 });
  const { trajectories } = environmentsOwn({ id: "g", trajectories: [composed, trajectoryOf("g/1", { reward: 0.75 })] });
  expect(trajectories.map(({ reward }) => reward)).toEqual([0.25, 0.75]);
});
