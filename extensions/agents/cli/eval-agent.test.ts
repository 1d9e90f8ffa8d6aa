import { expect, test } from "vitest";
import type { Outcome } from "../../../src/core/outcome.ts";
import { following, linesOf, modelOf } from "./eval-agent.ts";

const scored: Outcome = { kind: "score", reward: 1, success: true };
const failed = (error: string): Outcome => ({ kind: "error", error });

/** What is shown while outcomes come, each some seconds after the one before. */
function shown(live: boolean, outcomes: readonly Outcome[], seconds: number): string[] {
  const out: string[] = [];
  let now = 0;
  const screen = { live, line: (text = "") => void out.push(`line ${text}`), status: (text: string) => void out.push(text) };
  const follow = following(outcomes.length, screen, () => now);
  for (const outcome of outcomes) {
    now += 1000 * seconds;
    follow(outcome);
  }
  return out;
}

test("a terminal shows every attempt, a log a line each half minute and none at the end", () => {
  const outcomes = [scored, failed("a"), failed("b"), failed("b")];
  expect(shown(true, outcomes, 1)).toEqual([
    "1 of 4 attempts ended",
    "2 of 4 attempts ended, 1 by an error: a",
    "3 of 4 attempts ended, 2 by an error, 1 of them by: a",
    "4 of 4 attempts ended, 3 by an error, 2 of them by: b",
  ]);
  expect(shown(false, outcomes, 1)).toEqual([]);
  expect(shown(false, outcomes, 15)).toEqual(["line    2 of 4 attempts ended, 1 by an error: a"]);
  expect(shown(false, outcomes, 30)).toHaveLength(3);
});

test("the end names the error that most attempts ended by, and an agent's first failure", () => {
  const share = { mean: 0.5, low: 0.25, high: 0.75 };
  const tasks = [
    { task: {}, rewards: [1, undefined], errors: [undefined, "slow"], failures: [undefined, undefined] },
    { task: {}, rewards: [undefined, undefined], errors: ["gone", "gone"], failures: [undefined, undefined] },
    { task: {}, rewards: [0, 1], errors: [undefined, undefined], failures: ["no order", undefined] },
  ];
  const measured = {
    k: 2,
    attempts: 6,
    errors: 3,
    tasks,
    reward: share,
    success: share,
    allSucceed: 0.125,
    scoredBy: "",
    resumed: 2,
  };
  expect(linesOf(measured)).toEqual([
    "success 50.0 %  [25.0, 75.0], reward 0.500  [0.250, 0.750]",
    "2 attempts had been played already",
    "all 2 attempts at a task succeed: 12.5 % (pass^2)",
    "1 attempt failed by an error of the agent (reward 0), the first: no order",
    "3 of 6 attempts ended by an error and are not counted, 2 of them by: gone",
  ]);
  const clean = {
    ...measured,
    k: 1,
    errors: 0,
    resumed: 0,
    tasks: [{ task: {}, rewards: [1], errors: [undefined], failures: [undefined] }],
  };
  expect(linesOf(clean)).toHaveLength(1);
});

test.each([
  ["Qwen/Qwen3-0.6B", { model: "Qwen/Qwen3-0.6B" }],
  ["runs/a@2", { model: "runs/a@2" }],
  ["gpt@https://api.openai.com/v1", { endpoint: { name: "gpt", baseUrl: "https://api.openai.com/v1", apiKey: "sk-1" } }],
  ["a@b@http://localhost:1/v1", { endpoint: { name: "a@b", baseUrl: "http://localhost:1/v1", apiKey: "sk-1" } }],
])("the model %s", (text, expected) => {
  expect(modelOf(text, { OPENAI_API_KEY: "sk-1" })).toEqual(expected);
  if ("endpoint" in expected) expect(modelOf(text, {}).endpoint?.apiKey).toBe("none");
});
