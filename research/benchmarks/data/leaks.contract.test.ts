import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { benchmarkFile } from "../benchmarks.ts";
import { openQuestions } from "../questions.ts";
import type { BenchmarkName } from "../table.ts";
import { findLeaks } from "./leaks.ts";

const texts = (...all: string[]) => all.map((text, i) => ({ where: `train:${i + 1}`, text }));

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
