import { expect, test } from "vitest";
import { judgePrompt, readJudgement } from "./judge.ts";

test.each([
  ["Correct", "correct"],
  ["The answer is CORRECT.", "correct"],
  ["Incorrect", "incorrect"],
  ["This is not correct", "incorrect"],
  ["correct in part, but wrong", "incorrect"],
  ["<think>incorrect? no</think> Correct", "correct"],
  ["I cannot tell.", undefined],
  ["", undefined],
] as const)("reads %j as %s", (reply, verdict) => expect(readJudgement(reply)).toBe(verdict));

test("the judge reads question, golds and prediction", () => {
  const prompt = judgePrompt({ question: "Who?", golds: ["Ada", "A. L."], prediction: "Ada Lovelace" });
  for (const text of ["Question: Who?", "Gold answers: Ada | A. L.", "Prediction: Ada Lovelace"]) expect(prompt).toContain(text);
});
