import { expect, test } from "vitest";
import { treeAdvantages } from "../../algorithms/advantages/tree.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { withoutFailures } from "./masking.ts";

const turns = (id: string, count: number) =>
  Array.from({ length: count }, (_, turn) => ({
    ...{ trajectory: id, turn, context: [1], action: [2], samplerLogprobs: [-1], entropies: [1], weightVersion: 0 },
    ...{ truncated: false, rewritten: false, invalidToolCalls: 0, toolCalls: 0 },
  }));
const episode = (id: string, reward: number, changes: Partial<Trajectory> = {}): Trajectory => ({
  ...{ id, group: "g", task: "t", turns: turns(id, 3), reward, scores: {}, stopReason: "done", messages: [] },
  ...changes,
});
const broken = { stopReason: "environment-error", error: "gone" } as const;

test("failed episodes leave their groups, and a group without others leaves the batch", () => {
  const groups = [
    { id: "a", trajectories: [episode("a0", 1), episode("a1", 0, broken)] },
    { id: "b", trajectories: [episode("b0", 0, broken)] },
    { id: "c", trajectories: [episode("c0", 1)] },
  ];
  const { groups: kept, masked } = withoutFailures(groups);
  expect(kept.map(({ trajectories }) => trajectories.map(({ id }) => id))).toEqual([["a0"], ["c0"]]);
  expect(masked).toBe(2);
  expect(kept[1]).toBe(groups[2]);
});

test("the deepest branch of a failed episode takes its place in the tree", () => {
  // root ── turn 1 ── early        (root fails in its last turn)
  //      └─ turn 2 ── late
  const tree = [
    episode("root", 0, broken),
    episode("early", 1, { branch: { from: "root", turn: 1 } }),
    episode("late", 0, { branch: { from: "root", turn: 2 } }),
    episode("other", 0),
  ];
  const [{ trajectories }] = withoutFailures([{ id: "g", trajectories: tree }]).groups;
  expect(trajectories.map(({ id, branch }) => [id, branch?.from, branch?.turn])).toEqual([
    ["early", "late", 1],
    ["late", undefined, undefined],
    ["other", undefined, undefined],
  ]);
  // The first turn, which early and late share, is worth their mean; what follows is told apart.
  const advantages = treeAdvantages([{ id: "g", trajectories }], { singletonGroups: "zero" });
  expect(advantages.get("late")).toEqual([0.25, -0.25, -0.25]);
  expect(advantages.get("early")).toEqual([0.75, 0.75]);
});

test("of branches inside of one action the one that keeps most of it takes the place", () => {
  const tree = [
    episode("root", 0, broken),
    episode("more", 1, { branch: { from: "root", turn: 1, kept: 5 } }),
    episode("less", 0, { branch: { from: "root", turn: 1, kept: 4 } }),
  ];
  const [{ trajectories }] = withoutFailures([{ id: "g", trajectories: tree }]).groups;
  expect(trajectories.map(({ id, branch }) => [id, branch])).toEqual([
    ["more", undefined],
    ["less", { from: "more", turn: 1, kept: 4 }],
  ]);
});
