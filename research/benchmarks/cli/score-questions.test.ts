import "../../install.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { dataCommand, replayCommand, scoreCommand } from "./benchmarks.ts";

const folder = mkdtempSync(join(tmpdir(), "score-questions-"));
const file = (name: string, rows: readonly object[]) => {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return path;
};
function screen() {
  let text = "";
  const made = createScreen({ write: (part: string) => (text += part) !== "" });
  return { made, lines: () => text.split("\n").slice(0, -1) };
}
async function score(name: string, path: string, flags: object = {}) {
  const [output, notes] = [screen(), screen()];
  expect(await scoreCommand(name, path, flags, output.made, notes.made)).toBe(0);
  return { verdicts: output.lines().map((line) => JSON.parse(line)), notes: notes.lines() };
}
const capitals = [
  { question: "Capital of France?", answer: ["Paris"] },
  { question: "Capital of Italy?", answer: ["Rome", "Roma"] },
  { question: "Capital of Peru?", answer: ["Lima"] },
];

test("predictions of questions: a verdict each, then means over questions, pass@k, and what is missing", async () => {
  const data = file("hotpotqa.jsonl", capitals);
  const predictions = file("predictions.jsonl", [
    { id: 0, prediction: "Paris" },
    { question: "Capital of France?", output: "<answer>\\boxed{Lyon}</answer>" },
    { id: "1", response: "I think\n\nthe city of Roma" },
    { id: 1, prediction: "" },
    { id: 1, prediction: "roma" },
  ]);
  const { verdicts, notes } = await score("hotpotqa", predictions, { data, anyVersion: true });
  const none = { em: 0, acc: 0, f1: 0, math_equal: 0, score: 0 };
  const all = { em: 1, acc: 1, f1: 1, math_equal: 1, score: 1 };
  expect(verdicts).toEqual([
    { id: "Capital of France?", prediction: "Paris", ...all },
    { id: "Capital of France?", prediction: "Lyon", ...none },
    {
      id: "Capital of Italy?",
      prediction: "I think\nthe city of Roma",
      ...none,
      acc: 1,
      f1: expect.closeTo(1 / 3, 9),
      score: expect.closeTo(1 / 3, 9),
    },
    { id: "Capital of Italy?", prediction: "", ...none },
    { id: "Capital of Italy?", prediction: "roma", ...all },
  ]);
  expect(notes).toMatchInlineSnapshot(`
    [
      "hotpotqa: 2 questions, 5 predictions, no judge; 95 % intervals over questions",
      "metric                       mean",
      "em            41.7 %  [6.0, 91.5]",
      "acc           58.3 %  [8.5, 94.0]",
      "f1 (score)    47.2 %  [7.1, 92.1]",
      "math_equal    41.7 %  [6.0, 91.5]",
      "pass@2 (em)  83.3 %  [12.1, 99.6]",
      "1 of 3 questions of the file have no prediction, and are not in the means.",
      "Questions have between 2 and 3 predictions.",
    ]
  `);
});

test("mathematics is scored by formulas, and as many runs of each question are not remarked on", async () => {
  const predictions = file("math.jsonl", [
    { id: "a", prediction: "\\frac12", gold: "1/2" },
    { id: "a", prediction: "0.5", gold: ["1/2"] },
    { id: "b", output: "\\boxed{7}", answer: 8 },
    { question: "c?", response: "so \\boxed{9}", gold: "9" },
    { question: "c?", response: "so \\boxed{9}", gold: "9" },
    { id: "b", output: "\\boxed{8}", answer: 8 },
  ]);
  const { verdicts, notes } = await score("math500", predictions, { data: undefined });
  expect(verdicts.map(({ id, score: own, math_equal }) => [id, own, math_equal])).toEqual([
    ...[
      ["a", 1, 1],
      ["a", 1, 1],
      ["b", 0, 0],
      ["c?", 1, 1],
      ["c?", 1, 1],
      ["b", 1, 1],
    ],
  ]);
  expect(notes).toMatchInlineSnapshot(`
    [
      "math500: 3 questions, 6 predictions, no judge; 95 % intervals over questions",
      "metric                                 mean",
      "em                      50.0 %  [6.3, 93.2]",
      "acc                     50.0 %  [6.3, 93.2]",
      "f1                      50.0 %  [6.3, 93.2]",
      "math_equal (score)     83.3 %  [24.1, 99.7]",
      "pass@2 (math_equal)  100.0 %  [29.2, 100.0]",
    ]
  `);
  const once = await score("aime24", file("once.jsonl", [{ id: 1, prediction: "5", gold: "5" }]));
  expect(once.notes.some((line) => line.includes("pass@"))).toBe(false);
  expect((await score("aime24", file("none.jsonl", []))).notes).toEqual(["There are no predictions."]);
});

test.each([
  [{ id: 1, gold: "a" }, "output is missing; expected the model's whole `output` (or `response`), or its `prediction`"],
  [
    { id: 1, prediction: "a" },
    'id is "1"; expected a `gold` (or `answer`) in the line, since the benchmark\'s file is not there',
  ],
  [{ question: "q", prediction: "a" }, 'question is "q"; expected a `gold` (or `answer`)'],
  [{ question: 5, prediction: "a", gold: "a" }, ":1: question is"],
])("the prediction %j is refused", async (row, message) => {
  const path = file("wrong.jsonl", [row]);
  await expect(score("gsm8k", path)).rejects.toThrow(message);
});

test("a question that the file does not have is refused", async () => {
  const data = file("known.jsonl", capitals);
  const path = file("unknown.jsonl", [{ question: "Capital of Mali?", prediction: "Bamako" }]);
  await expect(score("hotpotqa", path, { data, anyVersion: true })).rejects.toThrow(
    'question is "Capital of Mali?"; expected the `question`, word for word, or its place in the file as `id` (from 0)',
  );
});

test("responses by ARPO's training reward", async () => {
  const right = "<think>t</think><answer>\\boxed{Paris}</answer>";
  const { verdicts, notes } = await score(
    "arpo-reward",
    file("rewards.jsonl", [
      { id: 3, response: right, groundTruth: "Paris" },
      { response: right, groundTruth: ["Lyon", "Paris"] },
      { response: "Paris", groundTruth: "Paris" },
    ]),
  );
  expect(verdicts.map(({ id, score: own, f1, answer, reasonCode }) => [id, own, f1, answer, typeof reasonCode])).toEqual([
    [3, 1, 1, "Paris", "string"],
    [undefined, 1, 1, "Paris", "string"],
    [undefined, -1, 0, expect.anything(), "string"],
  ]);
  expect(notes).toEqual(["Scored 3 responses by ARPO's reward: -1 for a wrong format, else token F1, with 0.1 for both tools."]);
  await expect(score("arpo-reward", file("bad.jsonl", [{ response: 5 }]))).rejects.toThrow("response is");
});

test("names of benchmarks are their own", async () => {
  const { made } = screen();
  await expect(scoreCommand("hotpot", "f", {}, made, made)).rejects.toThrow(/name of score is "hotpot"; expected .*hotpotqa/);
  await expect(replayCommand("gaia", "f", {}, made, made)).rejects.toThrow('name of replay is "gaia"; expected "bfcl"');
  await expect(dataCommand("toString", {}, made)).rejects.toThrow(/name of data is "toString"; expected "bfcl", "aime24"/);
  await expect(dataCommand("arpo-reward", {}, made)).rejects.toThrow(/name of data is "arpo-reward"/);
});
