import { expect, test } from "vitest";
import type { EvaluationRecord } from "../../runs/records.ts";
import { measureOf, scoreOf } from "./scores.ts";

const record = (decoding: "sampled" | "greedy", mean: number, measure: EvaluationRecord["measure"]) =>
  ({
    ...{ when: "after", step: 3, split: "test", tasks: 4, k: decoding === "greedy" ? 1 : 2, decoding, temperature: 1, measure },
    ...{ mean, low: mean - 0.1, high: mean + 0.1, reward: { mean: 2 * mean, low: 0, high: 9 }, passAt: [], passAll: [] },
  }) as unknown as EvaluationRecord;

test("several evaluations of one moment are one score: that of the first, with each by its decoding", () => {
  const [sampled, greedy] = [record("sampled", 0.5, "reward"), record("greedy", 0.25, "success")];
  expect(scoreOf([sampled, greedy])).toEqual({
    ...{ split: "test", tasks: 4, k: 2, measure: "success", mean: 0.5, low: 0.4, high: 0.6 },
    sampled: { mean: 0.5, low: 0.4, high: 0.6 },
    greedy: { mean: 0.25, low: 0.15, high: 0.35 },
    reward: { sampled: { mean: 1, low: 0, high: 9 }, greedy: { mean: 0.5, low: 0, high: 9 } },
  });
  expect(scoreOf([greedy])).not.toHaveProperty("sampled");
  expect(() => scoreOf([])).toThrow("an evaluation is missing");
});

test("success is measured where one of them has it, else the reward, else nothing", () => {
  const of = (...measures: readonly EvaluationRecord["measure"][]) =>
    measureOf(measures.map((measure) => record("sampled", 0, measure)));
  expect([of("reward", "success"), of("nothing", "reward"), of("nothing", "nothing"), of()]).toEqual([
    ...["success", "reward", "nothing", "nothing"],
  ]);
});
