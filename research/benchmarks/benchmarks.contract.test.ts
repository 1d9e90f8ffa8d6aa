import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { benchmarkEnvironment } from "./benchmarks.ts";
import { openQuestions } from "./questions.ts";
import { scoreReward } from "./score.ts";
import { type BenchmarkName, benchmarks } from "./table.ts";

const line = (value: unknown) => ({ value, where: "predictions.jsonl, line 3" });

const shared = join(import.meta.dirname, "../../../shared/benchmarks");

test.skipIf(!existsSync(shared))("every recorded reward case of the reference scorer (../shared/benchmarks)", () => {
  const { rewardCases } = JSON.parse(readFileSync(join(shared, "scorer-cases.json"), "utf8")) as {
    rewardCases: { response: string; expected: { score: number; f1: number; answer: string; reasonCode: string } }[];
  };
  expect(rewardCases).toHaveLength(60);
  for (const { expected, ...value } of rewardCases) {
    const { score, f1, answer, reasonCode } = scoreReward(line(value));
    expect(score).toBeCloseTo(expected.score, 9);
    expect(f1).toBeCloseTo(expected.f1, 9);
    expect({ answer, reasonCode }).toEqual({ answer: expected.answer, reasonCode: expected.reasonCode });
  }
});

test.skipIf(!existsSync(shared))("the questions of every benchmark are read (../shared/benchmarks)", async () => {
  const counts: Partial<Record<BenchmarkName, number>> = {};
  for (const [name, { files }] of Object.entries(benchmarks)) {
    const file = files.map((each) => join(shared, "eval", each)).find((path) => existsSync(path));
    if (file !== undefined) counts[name as BenchmarkName] = (await openQuestions(file, "data").read()).length;
  }
  expect(counts).toEqual({
    ...{ aime24: 30, aime25: 30, math500: 500, gsm8k: 1319, webwalker: 200, hotpotqa: 200, "2wiki": 200 },
    ...{ musique: 200, bamboogle: 125, gaia: 103, hle: 500, xbench: 100, simpleqa: 500 },
  });
});

const folder = mkdtempSync(join(tmpdir(), "benchmarks-"));

test("a benchmark is an environment of its name, with its file's questions as test split", async () => {
  const rows = Array.from({ length: 510 }, (_, i) =>
    JSON.stringify({ question: `What is ${i} + 1?`, answer: `#### ${i + 1}`, idx: i }),
  );
  writeFileSync(join(folder, "gsm8k.jsonl"), `${rows.join("\n")}\n`);
  const environment = benchmarkEnvironment("gsm8k", {
    data: folder,
    anyVersion: true,
    search: { kind: "searxng", url: "http://localhost:1" },
  });
  expect(environment.name).toBe("gsm8k");
  // ARPO's inference takes the first 500.
  expect(await environment.size("test")).toBe(500);
  expect(await environment.size("train")).toBe(0);
  expect(await environment.task("test", 2)).toMatchObject({ kind: "math", question: { question: "What is 2 + 1?" } });
});
