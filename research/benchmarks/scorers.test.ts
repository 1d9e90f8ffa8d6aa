import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { normalisedWords, tokenF1 } from "../arpo-protocol/answer-text.ts";
import { lastBox } from "../arpo-protocol/box.ts";
import { researchReward } from "../arpo-protocol/reward.ts";
import { mathEqual } from "./math-equal.ts";
import { answerMetrics, goldsOf, gsm8kAnswer, pairedCalls, predictedIn, predictionOf, withoutResults } from "./metrics.ts";
import { scorePrediction } from "./score.ts";

interface RewardCase {
  readonly id: string;
  readonly response: string;
  readonly groundTruth: string | readonly string[];
  readonly expected: { readonly score: number; readonly f1: number; readonly answer: string; readonly reasonCode: string };
}
interface EvaluationCase {
  readonly id: string;
  readonly kind: string;
  readonly input: Readonly<Record<string, string & readonly string[]>>;
  readonly expected: Readonly<Record<string, unknown>>;
}
const golden: { readonly reward: readonly RewardCase[]; readonly evaluation: readonly EvaluationCase[] } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../test/golden/scorers/arpo.json"), "utf8"),
);

test("a prediction has the whole numbers of a Parquet file as its id and gold", () => {
  const value = { id: 7n, gold: 2n ** 53n + 1n, prediction: "9007199254740993" };
  expect(scorePrediction({ value, where: "p.parquet, row 0" }, "math", undefined)).toMatchObject({ id: "7", score: 1 });
});

// What the metrics of FlashRAG 0.1.2 (`flashrag-dev`) return. 12,000 other pairs were compared by hand, and every character of Unicode 14.
test.each([
  ["−5", ["-5"], 0],
  ["3.50", ["350"], 1],
  ["The Beatles, a band", ["Beatles", "the band"], 2 / 3],
  ["yes, it is", ["yes"], 0],
  ["noanswer", ["no answer", "noanswer"], 1],
  ["", [""], 0],
  ["naïve", ["nai\u0308ve"], 0],
  ["ＡＢＣ", ["ABC"], 0],
  ["New York New York city", ["New York City"], 0.7499999999999999],
])("the token F1 of %j and %j is that of FlashRAG: %d", (answer, golds, f1) => {
  expect(tokenF1(answer, golds)).toBe(f1);
});

test.each(golden.reward)("the reward of the published code: $id", ({ response, groundTruth, expected }) => {
  const { reward, quality, answer, verdict } = researchReward(
    response,
    typeof groundTruth === "string" ? [groundTruth] : groundTruth,
  );
  expect(reward).toBeCloseTo(expected.score, 9);
  expect(quality).toBeCloseTo(expected.f1, 9);
  expect({ answer, verdict }).toEqual({ answer: expected.answer, verdict: expected.reasonCode });
});

const evaluators: Readonly<Record<string, (input: EvaluationCase["input"]) => Readonly<Record<string, unknown>>>> = {
  extractPrediction: ({ output }) => ({ prediction: predictionOf(output) }),
  mathMetrics: ({ prediction, reference }) => named(answerMetrics(prediction, [reference], "math")),
  qaMetrics: ({ prediction, references }) =>
    named(answerMetrics(prediction, typeof references === "string" ? goldsOf(references) : references, "qa")),
  countToolCalls: ({ text, tag }) => ({ count: pairedCalls(text, tag === "python" ? "python" : "search") }),
  stripResults: ({ text }) => ({ text: withoutResults(text) }),
  gsm8kGold: ({ solution }) => ({ answer: gsm8kAnswer(solution) }),
};
const named = ({ mathEqual, ...rest }: ReturnType<typeof answerMetrics>) => ({ ...rest, math_equal: mathEqual });

test.each(golden.evaluation)("the evaluation of the published code: $id, $kind", ({ kind, input, expected }) => {
  const result = evaluators[kind](input);
  for (const [name, value] of Object.entries(expected)) {
    if (typeof value === "number") expect(result[name]).toBeCloseTo(value, 9);
    else expect(result[name]).toEqual(value);
  }
});

test("words end where Python's do", () => {
  expect(normalisedWords("x\u3000y\u00a0z\u2028u\u001cv\u0085w")).toEqual(["x", "y", "z", "u", "v", "w"]);
  expect(normalisedWords("x\u200by\ufeffz")).toEqual(["x\u200by\ufeffz"]);
  expect(normalisedWords("The a_b, an «élan» – 3.50 U.S.")).toEqual(["ab", "«élan»", "–", "350", "us"]);
  // Letters of any script, and numbers, are parts of words: no article stands beside them.
  expect(normalisedWords("aé éa a² а the-end")).toEqual(["aé", "éa", "a²", "а", "theend"]);
});

test("F1 is between 0 and 1, the same both ways, and 1 for an answer that is the gold answer", () => {
  const text = fc
    .array(fc.constantFrom("the", "owl", "yes", "no", "U.S.", "3.5", "東京", "a"), { maxLength: 6 })
    .map((all) => all.join(" "));
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(tokenF1(a, [b])).toBeCloseTo(tokenF1(b, [a]), 12);
      expect(tokenF1(a, [b])).toBeLessThanOrEqual(1);
      expect(tokenF1(a, [b, a])).toBe(normalisedWords(a).length === 0 ? 0 : 1);
    }),
  );
});

test.each([
  ["\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"],
  ["\\boxed{a} and \\boxed{b}", "b"],
  ["\\boxed 42$ is it", "42"],
  ["\\boxed{a} or \\boxed {b}$", "{b}"],
  ["\\boxed{open", undefined],
  ["\\boxed}{a}", undefined],
  ["\\boxedfoo{a}", undefined],
  ["none", undefined],
])("the last box of %j is %j", (text, box) => {
  expect(lastBox(text)).toBe(box);
});

test.each([
  ["\\dfrac{1}{2}", "\\frac12", true],
  ["1/2", "\\frac{1}{2}", true],
  ["-1/2", "\\frac{-1}{2}", true],
  ["01/2", "\\frac{01}{2}", false],
  ["0.5", "\\tfrac{1}{2}", true],
  [".5", "0.5", true],
  ["\\left(1, 2\\right)", "(1,2)", true],
  ["90^\\circ", "90", true],
  ["50\\%", "50", true],
  ["\\$3", "3", true],
  ["5\\text{ cm}", "5", true],
  ["5\\text{ cm} or 6\\text{ cm}", "5", false],
  ["x = 7", "7", true],
  ["xyz=7", "7", false],
  ["𝟘 =7", "7", true],
  ["\\sqrt3", "\\sqrt{3}", true],
  ["\\frac1{72}", "\\frac{1}{72}", true],
  ["\\frac{2}{4}", "\\frac{1}{2}", false],
  ["\\sqrt", "\\sqrt", true],
  ["\\sqrt", "\\sqrt ", false],
  ["\\frac12\\dfrac", "\\frac12\\frac", false],
  ["\\frac=\\dfrac", "\\frac=\\frac", true],
  ["\\\\^\\circ$", "^{\\circ}", true],
  ["dtfrac{1}2", "frac{1}2", true],
  ["", "", true],
])("%j is %j in mathematics: %s", (answer, gold, same) => {
  expect(mathEqual(answer, gold)).toBe(same);
  expect(mathEqual(gold, answer)).toBe(same);
});

test("another measure of the answer may replace F1; the format counts nevertheless", () => {
  const response = (answer: string) => `<think>t</think><answer>\\boxed{${answer}}</answer>`;
  const equal = (answer: string, golds: readonly string[]) => Number(golds.some((gold) => mathEqual(answer, gold)));
  expect(researchReward(response("3/4"), ["\\frac{3}{4}"]).reward).toBe(0);
  expect(researchReward(response("3/4"), ["\\frac{3}{4}"], equal).reward).toBe(1);
  expect(researchReward("3/4", ["\\frac{3}{4}"], equal).reward).toBe(-1);
});

// The published code's own results.
test.each([
  ["<answer>\\boxed{a}</answer> <answer>b \\boxed{c} d</answer>", "c"],
  ["<answer>no box</answer>", "no box"],
  ["<answer> spaced </answer>", " spaced "],
  ["<answer>\\boxed{}</answer>", "\\boxed{}"],
  ["<answer>\\boxed{\\text{a b}}</answer>", "a b"],
  ["<answer>\\boxed{5\\text{ cm}}</answer>", "5\\text{ cm}"],
  ["<answer>\\boxed{\\text{a} b \\text{c}}</answer>", "a} b \\text{c"],
  ["<answer>\\boxed{open</answer>", "\\boxed{open"],
  ["<answer>\\boxed {a}</answer>", "\\boxed {a}"],
  ["<answer>\\boxed 4$ x</answer>", "\\boxed 4$ x"],
  ["<answer>\\fbox{a}</answer>", "\\fbox{a}"],
  ["<answer>\\boxed{a} \\fbox{b}</answer>", "a"],
  ["<answer></answer>\\boxed{a}", "a"],
  ["\\boxed{a}<answer>never closed", "a"],
  ["<answer>a<answer>b</answer>", "b"],
  ["<answer>a</answer> more</answer>", "a</answer> more"],
  ["\\boxed{ a }", " a "],
  ["\\boxed{{a} and {b}}", "{a} and {b}"],
  ["\\boxed}{a}", "\\boxed}{a}"],
  ["no tags at all", ""],
  ["<answer>\\boxed{\\boxed{a}}</answer>", "a"],
])("of %j %j is evaluated", (output, prediction) => {
  expect(predictionOf(output)).toBe(prediction);
});

test("what is evaluated of a text that breaks off, of lists, of results", () => {
  expect(goldsOf("[[a, 'b'],c]")).toEqual(["a", "'b']", "c"]);
  expect(goldsOf("[a")).toEqual(["a"]);
  expect(withoutResults(" a<result>x</result> b ")).toBe("a b");
  expect(withoutResults("a<r>x</r>b")).toBe("ab");
  expect(withoutResults("<result>a<result>b</result>c</result>")).toBe("c</result>");
});

test("without a prediction the last five lines are evaluated", () => {
  expect(predictedIn("1\n2\n\n3\n4\n5\n6\n")).toBe("2\n3\n4\n5\n6");
  expect(predictedIn("only")).toBe("only");
});
