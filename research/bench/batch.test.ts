import { expect, test } from "vitest";
import type { Turn } from "../../src/core/trajectory.ts";
import { turnWeights, unbrokenRows } from "./batch.ts";

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
