import { expect, test } from "vitest";
import type { Rescored } from "../../inspect/another-reward.ts";
import { rescoredLines } from "./rescore.ts";

const episode = (id: string, before: number, after: number, flipped = false, line = "It is done.") => ({
  ...{ id, task: `test/${id}`, before, after, flipped, line },
});
const estimate = (mean: number, low: number, high: number) => ({ mean, low, high });
const whole = {
  episodes: [episode("a", 1, 0.25, true, "x".repeat(70)), episode("b", 0.5, 0.625), episode("c", 1, 1), episode("d", 0, 0, true)],
  ...{ unscored: ["e", "f"], nowPass: 1, noLongerPass: 2 },
  change: {
    ...{ before: 0.625, after: 0.469, tasks: 4, better: 1, worse: 1, smallest: 0.5, pValue: 0.75 },
    difference: estimate(-0.156, -0.5, 0.125),
  },
  agreement: { ...estimate(0.5, 0.2, 0.8), kappa: 0.25 },
} as unknown as Rescored;

test("another reward's lines: how many, the change, the agreement, and what to read first", () => {
  expect(rescoredLines("runs/a", whole, 10)).toEqual([
    "4 episodes with both rewards, 2 without",
    "mean of 4 tasks: recorded 0.625, new 0.469",
    "change −0.156  [−0.5, +0.125], p = 0.75; 1 better, 1 worse",
    "verdicts agree 50.0 %  [20.0, 80.0], Cohen's κ 0.25",
    "verdicts that flip: 1 now pass, 2 no longer do",
    "",
    "Read first (retrograde-rl trajectory runs/a ID):",
    "episode    task  recorded    new                                              its last message begins",
    `a        test/a         1   0.25  flips  ${"x".repeat(60)}`,
    "b        test/b       0.5  0.625                                                          It is done.",
    "d        test/d         0      0  flips                                                   It is done.",
  ]);
  expect(rescoredLines("runs/a", whole, 1).slice(-2)).toHaveLength(2);
  expect(rescoredLines("runs/a", whole, 1).at(-1)).toMatch(/^a /);
});

test("what is not there has no line", () => {
  const { change: _, agreement: __, ...rest } = whole;
  const bare = { ...rest, episodes: [episode("c", 1, 1)], unscored: [], withheld: "no verdict", nowPass: 0, noLongerPass: 0 };
  expect(rescoredLines("runs/a", bare, 10)).toEqual([
    ...["1 episode with both rewards", "no verdict", "verdicts that flip: 0 now pass, 0 no longer do"],
  ]);
  const certain = {
    ...bare,
    withheld: undefined,
    agreement: { ...estimate(1, 0.5, 1), kappa: undefined },
  } as unknown as Rescored;
  const same = { ...bare, change: { ...whole.change, difference: estimate(0, -0.5, 0) } } as unknown as Rescored;
  expect(rescoredLines("runs/a", same, 10)[3]).toBe("change +0  [−0.5, +0], p = 0.75; 1 better, 1 worse");
  expect(rescoredLines("runs/a", certain, 10)).toContain("verdicts agree 100.0 %  [50.0, 100.0]");
});
