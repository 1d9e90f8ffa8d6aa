import { expect, test } from "vitest";
import { packRows } from "../../extensions/local/training/packing.ts";
import type { Turn } from "../../src/core/trajectory.ts";
import { apart, rolloutBatch, turnWeights, unbrokenRows } from "./batch.ts";

function turn(index: number, context: readonly number[], action: readonly number[]): Turn {
  const none = { samplerLogprobs: [], entropies: [], weightVersion: 0, truncated: false, rewritten: false };
  return { trajectory: "t", turn: index, context, action, toolCalls: 0, invalidToolCalls: 0, ...none };
}

// system and request, call, result, answer; then the same history rewritten, and another answer
const turns = [turn(0, [1, 2], [3, 4]), turn(1, [1, 2, 3, 4, 5], [6]), turn(2, [1, 9, 5, 6, 7], [8, 8])];

test("turns whose contexts only append are one row, and a rewritten history begins another", () => {
  expect(unbrokenRows(turns)).toEqual([
    { tokens: [1, 2, 3, 4, 5, 6], weights: [0, 0, ...turnWeights(turns[0]), 0, ...turnWeights(turns[1])] },
    { tokens: [1, 9, 5, 6, 7, 8, 8], weights: [0, 0, 0, 0, 0, ...turnWeights(turns[2])] },
  ]);
});

test("both forms train the same tokens with the same weights", () => {
  const trajectory = {
    id: "t",
    group: "g",
    task: "task",
    turns,
    messages: [],
    reward: 1,
    scores: {},
    stopReason: "done" as const,
  };
  const { trajectories, turns: rows } = rolloutBatch([{ id: "g", trajectories: [trajectory] }]);
  const trained = (all: typeof rows) =>
    all.flatMap(({ tokens, weights }) => weights.flatMap((weight, i) => (weight === 0 ? [] : [[tokens[i], weight]])));
  expect(trained(rows)).toEqual(trained(trajectories));
  expect(trained(rows).length).toBeGreaterThan(0);
});

test("samples that are set apart share nothing but what those of one key share, and are as long as before", () => {
  const stem = [1, 2, 3, 4];
  const samples = [
    turn(0, stem, [5, 6]),
    { ...turn(1, [...stem, 5, 6, 7], [8, 9]), trajectory: "t" },
    { ...turn(0, stem, [6, 6]), trajectory: "u" },
  ];
  const computed = (all: typeof samples) => packRows(all, 100).reduce((sum, row) => sum + row.tokens.length, 0);
  expect(computed(samples)).toBe(9); // the stem; 5 6 7 8; 6: a sample's last token is not needed
  expect(computed(apart(samples, ({ trajectory }) => trajectory))).toBe(8 + 5 - 1); // token 0 begins both
  expect(apart(samples, ({ trajectory }) => trajectory).map(({ context }) => context.length)).toEqual([4, 7, 4]);
});
