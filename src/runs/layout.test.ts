import { expect, test } from "vitest";
import { layout, runsFolder, stepOf } from "./layout.ts";

test("where things lie in a run's folder", () => {
  const of = { when: "after", step: 12, split: "test", decoding: "sampled" } as const;
  const { episodes, evaluation, trajectories, tokenCredits, turnCredits, checkpoint, ...fixed } = layout;
  expect(Object.values(fixed).map((path) => path("r").replaceAll("\\", "/"))).toEqual([
    ...["r/run.json", "r/metrics.jsonl", "r/timing.jsonl", "r/summary.json", "r/model", "r/trajectories", "r/evaluations"],
    ...["r/index.jsonl", "r/tokenizer", "r/credits", "r/remarks.jsonl", "r/live.json", "r/messages.jsonl", "r/checkpoints"],
  ]);
  const numbered = [trajectories, tokenCredits, turnCredits, checkpoint].map((path) => path("r", 12).replaceAll("\\", "/"));
  expect(numbered).toEqual([
    ...["r/trajectories/step-000012.jsonl.gz", "r/credits/step-000012-tokens.parquet", "r/credits/step-000012-turns.parquet"],
    "r/checkpoints/step-000012",
  ]);
  const measured = [evaluation("r", of), episodes("r", of), evaluation("r", { ...of, decoding: "greedy" })];
  expect(measured.map((path) => path.replaceAll("\\", "/"))).toEqual([
    ...["r/evaluations/step-000012-after-test.json", "r/evaluations/step-000012-after-test.jsonl.gz"],
    "r/evaluations/step-000012-after-test-greedy.json",
  ]);
  expect(runsFolder).toBe("runs");
});

test("a name may speak of a step", () => {
  expect(["step-000012.jsonl.gz", "step-1234567", "step-", "a-step-000001", "run.json"].map(stepOf)).toEqual([
    ...[12, 1234567, undefined, undefined, undefined],
  ]);
});
