import { expect, test } from "vitest";
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
