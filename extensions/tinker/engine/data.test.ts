import { expect, test } from "vitest";
import { distinctPrefixes, packSamples, spreadWeights, unpackLogprobs } from "./data.ts";
import { stopAfter } from "./sampling.ts";

const turn = (trajectory: string, number: number, context: number[], action: number[]) => ({
  ...{ trajectory, turn: number, context, action },
});

test("turns whose histories extend each other travel as one datum, others apart, and numbers find their way back", () => {
  //        a: 1 2 [3 4] 5 [6]      a, rewritten: 1 9 [7]      b: 1 2 [3]
  const samples = [
    turn("a", 0, [1, 2], [3, 4]),
    turn("a", 1, [1, 2, 3, 4, 5], [6]),
    turn("a", 2, [1, 9], [7]),
    turn("b", 0, [1, 2], [3]),
  ];
  const packed = packSamples(samples);
  expect(packed.data).toEqual([
    { tokens: [1, 2, 3, 4, 5], targets: [2, 3, 4, 5, 6] },
    { tokens: [1, 9], targets: [9, 7] },
    { tokens: [1, 2], targets: [2, 3] },
  ]);
  expect(spreadWeights(packed, [[10, 20], [30], [40], [50]])).toEqual([
    [0, 10, 20, 0, 30],
    [0, 40],
    [0, 50],
  ]);
  // Each target's log-prob is its own number here.
  const rows = packed.data.map(({ targets }) => targets.map((target) => -target));
  expect(unpackLogprobs(packed, rows)).toEqual(samples.map(({ action }) => action.map((token) => -token)));
});

test("what samples share is counted once: prompts, histories and stems", () => {
  //        1 2 3 4 5 6   shares 1 2 with 1 2 9, which is all of the third but its last token
  const samples = [
    turn("a", 1, [1, 2, 3, 4, 5], [6]),
    turn("a", 0, [1, 2, 3], [4]),
    turn("b", 0, [1, 2], [9]),
    turn("c", 0, [7], [8]),
  ];
  expect(distinctPrefixes(samples)).toBe(6 + 0 + 1 + 2);
  expect(distinctPrefixes([])).toBe(0);
});

test("a text ends after the token that completes a stop string", () => {
  const decode = (tokens: readonly number[]) => String.fromCharCode(...tokens.map((token) => 97 + token));
  expect(stopAfter([0, 1, 2, 3, 1, 2], ["bc"], decode)).toBe(3);
  expect(stopAfter([0, 1, 2], ["cb", "c"], decode)).toBe(3);
  expect(stopAfter([0, 1, 2], ["x"], decode)).toBeUndefined();
  expect(stopAfter([0, 1, 2], [], decode)).toBeUndefined();
});
