import "../../test/office.ts";
import { expect, test } from "vitest";
import { ConfigError, RunError } from "../../src/core/errors.ts";
import type { Environment, Task } from "../../src/environments/environment.ts";
import { defineReward, RewardError } from "../../src/rewards/reward.ts";
import { addStep, newRun, trajectoryOf } from "../../src/runs/store.fixture.ts";
import { expectClose } from "../../test/algorithms/golden.ts";
import { rescore } from "./another-reward.ts";
import { addRemark } from "./remarks.ts";

const says = (content: string) =>
  [
    { role: "user", content: "?" },
    { role: "assistant", content },
  ] as const;

/** Two tasks, two attempts at each, over two steps. */
function recorded(changes: Parameters<typeof trajectoryOf>[1] = {}) {
  const folder = newRun();
  const episode = (id: string, task: string, reward: number, answer: string) =>
    trajectoryOf(id, { task, reward, messages: [...says(answer)], ...(id === "step-1/0/0" ? changes : {}) });
  addStep(folder, 1, [episode("step-1/0/0", "a", 1, "blue\nindeed"), episode("step-1/0/1", "a", 0, "red")]);
  addStep(folder, 2, [episode("step-2/0/0", "b", 0, "blue"), episode("step-2/0/1", "b", 0, "blue")]);
  return folder;
}
const reads = (colour: string) => defineReward({ name: "colour", verify: ({ answer }) => answer.startsWith(colour) });
const bare = { environment: false } as const;

test("the change is of tasks' means, and the episodes whose verdict flips come first, by hand", async () => {
  // a: (1 + 0)/2 → (1 + 0)/2 blue; b: 0 → 1. The change is the mean of 0 and 1.
  const { change, agreement, episodes, nowPass, noLongerPass, unscored } = await rescore(recorded(), [reads("blue")], bare);
  expectClose([change?.before ?? 0, change?.after ?? 0, change?.difference.mean ?? 0], [0.25, 0.75, 0.5]);
  expect([change?.tasks, change?.better, change?.worse, nowPass, noLongerPass, unscored]).toEqual([2, 1, 0, 2, 0, []]);
  // Verdicts 1 0 0 0 and 1 0 1 1: half are equal, ¼·¾ + ¾·¼ = ⅜ by chance, and (½ − ⅜)/(1 − ⅜) = 0.2.
  expectClose([agreement?.mean ?? 0, agreement?.kappa ?? 0], [0.5, 0.2]);
  expect(episodes.map(({ id, flipped }) => [id, flipped])).toEqual([
    ["step-2/0/0", true],
    ["step-2/0/1", true],
    ["step-1/0/0", false],
    ["step-1/0/1", false],
  ]);
  expect(episodes[2]).toEqual({ id: "step-1/0/0", task: "a", before: 1, after: 1, flipped: false, line: "blue" });
});

test("a step, and another mark to pass", async () => {
  const halved = [{ ...reads("red"), weight: 0.5 }];
  const of1 = await rescore(recorded(), halved, { ...bare, step: 1, pass: 0.5 });
  expect(of1.episodes.map(({ id, before, after }) => [id, before, after])).toEqual([
    ["step-1/0/0", 1, 0],
    ["step-1/0/1", 0, 0.5],
  ]);
  expect([of1.nowPass, of1.noLongerPass]).toEqual([1, 1]);
  await expect(rescore(recorded(), halved, { ...bare, step: 3 })).rejects.toThrow('--step is 3; expected "1" or "2"');
});

test("marks of people are a reward of the episodes that they marked", async () => {
  const folder = recorded();
  await expect(rescore(folder, "marks")).rejects.toThrow("mark some in the dashboard");
  const mark = (trajectory: string, reward: number | null) => addRemark(folder, { kind: "mark", trajectory, reward });
  for (const [id, reward] of [
    ["step-1/0/0", 0],
    ["step-2/0/0", 1],
    ["step-1/0/1", 1],
    ["step-1/0/1", null],
  ] as const)
    mark(id, reward);
  const { episodes, agreement, nowPass, noLongerPass, unscored } = await rescore(folder, "marks");
  expect(episodes.map(({ id, before, after }) => [id, before, after])).toEqual([
    ["step-1/0/0", 1, 0],
    ["step-2/0/0", 0, 1],
  ]);
  expect([agreement?.mean, nowPass, noLongerPass, unscored]).toEqual([0, 1, 1, []]);
  mark("step-1/0/1", 0);
  expect((await rescore(folder, "marks")).agreement?.mean).toBeCloseTo(0.25); // task a: half of two verdicts, task b: none
  expect((await rescore(folder, "marks", { step: 1 })).episodes.map(({ id }) => id)).toEqual(["step-1/0/0", "step-1/0/1"]);
});

test("a reward that builds on the environment's starts from what that gave, not from what the run composed", async () => {
  const folder = recorded({ reward: 7, scores: { "reward:environment": 0.25 } });
  const { episodes } = await rescore(folder, [{ kind: "environment", weight: 2 }], bare);
  expect(episodes.find(({ id }) => id === "step-1/0/0")).toMatchObject({ before: 7, after: 0.5 });
});

test("a reward that fails is an error, and an episode that failed has no score", async () => {
  const throwing = defineReward({
    name: "broken",
    verify: () => {
      throw new Error("no key");
    },
  });
  await expect(rescore(recorded(), [throwing], bare)).rejects.toThrow(RewardError);
  await expect(rescore(recorded(), [defineReward({ name: "nan", verify: () => Number.NaN })], bare)).rejects.toThrow(RewardError);
  await expect(rescore(recorded(), [], bare)).rejects.toThrow(ConfigError);
  const broken = recorded({ stopReason: "environment-error", error: "gone" });
  const { unscored, change, withheld } = await rescore(broken, [reads("blue")], bare);
  expect([unscored, change]).toEqual([["step-1/0/0"], undefined]);
  expect(withheld).toContain("1 of 4 attempts");
  const late = defineReward({ name: "late", verify: () => new Promise<number>(() => {}) });
  await expect(rescore(recorded(), [late], { ...bare, timeoutMs: 1 })).rejects.toThrow(RewardError);
});

test("one group that is too late is in no number", async () => {
  let asked = 0;
  const once = defineReward({ name: "once", verify: () => (asked++ === 0 ? new Promise<number>(() => {}) : 1) });
  const warned: string[] = [];
  const { unscored, episodes } = await rescore(recorded(), [once], { ...bare, timeoutMs: 20, onWarning: (m) => warned.push(m) });
  expect([unscored, episodes.length, warned.length]).toEqual([["step-1/0/0", "step-1/0/1"], 2, 1]);
});

test("a reward sees the environment's own task, and a task that is gone is an error", async () => {
  const world = (names: string[]): Environment => ({
    name: "office",
    size: () => 1,
    task: () => ({ id: names.shift() ?? "b", colour: "red" }) as Task,
    start: () => ({ messages: [], tools: [], reply: () => ({ done: true }), score: () => ({ reward: 0 }) }),
  });
  const right = defineReward<{ id: string; colour: string }>({
    name: "right",
    verify: ({ task, answer }) => answer.startsWith(task.colour),
  });
  const { episodes } = await rescore(recorded(), [right], { environment: world(["a", "b"]) });
  expect(episodes.map(({ id, after }) => [id, after])).toEqual([
    ["step-1/0/0", 0],
    ["step-1/0/1", 1],
    ["step-2/0/0", 0],
    ["step-2/0/1", 0],
  ]);
  await expect(rescore(recorded(), [right], { environment: world(["z"]) })).rejects.toThrow(RunError);
  await expect(rescore(newRun(), [right], bare)).rejects.toThrow("expected at least one");
});
