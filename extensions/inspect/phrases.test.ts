import { expect, test } from "vitest";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { pushedPhrases, summedWeights } from "./phrases.ts";
import type { RecordedCredit } from "./read-credits.ts";

const credit = (trajectory: string, turn: number, weights: readonly number[], rateShare = 1): RecordedCredit => ({
  ...{ optimiserStep: 0, trajectory, turn, advantage: 1, factor: 1, learningRate: 1, rateShare, ratio: 1, weights },
  ...{ before: weights, end: [], after: weights, ratios: weights },
});
/** An episode of one turn, a token a text. */
const said = (id: string, texts: readonly string[]) => {
  const [turn] = trajectoryOf(id).turns;
  return { trajectory: trajectoryOf(id, { turns: [{ ...turn, trajectory: id, action: texts.map((_, i) => i) }] }), texts };
};
/** The phrases of an answer whose tokens have these weights. */
function pushed(texts: readonly string[], weights: readonly number[], count?: number) {
  const { trajectory } = said("a", texts);
  const found = pushedPhrases([trajectory], [credit("a", 0, weights)], (ids) => ids.map((id) => texts[id]), count);
  const of = (phrases: typeof found.up) => phrases.map(({ text, weight }) => [text, weight]);
  return { up: of(found.up), down: of(found.down) };
}

test("tokens are joined to words where letters, digits and underscores follow each other", () => {
  expect(pushed(["fi", "nd", "_", "it", "(", "no", "w", ")"], [1, 1, 1, 1, 0, 0, 0, 0]).up[0]).toEqual(["find_it(now)", 4]);
  // A word begins at a space, a line and a mark; a part of a character, which has no text, belongs to the one before it.
  const { trajectory } = said("a", ["one", "\ntwo", "", ",", "three"]);
  const { up } = pushedPhrases([trajectory], [credit("a", 0, [0, 1, 2, 0, 0])], (ids) =>
    ids.map((id) => ["one", "\ntwo", "", ",", "three"][id]),
  );
  expect(up.map(({ text, weight, positions }) => [text, weight, positions])).toEqual([
    ["one\ntwo,three", 3, [{ trajectory: "a", turn: 0, token: 0 }]],
  ]);
});

test("a phrase has two to five words, and one word only where it is all", () => {
  expect(pushed(["yes"], [2]).up).toEqual([["yes", 2]]);
  const words = ["a", " b", " c", " d", " e", " f"];
  expect(pushed(words, [1, 0, 0, 0, 0, 0]).up[0]).toEqual(["a b c d e", 1]);
  expect(pushed(words, [1, 1, 1, 1, 1, 1]).up[0]?.[1]).toBe(5);
});

test("the most pushed come first, the longer of equal ones, and none that is a part of another", () => {
  const { up, down } = pushed(["a", " b", ". ", "c", " d"], [1, 1, 0, -2, -2]);
  expect(up).toEqual([["a b.", 2]]);
  expect(down).toEqual([
    [". c d", -4],
    ["b. c", -1],
  ]);
  expect(pushed(["x", " y", " -", " z", " w"], [3, 0, 0, 0, 0], 0)).toEqual({ up: [], down: [] });
  // White space alone is no phrase.
  expect(pushed([" ", " "], [1, 1]).up).toEqual([]);
});

test("of each direction twenty are kept unless another number is asked for", () => {
  const texts = Array.from({ length: 100 }, (_, i) => ` w${String.fromCharCode(97 + (i % 26))}${i}`);
  const found = (count?: number) =>
    pushed(
      texts,
      texts.map((_, i) => (i % 10 === 0 ? 1 : 0)),
      count,
    ).up.length;
  expect([found(), found(3)]).toEqual([found(20), 3]);
  expect(found(20)).toBeLessThanOrEqual(20);
});

test("twelve positions of a phrase are kept, and turns without credits have none", () => {
  const ids = Array.from({ length: 14 }, (_, i) => `t${i}`);
  const trajectories = ids.map((id) => said(id, ["yes", " sir"]).trajectory);
  const credits = ids.slice(1).map((id) => credit(id, 0, [1, 0]));
  const { up } = pushedPhrases(trajectories, credits, (of) => of.map((id) => ["yes", " sir"][id]));
  expect(up).toMatchObject([{ text: "yes sir", weight: 13, count: 13 }]);
  expect(up[0]?.positions.map(({ trajectory }) => trajectory)).toEqual(ids.slice(1, 13));
});

test("weights of several updates add up by their share of the rate, turn by turn", () => {
  const sums = summedWeights([credit("a", 0, [1, 2]), credit("a", 1, [3]), credit("a", 0, [4, -4], 0.5)]);
  expect([...sums]).toEqual([
    ["a/0", [3, 0]],
    ["a/1", [3]],
  ]);
});
