import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { researchReward } from "../arpo-protocol/reward.ts";
import { type AnswerMetrics, goldsOf, mathMetrics, pairedCalls, predictionOf, qaMetrics, withoutResults } from "./metrics.ts";

const checkout = process.env.RETROGRADE_ARPO_CHECKOUT ?? "";

const text = z.string();
const gold = z.union([text, z.array(text)]);
const expected = z.array(z.union([z.number(), text]));
const caseSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("reward"), response: text, gold, expected }),
  z.object({ kind: z.enum(["math", "qa"]), prediction: text, gold, expected }),
  z.object({ kind: z.literal("tags"), text, expected }),
]);

const values = ({ em, acc, f1, mathEqual }: AnswerMetrics) => [em, acc, f1, mathEqual];

function ours(given: z.output<typeof caseSchema>): readonly (number | string)[] {
  switch (given.kind) {
    case "reward": {
      const { reward, quality, answer } = researchReward(given.response, [given.gold].flat());
      return [reward, quality, answer];
    }
    case "math":
      return values(mathMetrics(given.prediction, String(given.gold)));
    case "qa":
      return values(qaMetrics(given.prediction, goldsOf(given.gold)));
    case "tags":
      return [
        pairedCalls(given.text, "search"),
        pairedCalls(given.text, "python"),
        withoutResults(given.text),
        predictionOf(given.text),
      ];
  }
}

const equal = (a: number | string, b: number | string) =>
  typeof a === "number" && typeof b === "number" ? Math.abs(a - b) < 1e-9 : a === b;

describe.skipIf(checkout === "")(
  "the published scorers (skipped without RETROGRADE_ARPO_CHECKOUT, a copy of github.com/dongguanting/ARPO)",
  () => {
    test("random responses and answers, right and damaged, have the same rewards, metrics and predictions", () => {
      const program = join(import.meta.dirname, "../bench/peers/arpo_scorers.py");
      const seed = process.env.RETROGRADE_ARPO_SEED ?? "1";
      const printed = execFileSync("python3", [program, checkout, seed, "1000"], { encoding: "utf8", maxBuffer: 2 ** 28 });
      const cases = printed
        .trim()
        .split("\n")
        .map((line) => caseSchema.parse(JSON.parse(line)));
      const wrong = cases.filter((given) => !ours(given).every((value, i) => equal(value, given.expected[i])));
      expect(wrong).toEqual([]);
      expect(cases).toHaveLength(4000);
    });
  },
);
