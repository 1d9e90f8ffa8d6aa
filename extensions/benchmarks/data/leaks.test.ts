import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { benchmarkFile } from "../benchmarks.ts";
import { openQuestions } from "../questions.ts";
import type { BenchmarkName } from "../table.ts";
import { findLeaks } from "./leaks.ts";

const texts = (...all: string[]) => all.map((text, i) => ({ where: `train:${i + 1}`, text }));

test("a question is found whole, whatever its case, punctuation and white space", () => {
  const training = texts("Who wrote it?", "How high is the Owl Peak, in metres?");
  expect(findLeaks(training, ["how high is  the owl-peak in metres", "Who wrote them?"])).toEqual({
    questions: 2,
    exact: [{ question: 0, where: "train:2", share: 1 }],
    overlapping: [],
    short: 1,
  });
});

test("a question inside of a longer text is found by its word sequences, a coincidence is not", () => {
  const question = "In which year was the bridge over the river Moss opened to the public?";
  const training = texts(
    "Nothing.",
    `Answer briefly. ${question} Think first.`,
    "The bridge over the river Moss opened to the public late.",
  );
  const { exact, overlapping } = findLeaks(training, [question]);
  expect(exact).toEqual([]);
  expect(overlapping).toEqual([{ question: 0, where: "train:2", share: 1 }]);
  // 14 words have seven sequences of eight; the third text has two of them.
  expect(findLeaks(training.slice(2), [question]).overlapping).toEqual([]);
  expect(findLeaks(training.slice(2), [question], { ngram: 3 }).overlapping).toEqual([
    { question: 0, where: "train:3", share: 8 / 12 },
  ]);
});

test("characters of languages without spaces are words", () => {
  const question = "请问世界上最高的山峰是哪一座？";
  expect(findLeaks(texts(`问题：${question}请回答`), [question]).overlapping).toEqual([
    { question: 0, where: "train:1", share: 1 },
  ]);
});

const shared = join(import.meta.dirname, "../../../../shared/benchmarks");

test.skipIf(!existsSync(shared))("the known leaks of ARPO's training data are found (../shared/benchmarks)", async () => {
  const questionsOf = async (path: string) => (await openQuestions(path, "data").read()).map(({ question }) => question);
  const training = async (file: string) => texts(...(await questionsOf(join(shared, "train", file))));
  const exact = async (file: string, name: BenchmarkName) =>
    findLeaks(await training(file), await questionsOf(benchmarkFile(name, join(shared, "eval"), "data"))).exact.length;
  expect(await exact("train_10k.jsonl.gz", "hotpotqa")).toBe(5);
  expect(await exact("train_10k.jsonl.gz", "simpleqa")).toBe(14);
  expect(await exact("hard_search_1k.jsonl.gz", "hotpotqa")).toBe(15);
  expect(await exact("hard_search_1k.jsonl.gz", "simpleqa")).toBe(24);
  expect(await exact("valid.jsonl.gz", "aime24")).toBe(30);
  expect(await exact("valid.jsonl.gz", "math500")).toBe(30);
  expect(await exact("valid.jsonl.gz", "bamboogle")).toBe(20);
  expect(await exact("valid.jsonl.gz", "musique")).toBe(1);
});
