import { expect, test } from "vitest";
import type { Trajectory, Turn } from "../../src/core/trajectory.ts";
import { entropyAround } from "./entropy.ts";

const turn = (entropies: readonly number[], toolCalls = 0, invalidToolCalls = 0): Turn => ({
  ...{
    trajectory: "a",
    turn: 0,
    context: [1],
    action: entropies.map(() => 1),
    samplerLogprobs: entropies.map(() => -1),
    entropies,
  },
  ...{ weightVersion: 0, truncated: false, rewritten: false, toolCalls, invalidToolCalls },
});
const trajectory = (turns: readonly Turn[], branch?: Trajectory["branch"]): Trajectory => ({
  ...{ id: "a", group: "g", task: "t", turns, reward: 0, scores: {}, stopReason: "done", messages: [] },
  ...(branch === undefined ? {} : { branch }),
});

//            start   tool result   wrong call's answer   user's message
// action    [1 2 3] [9 8]         [7]                   [5 4]
const turns = [turn([1, 2, 3], 1), turn([9, 8], 0, 1), turn([7]), turn([5, 4])];

test("each action token is placed by its distance from what was answered", () => {
  const around = entropyAround([trajectory(turns)], { before: 2, after: 2 });
  expect(around.start).toEqual([
    { offset: 0, mean: 1, count: 1 },
    { offset: 1, mean: 2, count: 1 },
  ]);
  expect(around.tool).toEqual([
    { offset: -2, mean: (2 + 9) / 2, count: 2 },
    { offset: -1, mean: (3 + 8) / 2, count: 2 },
    { offset: 0, mean: (9 + 7) / 2, count: 2 },
    { offset: 1, mean: 8, count: 1 },
  ]);
  expect(around.user).toEqual([
    { offset: -1, mean: 7, count: 1 },
    { offset: 0, mean: 5, count: 1 },
    { offset: 1, mean: 4, count: 1 },
  ]);
});

test("turns that a branch shares count once", () => {
  const fork = trajectory([turns[0], turn([3])], { from: "a", turn: 1 });
  const { start, tool } = entropyAround([trajectory(turns.slice(0, 2)), fork]);
  expect(start.map(({ count }) => count)).toEqual([1, 1, 1]);
  expect(tool.find(({ offset }) => offset === 0)).toEqual({ offset: 0, mean: 6, count: 2 });
});

test("tokens of an action that a branch shares count once", () => {
  const fork = trajectory([turns[0], turn([9, 4])], { from: "a", turn: 1, kept: 1 });
  const { tool } = entropyAround([trajectory(turns.slice(0, 2)), fork], { before: 1, after: 2 });
  expect(tool).toEqual([
    { offset: -1, mean: 3, count: 1 },
    { offset: 0, mean: 9, count: 1 },
    { offset: 1, mean: (8 + 4) / 2, count: 2 },
  ]);
});
