import { describe, expect, test } from "vitest";
import { groupOf } from "../../../test/algorithms/table-policy.ts";
import { randomStream } from "../../core/random.ts";
import { turnOrder, turnUpdatesOf } from "./turn-updates.ts";

const turn = { context: [0], action: [1] };
//                                 turns  a-0: 3   a-1: 1   a-2: 2   a-3: 0
const groups = [
  groupOf(
    "a",
    [3, 1, 2, 0].map((count) => ({ reward: 0, turns: Array.from({ length: count }, () => turn) })),
  ),
];
const random = () => randomStream(3, "order");

describe("the order of turns", () => {
  test("is last to first, first to last, drawn, or as given", () => {
    expect(turnOrder(groups, "reverse", random())).toEqual([2, 1, 0]);
    expect(turnOrder(groups, "sequential", random())).toEqual([0, 1, 2]);
    expect([...turnOrder(groups, "random", random())].sort()).toEqual([0, 1, 2]);
    expect(turnOrder(groups, [1, 5, 0], random())).toEqual([1, 5, 0]);
    expect(turnOrder([], "reverse", random())).toEqual([]);
  });

  test("when drawn comes from the stream alone, and takes every order", () => {
    expect(turnOrder(groups, "random", random())).toEqual(turnOrder(groups, "random", random()));
    const seen = Array.from({ length: 60 }, (_, seed) => turnOrder(groups, "random", randomStream(seed)).join());
    expect(new Set(seen).size).toBe(6);
  });
});

describe("turn updates", () => {
  const turnUpdates = (order: readonly number[], moves: Parameters<typeof turnUpdatesOf>[2] = () => true) =>
    turnUpdatesOf(groups, order, moves).map(({ samples, rows }) => ({
      rows,
      samples: samples.map((sample) => `${sample.trajectory}/${sample.turn}`),
    }));

  test("hold the trajectories that have the turn, and only those", () => {
    expect(turnUpdates([2, 1, 0])).toEqual([
      { rows: 1, samples: ["a-0/2"] },
      { rows: 2, samples: ["a-0/1", "a-2/1"] },
      { rows: 3, samples: ["a-0/0", "a-1/0", "a-2/0"] },
    ]);
  });

  test("skip turns that nobody reaches", () => {
    expect(turnUpdates([7, 0]).map(({ rows }) => rows)).toEqual([3]);
    expect(turnUpdates([7])).toEqual([]);
  });

  test("leave out turns that cannot move the policy, but count them", () => {
    expect(turnUpdates([1, 0], ({ trajectory }) => trajectory === "a-1")).toEqual([{ rows: 3, samples: ["a-1/0"] }]);
  });
});
