import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import { benchmarkEnvironment } from "./benchmarks.ts";
import { scorePrediction } from "./score.ts";

const folder = mkdtempSync(join(tmpdir(), "benchmarks-"));
const line = (value: unknown) => ({ value, where: "predictions.jsonl, line 3" });

test("a benchmark without its file says which file is looked for", () => {
  const settings = { data: folder, search: { kind: "searxng", url: "http://localhost:1" } };
  expect(() => benchmarkEnvironment("hle", settings)).toThrow(ConfigError);
  expect(() => benchmarkEnvironment("hle", settings)).toThrow(/hle-top500\.jsonl.*npm run research -- data hle/);
});

test("a prediction is scored by the metric of its benchmark, with its own gold or that of the file", () => {
  const response = (answer: string) => `<think>t</think><answer>\\boxed{${answer}}</answer>`;
  expect(scorePrediction(line({ id: 7, output: response("\\frac12"), gold: "1/2" }), "math", undefined)).toEqual({
    ...{ id: "7", prediction: "\\frac12", em: 0, acc: 0, f1: 0, math_equal: 1, score: 1 },
  });
  const questions = new Map([["q", { question: "q", golds: ["The owl", "bird"], ability: undefined, prompt: undefined }]]);
  expect(scorePrediction(line({ question: "q", prediction: "an owl" }), "qa", questions)).toMatchObject({ em: 1, score: 1 });
  expect(scorePrediction(line({ id: 1, prediction: "", gold: "x" }), "qa", undefined)).toMatchObject({ em: 0, acc: 0, score: 0 });
});

test.each([
  [{ id: 1, gold: "x" }, /predictions\.jsonl, line 3: output is missing; expected the model's whole `output`/],
  [{ id: 1, prediction: "x" }, /line 3: id is "1"; expected a `gold`.*--data/],
  [{ id: 1, prediction: 5, gold: "x" }, /line 3: prediction/],
  ["text", /line 3: the line/],
])("a malformed line %j names itself, the field, and what was expected", (value, message) => {
  expect(() => scorePrediction(line(value), "qa", undefined)).toThrow(EnvError);
  expect(() => scorePrediction(line(value), "qa", undefined)).toThrow(message);
});
