import { expect, test } from "vitest";
import type { Group, StopReason, Trajectory, Turn } from "../../core/trajectory.ts";
import type { Task } from "../../environments/environment.ts";
import { meanInterval } from "../../statistics/intervals.ts";
import { turnOf as plainTurn } from "../turn.fixture.ts";
import { behavioursOf, summarise } from "./summarise.ts";

const turnOf = (index: number, more: Partial<Turn> = {}) => plainTurn(index, { toolCalls: 1, ...more });
const attempt = (reward: number, turns: number, more: Partial<Trajectory> = {}): Trajectory => ({
  ...{ id: "x", group: "g", task: "t", reward, scores: {}, stopReason: "done" as StopReason, messages: [] },
  turns: Array.from({ length: turns }, (_, i) => turnOf(i)),
  ...more,
});
const groupsOf = (...attempts: readonly (readonly Trajectory[])[]): Group[] =>
  attempts.map((trajectories, i) => ({ id: `${i}`, trajectories }));
const failed = attempt(0, 0, { stopReason: "environment-error" });
/** The interval of a mean over tasks or scenarios. */
const over = (values: readonly number[], range: readonly [number, number] = [0, 1]) => meanInterval(values, { seed: 7, range });

test("an evaluation's summary, whole: every mean by tasks, every count by attempts", () => {
  const tasks: Task[] = [{ id: "a", kind: "pay" }, { id: "b", kind: "pay+move+pay" }, { id: "c", requestCount: 10 }, { id: "d" }];
  const groups = groupsOf(
    [attempt(1, 2, { scores: { steps: 3 } }), attempt(1, 1, { scores: { steps: 5 } }), attempt(0, 2)],
    [attempt(1, 2, { behaviours: { asks: { done: 1, called: 2 } } }), failed, attempt(-1, 10)],
    [attempt(0, 1), attempt(0, 1), attempt(2, 1, { behaviours: { asks: { done: 1, called: 1 } } })],
    [failed, failed, failed],
  );
  const ofTasks = { pay: over([2 / 3, 1 / 2]), move: over([1 / 2]), task: over([1 / 3]) };
  const whole = {
    ...over([2 / 3, 1 / 2, 1 / 3]),
    ...{ measure: "success", tasks: 4, k: 3, errors: 4 },
    passAt: [
      { k: 1, ...over([2 / 3, 1 / 2, 1 / 3]) },
      { k: 2, ...over([1, 1, 2 / 3]) },
      { k: 3, ...over([1, 1]) },
    ],
    passAll: [
      { k: 1, ...over([2 / 3, 1 / 2, 1 / 3]) },
      { k: 2, ...over([1 / 3, 0, 0]) },
      { k: 3, ...over([0, 0]) },
    ],
    reward: over([2 / 3, 0, 2 / 3]),
    metrics: [{ name: "steps", ...over([8 / 3, 0, 0], [0, 8 / 3]) }],
    ...{ meanTurns: 20 / 12, toolCalls: 20, sampledTokens: 40 },
    stopReasons: { done: 8, "environment-error": 4 },
    byKind: [
      { name: "move", attempts: 2, success: 1 / 2, ...ends(ofTasks.move) },
      { name: "pay", attempts: 5, success: 3 / 5, ...ends(ofTasks.pay) },
      { name: "task", attempts: 3, success: 1 / 3, ...ends(ofTasks.task) },
    ],
    behaviours: [{ name: "asks", done: 2, called: 3 }],
    byRequests: [
      { name: "1", attempts: 3, success: 2 / 3, ...ends(over([2 / 3])) },
      { name: "3", attempts: 2, success: 1 / 2, ...ends(over([1 / 2])) },
      { name: "10", attempts: 3, success: 1 / 3, ...ends(over([1 / 3])) },
    ],
    byTurns: [
      { name: "1", attempts: 4, success: 1 / 2, ...ends(over([1, 1 / 3])) },
      { name: "2", attempts: 3, success: 2 / 3, ...ends(over([1 / 2, 1])) },
      { name: "10", attempts: 1, success: 0, ...ends(over([0])) },
    ],
  };
  expect(rounded(summarise(tasks, groups, 7, ["steps"]))).toEqual(rounded(whole));
});

/** Without the last digits, which the order of additions decides. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each: unknown) => (typeof each === "number" ? Number(each.toPrecision(12)) : each)));
const ends = ({ low, high }: { readonly low: number; readonly high: number }) => ({ low, high });

test("rewards beyond 0 and 1 stretch the range of their interval", () => {
  const { reward } = summarise([{ id: "a" }, { id: "b" }], groupsOf([attempt(-2, 1)], [attempt(5, 1)]), 7);
  expect(reward).toEqual(over([-2, 5], [-2, 5]));
});

test("tasks of a scenario are one unit, and an attempt solves it by solving all of its tasks", () => {
  const tasks: Task[] = ["a", "b", "c"].map((id) => ({ id, ...(id === "c" ? { scenario: "two" } : { scenario: "one" }) }));
  const groups = groupsOf([attempt(1, 1), attempt(1, 1)], [attempt(0, 1), attempt(1, 1)], [attempt(0, 1), attempt(0, 1)]);
  const summary = summarise([...tasks, { id: "d" }], [...groups, ...groupsOf([attempt(1, 1), attempt(1, 1)])], 7);
  expect(summary.scenarios).toEqual({ ...over([1 / 2, 0]), count: 2, any: 1 / 2, all: 0 });
  expect(summary).toMatchObject({ mean: 5 / 8, ...ends(over([3 / 4, 0, 1])) });
  const errors = groupsOf([attempt(1, 1), failed], [attempt(1, 1), attempt(0, 1)], [failed, failed]);
  expect(summarise(tasks, errors, 7).scenarios).toEqual({ ...over([1]), count: 1, any: 1, all: 1 });
  expect(summarise([{ id: "a" }], groupsOf([attempt(1, 1)]), 7)).not.toHaveProperty("scenarios");
  expect(summarise(tasks, groupsOf([attempt(1, 1)], [failed], [failed]), 7)).not.toHaveProperty("scenarios");
});

test("tokens that a server counted are added up, with the requests of which it did not", () => {
  const requested = { action: [], usage: { promptTokens: 10, completionTokens: 3 } };
  const served = attempt(1, 0, { turns: [turnOf(0, requested), turnOf(1, { action: [] }), turnOf(2)] });
  const summary = summarise([{ id: "a" }], groupsOf([served, attempt(0, 0, { turns: [turnOf(0, requested)] })]), 7);
  expect(summary.usage).toEqual({ promptTokens: 20, completionTokens: 6, unreported: 1 });
  expect(summary.sampledTokens).toBe(8);
  expect(summarise([{ id: "a" }], groupsOf([attempt(1, 1)]), 7)).not.toHaveProperty("usage");
});

test("behaviours are in the order of their names, and nothing is said of episodes without any", () => {
  const of = (behaviours: Trajectory["behaviours"]) => attempt(0, 1, { behaviours });
  expect(behavioursOf([of({ b: { done: 1, called: 1 }, a: { done: 0, called: 2 } }), of({ b: { done: 0, called: 1 } })])).toEqual(
    [
      { name: "a", done: 0, called: 2 },
      { name: "b", done: 1, called: 2 },
    ],
  );
  expect(behavioursOf([attempt(0, 1)])).toEqual([]);
});
